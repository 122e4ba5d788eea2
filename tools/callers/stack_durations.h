/* How long calls took, by the call and its stack: what percentiles of the calls of one function are made of.
 * A histogram is much more memory than a sum (stack_sums.h), so only who asks for such percentiles keeps
 * these. The calls without a stack are kept too, because any of them may have been that function's.
 */
#ifndef FXT_TOOLS_STACK_DURATIONS_H
#define FXT_TOOLS_STACK_DURATIONS_H

#include "tools/common/histogram.h"
#include "tools/common/map.h"

struct fxt_stack_duration {
	uint32_t category, name;        /* symbols */
	uint32_t innermost;             /* node, or FXT_NO_FRAME */
	uint64_t total_ns, max_ns;
	struct fxt_histogram durations;
};

/* When nothing has been added, all members are zero. */
struct fxt_stack_durations {
	struct fxt_stack_duration *list;
	size_t count, capacity;
	struct fxt_map places;          /* call and node -> place */
};

void fxt_stack_durations_add(struct fxt_stack_durations *s, uint32_t category, uint32_t name,
			     uint32_t innermost, uint64_t ns);
void fxt_stack_durations_free(struct fxt_stack_durations *s);

#endif
