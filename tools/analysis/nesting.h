/* Finds slices within slices when they come in the order of their ends. All slices within a slice have
 * come before it, so their values can be taken off its own in sums that must count nothing twice. Report
 * uses one of these for each thread. */
#ifndef FXT_TOOLS_NESTING_H
#define FXT_TOOLS_NESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fxt_nested {
	uint64_t start_ns, end_ns;
	uint64_t value[2];
	uint32_t name;
	bool is_several;                /* it stands for several older slices, put together */
};

/* The slices that lie in no other slice so far. When there are none, all members are zero. No more than 64
 * are kept; if there are more, some of the oldest are put together, and a slice that begins within those gets
 * a share of their values by time. */
struct fxt_nesting {
	struct fxt_nested *list;
	size_t count, capacity;
};

/* Takes out the latest slice that lies within a slice which begins at `start_ns` and ends after all
 * others. Returns false if there is none (any more). */
bool fxt_nesting_pop(struct fxt_nesting *n, uint64_t start_ns, struct fxt_nested *inner);
void fxt_nesting_push(struct fxt_nesting *n, const struct fxt_nested *slice);
void fxt_nesting_free(struct fxt_nesting *n);

#endif
