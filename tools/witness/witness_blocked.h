/* Where the threads of a process are blocked, in the trace of the kernel's records (witness_trace.h): what a
 * program does that is stuck, of which there are no samples. Nothing is stopped for that. */
#ifndef FXT_TOOLS_WITNESS_BLOCKED_H
#define FXT_TOOLS_WITNESS_BLOCKED_H

#include "witness_trace.h"

/* Writes an instant for each thread of a process that is blocked now: in what state, in which function of the
 * kernel, and with which call stack, as far as each can be read. A thread that goes on meanwhile has none.
 * All records that the kernel has were taken before. */
void fxt_witness_blocked(struct fxt_witness_trace *w, uint32_t pid);

#endif
