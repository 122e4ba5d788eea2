/* Reads a trace for whoever wants the report and the findings of it, and prints neither; and finds what fxt
 * record says last: the first finding of the trace that it has made. See finding.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "finding.h"
#include "tools/common/message.h"
#include "tools/reading/mapped_trace.h"

static bool read_trace(const char *path, const struct fxt_report_options *options, bool may_tell_apart,
		       fxt_findings_use *use, void *context)
{
	struct fxt_report_options own = *options;
	struct fxt_findings findings;
	struct fxt_trace_file file;
	struct fxt_report report;
	struct fxt_reader r;
	struct stat st;
	int apart = -1;

	if (!fxt_trace_open(&file, path))
		return false;
	own.source = fxt_frame_names_open(stat(path, &st) == 0 ? st.st_mtime : 0);
	fxt_reader_init(&r, file.data, file.size);
	fxt_report_make(&report, &r, &own);
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
	fxt_frame_names_close(own.source);
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
	return read_trace(path, options, true, use, context);
}

static void take_first(const struct fxt_findings *f, const struct fxt_report *report, void *context)
{
	char **line = context;

	(void)report;
	if (fxt_findings_has_fault(f))
		*line = fxt_format("F1 %s", f->list[0].what);
}

char *fxt_findings_first(const char *path)
{
	struct fxt_report_options options = {.top = 1, .wrappers = getenv("FXT_WRAPPERS")};
	char *line = NULL;

	fxt_findings_of_trace(path, &options, take_first, &line);
	return line;
}
