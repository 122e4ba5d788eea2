/* Looks whether locks may have been taken in a circle: in the order a, b by some thread and in the order b, a
 * by some, or along a longer circle. It is quick and finds too many rather than too few, because it knows
 * locks by their addresses only, and takes no account of which threads they were, of other locks that these
 * held, or of what the trace has lost. So most traces need nothing else, and lock_replay.h looks closer at
 * those locks alone that may lie in a circle.
 *
 * A thread's calls lie in the file in stretches, which are its chunks. One stretch of a thread need not come
 * after the one before it in time, as a manager saves chunks when they are full. So the pass over the file
 * looks at each stretch alone. Afterwards what a thread held at the end of a stretch is followed into the
 * stretches that came next in time, until the thread gave it up. */
#ifndef FXT_TOOLS_LOCK_SCAN_H
#define FXT_TOOLS_LOCK_SCAN_H

#include "lock_calls.h"
#include "lock_graph.h"
#include "lock_stacks.h"
#include "tools/common/map.h"

/* What is beyond these is not looked at, so that no trace makes this take more memory than some 70 MB and the
 * trace's own length. A trace of the agent has a stretch for every 32 KiB. */
enum { FXT_LOCK_SITUATIONS_MAX = 1 << 16, FXT_LOCK_STRETCHES_MAX = 1 << 20 };

/* Calls of one thread about locks, in the order of time and without those of other threads in between. */
struct fxt_lock_stretch {
	uint64_t at, end;               /* offsets */
	uint64_t first_ticks;           /* when the first call ended */
	struct fxt_provider *provider;
	uint32_t thread;
	uint32_t left_count;            /* the locks that it took and did not give up */
	size_t left;                    /* the place of the first of these in `left` */
};

/* A lock was taken while one other was held. */
struct fxt_lock_recent {
	uint64_t pid, held, taken;
};

/* What is known. At the beginning all members are zero. */
struct fxt_lock_scan {
	struct fxt_lock_calls calls;
	struct fxt_lock_stretch *stretches;
	size_t count, capacity;
	bool is_open;                   /* the last stretch may go on */
	uint64_t last_ticks;            /* when its last call ended */
	struct fxt_lock_stack stack;    /* what the thread has taken in that stretch */
	struct fxt_taken *left;
	size_t left_count, left_capacity;
	struct fxt_map places;          /* pid and address -> number of the lock in `graph` */
	/* A set of situations: hashes of the locks that were held, and of the one that was taken. */
	struct fxt_map situations;
	/* Some situations with one lock that was held. They are compared before anything is hashed. */
	struct fxt_lock_recent recent[64];
	struct fxt_lock_graph graph;
};

/* Takes any complete event, in the order of the file. */
void fxt_lock_scan_take(struct fxt_lock_scan *s, struct fxt_reader *r, const struct fxt_record *rec);

/* A chunk begins. */
static inline void fxt_lock_scan_chunk(struct fxt_lock_scan *s)
{
	s->is_open = false;
}

/* Follows what was held at the ends of stretches, after `r` has read to the end. */
void fxt_lock_scan_finish(struct fxt_lock_scan *s, struct fxt_reader *r);

/* Fills a map with the process and address of each lock that may lie in a circle, and the numbers from 0 up
 * as the value. */
void fxt_lock_scan_circles(const struct fxt_lock_scan *s, struct fxt_map *places);

void fxt_lock_scan_free(struct fxt_lock_scan *s);

#endif
