/* Times and counts by a key and a call stack: how long who was in a call, or waited for a lock. Memory is
 * taken for each pair of key and stack.
 */
#ifndef FXT_TOOLS_STACK_SUMS_H
#define FXT_TOOLS_STACK_SUMS_H

#include "tools/callers/who.h"

struct fxt_stack_sum {
	uint64_t key;
	uint32_t innermost;             /* node, or FXT_NO_FRAME */
	uint64_t count, total_ns;
};

/* When nothing has been added, all members are zero. */
struct fxt_stack_sums {
	struct fxt_stack_sum *list;     /* sorted by key after fxt_stack_sums_finish() */
	size_t count, capacity;
	struct fxt_map places;          /* key and node -> place */
};

void fxt_stack_sums_add(struct fxt_stack_sums *s, uint64_t key, uint32_t innermost, uint64_t ns);
/* Adds the sum of another list. */
void fxt_stack_sums_add_all(struct fxt_stack_sums *s, const struct fxt_stack_sum *sum);
void fxt_stack_sums_finish(struct fxt_stack_sums *s);
/* Returns the place of the first sum with this key or a larger one. They are finished. */
size_t fxt_stack_sums_first(const struct fxt_stack_sums *s, uint64_t key);
/* Finds the path with the longest time of a key, and sets *most to the sum of all its stacks, with the node
 * of the one that took longest. Returns false if no stack of the key has a path. */
bool fxt_stack_sums_most(const struct fxt_stack_sums *s, uint64_t key, struct fxt_who *who,
			 enum fxt_purpose purpose, struct fxt_stack_sum *most);
void fxt_stack_sums_free(struct fxt_stack_sums *s);

#endif
