/* fxt top: the text that it shows of an interval. top.c calls this. */
#ifndef FXT_TOOLS_TOP_PRINT_H
#define FXT_TOOLS_TOP_PRINT_H

#include <stdio.h>

#include "top_sums.h"

/* This is shown beside the sums, in so much room. */
struct fxt_top_view {
	const char *time;               /* when the interval ended, for people */
	const char *state;              /* of the session */
	uint64_t elapsed_ns;            /* how long the interval was */
	uint64_t bytes;                 /* of the trace, in the interval */
	uint64_t dropped;               /* records, so far */
	size_t processes;               /* so many are shown at most */
	size_t lines, columns;          /* room; 0: any number of lines, and FXT_COLUMNS */
};

/* Prints the interval, after fxt_top_sort(). No line is longer than the columns. */
void fxt_top_print(const struct fxt_top_sums *s, const struct fxt_top_view *view, FILE *out);

#endif
