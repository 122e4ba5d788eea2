/* Whether a process has read from or written to each of its descriptors and streams, in calls that found
 * something to move. Memory is taken for each descriptor of each program that was used so. */
#ifndef FXT_TOOLS_MOVED_H
#define FXT_TOOLS_MOVED_H

#include "call_roles.h"
#include "tools/common/map.h"

/* All zero is nothing. */
struct fxt_moved {
	struct fxt_map by_fd;           /* pid, and descriptor or stream -> calls that read, and that wrote */
};

/* Takes a finished call, in the order of time. What is closed, or is made anew, has not been used. */
void fxt_moved_take(struct fxt_moved *m, const struct fxt_reader *r, const struct fxt_record *rec,
		    const struct fxt_role *role);
/* Return how many calls have read from the descriptor or stream of a process, or have written to it. */
uint64_t fxt_moved_in(const struct fxt_moved *m, uint64_t pid, uint64_t fd);
uint64_t fxt_moved_out(const struct fxt_moved *m, uint64_t pid, uint64_t fd);
void fxt_moved_free(struct fxt_moved *m);

#endif
