/* Joins parts into a file that takes its place when it is whole. Used by record and merge. */
#ifndef FXT_TOOLS_JOIN_H
#define FXT_TOOLS_JOIN_H

#include <stdbool.h>

#include "merge.h"
#include "parts.h"

/* How a process ended, as its parent saw it. */
struct fxt_ended {
	pid_t pid;
	uint64_t at_ns;                 /* on the clock of traces */
	int status, signal;             /* signal: 0 where it was by exit */
};

/* Makes `path` of all parts. `ended` may be NULL. Unless `keep`, one of the parts may become the trace: they are in a directory beside
 * it, and about to be removed. False after a message; then what was at `path` is still there, and so are the parts. */
bool fxt_join(struct fxt_merge *m, const struct fxt_parts *parts, const char *path, const struct fxt_ended *ended, bool keep);

#endif
