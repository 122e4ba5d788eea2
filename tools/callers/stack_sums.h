/* Times and counts by a key and a call stack: how long who was in a call, or waited for a lock. Memory is
 * taken for each pair of key and stack.
 */
#ifndef FXT_TOOLS_STACK_SUMS_H
#define FXT_TOOLS_STACK_SUMS_H

#include "tools/callers/who.h"

struct fxt_stack_sum {
	uint64_t key;
	uint32_t innermost;             /* node, or FXT_NO_FRAME */
	/* Estimates, if samples are among what was added: a sample counts as often as it says. */
	uint64_t count, total_ns;
	uint64_t samples;               /* how many samples are among them */
	double variance_ns;             /* the square of the deviation of total_ns, as the samples tell it */
	double squares;                 /* the sum of the squares of what each stands for */
};

/* Returns how many calls that stand for themselves would tell as much as what was added: fewer than `count`
 * if samples are among it. */
static inline double fxt_stack_sum_tells(const struct fxt_stack_sum *sum)
{
	return sum->squares > 0 ? (double)sum->count * (double)sum->count / sum->squares : 0;
}

/* When nothing has been added, all members are zero. */
struct fxt_stack_sums {
	struct fxt_stack_sum *list;     /* sorted by key after fxt_stack_sums_finish() */
	size_t count, capacity;
	struct fxt_map places;          /* key and node -> place */
};

void fxt_stack_sums_add(struct fxt_stack_sums *s, uint64_t key, uint32_t innermost, uint64_t ns);
/* Does the same for an event with a stack, of which its record says how many calls it stands for, if it is a
 * sample of many. */
void fxt_stack_sums_add_event(struct fxt_stack_sums *s, uint64_t key, uint32_t innermost, uint64_t ns,
			      const struct fxt_record *rec);
/* Adds the sum of another list. */
void fxt_stack_sums_add_all(struct fxt_stack_sums *s, const struct fxt_stack_sum *sum);
void fxt_stack_sums_finish(struct fxt_stack_sums *s);
/* Returns the place of the first sum with this key or a larger one. They are finished. */
size_t fxt_stack_sums_first(const struct fxt_stack_sums *s, uint64_t key);
/* Finds the path with the longest time of a key, and sets *most to the sum of all its stacks, with the node
 * of the one that took longest. Returns false if no stack of the key has a path. */
bool fxt_stack_sums_most(const struct fxt_stack_sums *s, uint64_t key, struct fxt_who *who,
			 enum fxt_purpose purpose, struct fxt_stack_sum *most);
/* Sets *list to the sums of a key by path, the longest first, each with the node of its stack that took
 * longest; the caller frees it. Returns their number. */
size_t fxt_stack_sums_by_path(const struct fxt_stack_sums *s, uint64_t key, struct fxt_who *who,
			      enum fxt_purpose purpose, struct fxt_stack_sum **list);
/* Does what fxt_stack_sums_most() does, by number in place of time. */
bool fxt_stack_sums_most_often(const struct fxt_stack_sums *s, uint64_t key, struct fxt_who *who,
			       enum fxt_purpose purpose, struct fxt_stack_sum *most);
void fxt_stack_sums_free(struct fxt_stack_sums *s);

#endif
