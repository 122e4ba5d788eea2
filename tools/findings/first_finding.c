/* Finds what fxt record says last: the first finding of the trace that it has made. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "finding.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"
#include "tools/reading/mapped_trace.h"

/* The join has named the frames just now, so no file is asked for names or lines. */
char *fxt_findings_first(const char *path)
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
	if (fxt_findings_has_fault(&findings))
		line = fxt_format("F1 %s", findings.list[0].what);
	fxt_findings_free(&findings);
	fxt_report_free(&report);
	fxt_reader_free(&r);
	fxt_trace_close(&file);
	return line;
}
