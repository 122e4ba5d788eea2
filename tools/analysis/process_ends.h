/* When processes ended, and how: an instant `exit` of category process with `status` or `signal`, by the process itself or by fxt
 * record, or the end of its lifetime as a `child`, by the parent that reaped it. Used by report. */
#ifndef FXT_TOOLS_PROCESS_ENDS_H
#define FXT_TOOLS_PROCESS_ENDS_H

#include "tools/reading/reader.h"

/* All zero is the beginning. */
struct fxt_ends {
	struct fxt_map by_pid;          /* pid -> when, and the signal or 0 */
	uint64_t trace_ns;              /* the trace's own end: that of processes of which none is known */
};

/* Takes an event. True for an instant that tells nothing else. */
bool fxt_ends_take(struct fxt_ends *e, const struct fxt_reader *r, const struct fxt_record *rec);

/* When the process ended, or the trace. */
uint64_t fxt_ends_ns(const struct fxt_ends *e, uint64_t pid);

/* Whether the process is known to have ended, and the signal that killed it or 0. */
bool fxt_ends_known(const struct fxt_ends *e, uint64_t pid, int *signal);

void fxt_ends_free(struct fxt_ends *e);

#endif
