/* fxt report: tells which categories a manager has given up, because recording a program took more than its
 * budget (docs/manager.md). Each step is an instant of the trace.
 */
#ifndef FXT_TOOLS_REPORT_BUDGET_H
#define FXT_TOOLS_REPORT_BUDGET_H

#include <stdio.h>

#include "tools/analysis/overview.h"
#include "tools/reading/reader.h"

struct fxt_budget_step {
	uint64_t pid, at_ns;
	char *category, *reason;
};

struct fxt_budget_steps {
	struct fxt_budget_step *list;   /* in the order of the file, which is that of time in each process */
	size_t count, capacity;
};

struct fxt_json;

/* Takes any event. */
void fxt_budget_steps_take(struct fxt_budget_steps *s, const struct fxt_reader *r,
			   const struct fxt_record *rec);
void fxt_budget_steps_print(const struct fxt_budget_steps *s, const struct fxt_reader *r,
			    const struct fxt_overview *o, size_t top, FILE *out);
void fxt_budget_steps_json(const struct fxt_budget_steps *s, const struct fxt_reader *r, struct fxt_json *j);
void fxt_budget_steps_free(struct fxt_budget_steps *s);

#endif
