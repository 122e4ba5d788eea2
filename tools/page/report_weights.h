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

/* Makes the stacks. Returns false if there are none, and nothing has to be freed then. */
bool fxt_report_weigh(const struct fxt_report *report, enum fxt_weight weight, struct fxt_stacks *s);

#endif
