/* Joins parts into a file that takes its place when it is whole. Used by record and merge.
 *
 * tools/join/ makes one trace of the files that the processes of a run left: it finds them, copies their records, ends
 * what was still open, and sums up what is in them. It uses tools/analysis/, tools/programs/ and what those use.
 */
#ifndef FXT_TOOLS_JOIN_H
#define FXT_TOOLS_JOIN_H

#include <stdbool.h>

#include "merge.h"
#include "run_directory.h"

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
