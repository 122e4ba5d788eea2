/* Stacks of a report, weighed by what somebody asks about: for fxt report --folded, --flame and --html. */
#ifndef FXT_TOOLS_REPORT_WEIGHTS_H
#define FXT_TOOLS_REPORT_WEIGHTS_H

#include "tools/report/report.h"
#include "tools/stacks/stacks.h"

enum fxt_weight {
	FXT_WEIGHT_PROCESSOR,
	FXT_WEIGHT_LEFT,
	FXT_WEIGHT_PEAK,
	FXT_WEIGHT_ALLOCATED,
	FXT_WEIGHT_WAITS,
	FXT_WEIGHTS
};

/* Where stacks go: `-` for standard output, NULL for nowhere. */
struct fxt_stacks_output {
	enum fxt_weight weight;
	const char *path;
};

/* Takes FILE, WHAT, or WHAT:FILE. What stands alone goes to standard output. Returns NULL, or what is
 * wrong, which the caller frees. */
char *fxt_stacks_output_parse(struct fxt_stacks_output *to, const char *arg);

/* Makes the stacks. Returns false if there are none, and nothing has to be freed then. */
bool fxt_report_weigh(const struct fxt_report *report, enum fxt_weight weight, struct fxt_stacks *s);

#endif
