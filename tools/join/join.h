/* Joins parts into a file, which gets its name when it is complete. Record and merge call it. */
#ifndef FXT_TOOLS_JOIN_H
#define FXT_TOOLS_JOIN_H

#include <stdbool.h>

#include "merge.h"
#include "tools/join/run_directory.h"

/* The end of a process, as fxt record saw it as the process's parent. */
struct fxt_ended {
	pid_t pid;
	uint64_t at_ns;                 /* on the clock of traces */
	int status, signal;             /* exit status; the signal that killed it, or 0 */
};

/* Makes the trace `path` of all parts. `ended` may be NULL. Unless `keep` is set, one of the parts may
 * become the trace, because they are in a directory beside it that is about to be removed. Returns false
 * after a message; what was at `path` and the parts are then still there. */
bool fxt_join(struct fxt_merge *m, const struct fxt_parts *parts, const char *path,
	      const struct fxt_ended *ended, bool keep);

/* Makes the trace `path` of the part at `archive`, to which the other parts are appended: `m` has followed
 * it to its end (fxt_merge_follow()), and `r` is what has read it. *joined says whether that went well;
 * what was at `path` and the parts are still there if not, after a message. Returns false, with nothing
 * done, if the trace cannot be made in this way, as it is to go to a device or a pipe. */
bool fxt_join_archive(struct fxt_merge *m, struct fxt_reader *r, const char *archive,
		      const struct fxt_parts *parts, const char *path, const struct fxt_ended *ended,
		      bool *joined);

/* Compresses the trace at `path`, and sets *bytes to its size then. Returns false after a message; the trace
 * is then as it was. */
bool fxt_join_pack(const char *path, uint64_t *bytes);

#endif
