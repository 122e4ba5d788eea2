/* Knows when and how processes ended, for fxt report. An instant `exit` of category process tells it,
 * with `status` or `signal`, which the process itself or fxt record has written; or the end of the
 * process's lifetime as a `child`, which the parent that reaped it has written. */
#ifndef FXT_TOOLS_PROCESS_ENDS_H
#define FXT_TOOLS_PROCESS_ENDS_H

#include "tools/reading/reader.h"

/* The ends of processes. When none is known, all members are zero. */
struct fxt_ends {
	struct fxt_map by_pid;          /* pid -> when it ended, and the signal that killed it or 0 */
	uint64_t trace_ns;              /* the end of the trace, for processes of which no end is known */
};

/* Takes any event. Returns true for an instant that tells nothing but the end of a process. */
bool fxt_ends_take(struct fxt_ends *e, const struct fxt_reader *r, const struct fxt_record *rec);

/* Returns when the process ended, or the end of the trace if that is not known. */
uint64_t fxt_ends_ns(const struct fxt_ends *e, uint64_t pid);

/* Returns whether the process is known to have ended, and sets *signal to the one that killed it, or to 0. */
bool fxt_ends_known(const struct fxt_ends *e, uint64_t pid, int *signal);

void fxt_ends_free(struct fxt_ends *e);

#endif
