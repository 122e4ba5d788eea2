/* Reads a trace for whoever wants the report and the findings of it, and prints neither; and finds what fxt
 * record says last: the first finding of the trace that it has made. See finding.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "finding.h"
#include "rules.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"
#include "tools/reading/mapped_trace.h"

static bool read_trace(const char *path, const struct fxt_report_options *options, bool may_tell_apart,
		       fxt_findings_use *use, void *context)
{
	struct fxt_findings findings;
	struct fxt_trace_file file;
	struct fxt_report report;
	struct fxt_reader r;
	int apart = -1;

	if (!fxt_trace_open(&file, path))
		return false;
	fxt_reader_init(&r, file.data, file.size);
	fxt_report_make(&report, &r, options);
	/* Processes that had one number in turn are told apart by a join. */
	if (may_tell_apart && fxt_trace_told_apart && fxt_unseen_shares_numbers(&report.unseen, &r))
		apart = fxt_trace_told_apart(path);
	if (apart < 0) {
		fxt_findings_make(&findings, &report, 0);
		use(&findings, &report, context);
		fxt_findings_free(&findings);
	}
	fxt_report_free(&report);
	fxt_reader_free(&r);
	fxt_trace_close(&file);
	if (apart >= 0) {
		char *joined = fxt_format("/proc/self/fd/%d", apart);
		bool is_read = read_trace(joined, options, false, use, context);

		free(joined);
		close(apart);
		return is_read;
	}
	return true;
}

bool fxt_findings_of_trace(const char *path, const struct fxt_report_options *options, fxt_findings_use *use,
			   void *context)
{
	struct fxt_report_options own = *options;
	struct stat st;
	bool is_read;

	own.source = fxt_frame_names_open(stat(path, &st) == 0 ? st.st_mtime : 0);
	is_read = read_trace(path, &own, true, use, context);
	fxt_frame_names_close(own.source);
	return is_read;
}

/* -- What fxt record says last ----------------------------------------------------------------------- */

struct first {
	bool also_note;
	char *line;
};

/* Notes the finding, and whose it is if it does not say more than that. */
static void take_first(const struct fxt_findings *f, const struct fxt_report *report, void *context)
{
	const struct fxt_finding *x = f->list;
	struct first *first = context;
	char *culprit;

	if (!fxt_findings_has_fault(f) && !(first->also_note && f->count))
		return;
	culprit = x->rule->gravity == FXT_IS_NOTE
			  ? fxt_who_culprit(report->who, x->purpose, x->innermost, FXT_COLUMNS)
			  : NULL;
	first->line = fxt_format("F1 %s%s%s", x->what, culprit ? ", by " : "", culprit ? culprit : "");
	free(culprit);
}

/* The join has named the frames and told processes apart just now, so no file is asked for names or lines. */
char *fxt_findings_first(const char *path, bool also_note)
{
	struct fxt_report_options options = {.top = 1, .wrappers = getenv("FXT_WRAPPERS")};
	struct first first = {.also_note = also_note};

	read_trace(path, &options, false, take_first, &first);
	return first.line;
}
