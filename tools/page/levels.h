/* Levels of detail: a row of slices, drawn coarsely.
 *
 * A row of a million slices is never drawn as such: at most as many can be told apart as the screen has
 * pixels. So a long row has levels. A level has a width in time, and slices that begin in one bucket of that
 * width and are shorter than it are one run; a longer slice stays alone. A run has the name of its longest
 * slice. A page draws the coarsest level whose width is at most a pixel. Each level has a quarter of the
 * width of the one before, and the last has the slices themselves.
 */
#ifndef FXT_TOOLS_LEVELS_H
#define FXT_TOOLS_LEVELS_H

#include "timeline.h"

struct fxt_run {
	uint64_t start_ns, end_ns;      /* of the first, and of the last or longest */
	uint32_t count, name;
	uint64_t longest_ns;
};

struct fxt_level {
	uint64_t width_ns;              /* 0: each slice by itself, and there are no runs */
	struct fxt_run *runs;
	size_t count, capacity;
};

/* A row has at most so many levels: widths fall from a 2048th of the trace by quarters. */
enum { FXT_LEVELS_MOST = 32, FXT_LEVELS_FEW = 4096 };

struct fxt_levels {
	struct fxt_level list[FXT_LEVELS_MOST]; /* the coarsest first */
	size_t count;
};

/* Makes the levels of a row of `count` slices, in the order of time; `span_ns` is that of the whole trace. A
 * row of at most FXT_LEVELS_FEW slices has one level, the slices. */
void fxt_levels_make(struct fxt_levels *l, const struct fxt_slice *row, size_t count, uint64_t span_ns);
void fxt_levels_free(struct fxt_levels *l);

#endif
