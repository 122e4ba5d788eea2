/* fxt report: the section on the critical path, which tools/critical/critical.h finds. */
#ifndef FXT_TOOLS_REPORT_CRITICAL_H
#define FXT_TOOLS_REPORT_CRITICAL_H

#include <stdio.h>

#include "tools/critical/critical.h"

struct fxt_report;
struct fxt_json;

/* Makes the section. All was taken; threads are finished, and files are not sorted yet. */
void fxt_report_critical(struct fxt_report *report);
void fxt_report_critical_print(const struct fxt_report *report, FILE *out);
/* Prints a member `critical_path`: an object, or null if no path is known. */
void fxt_report_critical_json(struct fxt_json *j, const struct fxt_report *report);

#endif
