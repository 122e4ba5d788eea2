/* Notices programs that use io_uring by instructions of their own, as liburing does. Nobody sees their calls.
 * The kernel tells of the library that is mapped, and of the threads that it makes for rings: those that
 * poll, and those that do what would wait. An instant `io_uring` of category kernel says `by` what it was
 * known.
 */
#ifndef FXT_TOOLS_UNSEEN_RINGS_H
#define FXT_TOOLS_UNSEEN_RINGS_H

#include "witness_trace.h"

/* Takes a file that a process has mapped. */
void fxt_unseen_rings_mapped(struct fxt_witness_trace *w, const struct fxt_perf_record *record,
			     const char *path);

/* Takes the name of a thread. */
void fxt_unseen_rings_named(struct fxt_witness_trace *w, const struct fxt_perf_record *record,
			    const char *name);

#endif
