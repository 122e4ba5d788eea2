/* fxt report: tells of blocks that were never freed and mappings that were still there, by their size and
 * by the function that asked for them.
 *
 * The heap's replay (report_heap.c) knows every block that is left, by its address and size. The
 * function that asked for it stands in the begin of its lifetime, an async of category malloc, which
 * only large blocks have. Mappings are known by their lifetimes alone.
 */
#ifndef FXT_TOOLS_REPORT_LEAKS_H
#define FXT_TOOLS_REPORT_LEAKS_H

#include <stdio.h>

#include "tools/common/map.h"
#include "tools/reading/reader.h"

struct fxt_gaps;
struct fxt_heap_stacks;
struct fxt_heaps;

/* The begin of a lifetime. */
struct fxt_life {
	const struct fxt_provider *provider;
	uint64_t pid, address, size, begin_ns;
	/* symbols: the function that asked for it, and its name; or FXT_NO_FUNCTION */
	uint32_t function, object;
	bool is_mapping, is_over;
};

#define FXT_NO_FUNCTION UINT32_MAX

/* Blocks, or mappings, of one process that are alike. */
struct fxt_unfreed {
	const struct fxt_provider *provider;
	uint64_t pid, size, count;
	uint32_t function, object;
	bool is_mapping;
	bool is_of_library;             /* the C++ library keeps it for itself: no line is printed about it */
};

struct fxt_leaks {
	struct fxt_unfreed *list;          /* sorted: the most bytes first */
	size_t count, capacity;
	struct fxt_life *lives;
	size_t life_count, life_capacity;
	struct fxt_map by_id;           /* id -> place in `lives` plus 1, and whether its end was seen */
};

/* Takes an async event, in any order. */
void fxt_leaks_take(struct fxt_leaks *l, struct fxt_reader *r, const struct fxt_record *rec);
/* Makes and sorts the list. All events have been taken, and the heaps are replayed and not sorted yet. Tells
 * the heaps which blocks the C++ library keeps for itself: libstdc++ gets 71 KiB before main(), for
 * exceptions when memory is short, and never frees them. */
void fxt_leaks_finish(struct fxt_leaks *l, const struct fxt_reader *r, const struct fxt_gaps *gaps,
		      struct fxt_heaps *heaps);
/* These return the function that asked for the blocks or mappings, and their name in the trace, or NULL if
 * that is not known. The caller frees the text. */
char *fxt_unfreed_function(const struct fxt_unfreed *left, const struct fxt_reader *r);
char *fxt_unfreed_object(const struct fxt_unfreed *left, const struct fxt_reader *r);
/* Processes in `by_stack` are left out, because a section of their own tells more (heap_askers.h). */
void fxt_leaks_print(const struct fxt_leaks *l, const struct fxt_reader *r,
		     const struct fxt_heap_stacks *by_stack, size_t top, FILE *out);
void fxt_leaks_free(struct fxt_leaks *l);

#endif
