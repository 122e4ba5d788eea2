/* Counters of the process (category counter): what it holds and has moved, sampled every 10 ms while it records anything.
 *
 * No thread of ours does it: a thread that renews its clock, which each does after 10 ms at the latest, samples when the record it is
 * about is committed, so that no call takes longer for it; of all threads one in 10 ms. Each is an event with one argument, named
 * rss, threads, descriptors, read bytes, written bytes and heap bytes (heap.h).
 */
#ifndef FXT_SAMPLE_H
#define FXT_SAMPLE_H

#include "agent.h"

/* The clock is being renewed, or a chunk is full: sees to it that the thread samples after its next record if it is time. Any context. */
void fxt_sample_renewed(struct fxt_thread *thread, uint64_t now_ns);

/* After a record, in no emission. */
void fxt_sample(struct fxt_thread *thread);

/* In the child of a fork. */
void fxt_sample_after_fork(void);

/* What the calls of all threads there are and were have moved, and have of the heap. */
struct fxt_moved {
	uint64_t read, written;
	int64_t heap;
};

struct fxt_moved fxt_threads_moved(void);

#endif
