/* The stacks of a report, weighed by one of the things that it has with stacks: fxt report --folded and
 * --flame, fxt diff --folded, and fxt convert --to=folded and --to=speedscope. */
#ifndef FXT_TOOLS_WEIGHED_STACKS_H
#define FXT_TOOLS_WEIGHED_STACKS_H

#include "tools/report/report.h"
#include "tools/stacks/stacks.h"

/* Where stacks go: `-` for standard output, NULL for nowhere. */
struct fxt_stacks_output {
	enum fxt_weight weight;
	const char *path;
};

/* Takes FILE, WHAT, or WHAT:FILE. What stands alone goes to standard output. Returns NULL, or what is
 * wrong, which the caller frees. */
char *fxt_stacks_output_parse(struct fxt_stacks_output *to, const char *arg);

/* Makes the stacks. Returns NULL, or why there are none, as the end of a message. Sets *missing to how many
 * blocks and samples the sums lack. */
const char *fxt_weighed_stacks(const struct fxt_report *report, enum fxt_weight weight, struct fxt_stacks *s,
			       uint64_t *missing);

#endif
