/* The heap by who asked for it: the sums of heap_stacks.h under the functions that are responsible, as a
 * section of fxt report, as JSON, and as weights of stacks.
 */
#ifndef FXT_TOOLS_HEAP_ASKERS_H
#define FXT_TOOLS_HEAP_ASKERS_H

#include <stdio.h>

#include "tools/callers/heap_stacks.h"
#include "tools/callers/who.h"

/* How lists are sorted: by what a reader looks for first, by all there ever was, or by numbers. */
enum fxt_sort { FXT_SORT_SELF, FXT_SORT_TOTAL, FXT_SORT_COUNT };

/* All that was asked for by the same function with the same callers. */
struct fxt_heap_asker {
	uint32_t innermost;             /* the heaviest of its stacks, or FXT_NO_FRAME */
	uint32_t process;               /* the process of that stack */
	bool is_of_several;             /* there are stacks of other processes too */
	bool is_mapping, is_estimate;
	bool is_of_library;             /* the C++ library keeps it for itself, which is nobody's fault */
	unsigned __int128 weight;       /* of the heaviest stack */
	struct fxt_heap_sum left, at_peak, all;
};

struct fxt_heap_askers {
	struct fxt_heap_asker *list;    /* sorted */
	size_t count, capacity;
};

/* Makes the list. If it is for a table, stacks are one if a line of it shows the same of them, of whatever
 * process. Otherwise they have all of their callers in common, and their process. */
void fxt_heap_askers_make(struct fxt_heap_askers *a, const struct fxt_heap_stacks *h, struct fxt_who *who,
			  bool for_table, enum fxt_sort sort);
void fxt_heap_askers_free(struct fxt_heap_askers *a);

/* Returns whether memory piles up: many blocks that one function asked for are left, and are much. */
bool fxt_heap_askers_leak(const struct fxt_heap_askers *a, const struct fxt_heap_stacks *h);
/* Prints a line about what was not freed, and one about the peak, if that is worth it. */
void fxt_heap_askers_print_head(const struct fxt_heap_askers *a, const struct fxt_heap_stacks *h,
				struct fxt_who *who, FILE *out);
void fxt_heap_askers_print(const struct fxt_heap_askers *a, const struct fxt_heap_stacks *h,
			   struct fxt_who *who, bool with_process, size_t top, FILE *out);
/* Prints a member `heap_stacks`: an array of the first 1000 stacks, as fxt_heap_askers_make() sorts them. */
void fxt_heap_askers_json(const struct fxt_heap_stacks *h, struct fxt_who *who, struct fxt_json *j);

#endif
