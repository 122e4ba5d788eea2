/* Where the threads of a process are blocked, in the trace of the kernel's records (witness_trace.h): what a
 * program does that is stuck, of which there are no samples. Nothing is stopped for that. */
#ifndef FXT_TOOLS_WITNESS_BLOCKED_H
#define FXT_TOOLS_WITNESS_BLOCKED_H

#include "witness_trace.h"

/* Writes an instant for each thread of a process that is blocked now: in what state, in which function of the
 * kernel, and with which call stack, as far as each can be read. A thread that goes on meanwhile has none.
 * All records that the kernel has were taken before. */
void fxt_witness_blocked(struct fxt_witness_trace *w, uint32_t pid);

enum { FXT_WITNESS_LONG_NS = 100 * 1000 * 1000 };

/* These note that a thread has left its processor, blocked, and that it has one or has ended. */
void fxt_witness_blocks(struct fxt_witness_trace *w, const struct fxt_perf_record *record);
void fxt_witness_goes_on(struct fxt_witness_trace *w, const struct fxt_perf_record *record);
void fxt_witness_is_gone(struct fxt_witness_trace *w, const struct fxt_perf_record *record);

/* Writes an instant `long blocked` for threads that have been blocked for FXT_WITNESS_LONG_NS, with what
 * these are blocked at, and who has that: a program that is killed where it is stuck leaves nothing else that
 * says where. Of a thread that is blocked that long again and again, it takes twice the time each time. */
void fxt_witness_long_blocked(struct fxt_witness_trace *w, uint64_t now_ns);

#endif
