/* Counters of the process (category counter): what it holds and has moved, sampled every 10 ms while it
 * records anything.
 *
 * No thread of ours does it. Sampling is deferred work (deferred.h), which each thread that records has after
 * 10 ms at the latest, when its clock's line expires; of all threads one samples in 10 ms. Each sample is an
 * event with one argument, named rss, threads, descriptors, read bytes, written bytes and heap bytes
 * (heap.h).
 */
#ifndef FXT_SAMPLE_H
#define FXT_SAMPLE_H

#include "agent/base/agent.h"

/* A chunk is full, or the clock has no line that could expire: makes sampling deferred work of the thread if
 * it is time. Any context. */
void fxt_sample_renewed(struct fxt_thread *thread, uint64_t now_ns);

/* Samples, if it is time and no other thread does: deferred work. */
void fxt_sample(struct fxt_thread *thread, uint64_t now_ns);

/* In the child of a fork. */
void fxt_sample_after_fork(void);

/* What the calls of all threads there are and were have moved, and have of the heap. */
struct fxt_moved {
	uint64_t read, written;
	int64_t heap;
};

struct fxt_moved fxt_threads_moved(void);

#endif
