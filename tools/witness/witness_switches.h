/* Writes what the kernel tells of threads that get a processor and leave it: context switches of the part.
 * They have the thread's weight, which is the kernel's priority: 120 is that of an ordinary thread, and those
 * below 100 are real-time ones. witness_trace.c calls these functions, for records that are kept. */
#ifndef FXT_TOOLS_WITNESS_SWITCHES_H
#define FXT_TOOLS_WITNESS_SWITCHES_H

#include "perf_events.h"

struct fxt_witness_trace;

/* Takes a switch. */
void fxt_witness_switch(struct fxt_witness_trace *w, const struct fxt_perf_record *record);

/* The thread ends. The kernel does not tell that it leaves its processor then. */
void fxt_witness_dies(struct fxt_witness_trace *w, const struct fxt_perf_record *record);

/* The thread does something, and so it has a processor. Nobody may have told when it got that: the events
 * begin when a program is executed. */
void fxt_witness_runs(struct fxt_witness_trace *w, const struct fxt_perf_record *record);

#endif
