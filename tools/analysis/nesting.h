/* Slices within slices, as they come by in the order of their ends: what lies within one is known when it
 * comes, and can be taken back from sums that count nothing twice. Used by report, for each thread by itself. */
#ifndef FXT_TOOLS_NESTING_H
#define FXT_TOOLS_NESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fxt_nested {
	uint64_t start_ns, end_ns;
	uint64_t value[2];
	uint32_t name;
	bool is_several;                /* older ones, put together when there were too many */
};

/* The slices that no other has come around yet. All zero is none. However many there are, no more than 64 are
 * kept: of older ones some are put together, and a slice that begins within those gets its part of their values
 * by time. */
struct fxt_nesting {
	struct fxt_nested *list;
	size_t count, capacity;
};

/* Takes out the latest that lies within what begins at `start_ns` and ends last of all. False: there is none
 * (any more). */
bool fxt_nesting_pop(struct fxt_nesting *n, uint64_t start_ns, struct fxt_nested *inner);
void fxt_nesting_push(struct fxt_nesting *n, const struct fxt_nested *slice);
void fxt_nesting_free(struct fxt_nesting *n);

#endif
