/* Finds what fxt record says last: the first finding of the trace that it has made. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "finding.h"
#include "rules.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"
#include "tools/reading/mapped_trace.h"

/* Returns the finding, and whose it is if it does not say more than that. */
static char *first_line(const struct fxt_finding *x, struct fxt_who *who)
{
	char *culprit = x->rule->gravity == FXT_IS_NOTE
				? fxt_who_culprit(who, x->purpose, x->innermost, FXT_COLUMNS)
				: NULL;
	char *line = fxt_format("F1 %s%s%s", x->what, culprit ? ", by " : "", culprit ? culprit : "");

	free(culprit);
	return line;
}

/* The join has named the frames just now, so no file is asked for names or lines. */
char *fxt_findings_first(const char *path, bool also_note)
{
	struct fxt_report_options options = {.top = 1, .wrappers = getenv("FXT_WRAPPERS")};
	struct fxt_findings findings;
	struct fxt_trace_file file;
	struct fxt_report report;
	struct fxt_reader r;
	char *line = NULL;

	if (!fxt_trace_open(&file, path))
		return NULL;
	fxt_reader_init(&r, file.data, file.size);
	fxt_report_make(&report, &r, &options);
	fxt_findings_make(&findings, &report, 0);
	if (fxt_findings_has_fault(&findings) || (also_note && findings.count))
		line = first_line(&findings.list[0], report.who);
	fxt_findings_free(&findings);
	fxt_report_free(&report);
	fxt_reader_free(&r);
	fxt_trace_close(&file);
	return line;
}
