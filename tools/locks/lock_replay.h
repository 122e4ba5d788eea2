/* Goes through the calls about locks in the order of time, for those locks that may be taken in a circle
 * (lock_scan.h), and notes in which situations each of them was taken: which thread held what then.
 *
 * Truth comes first, so a situation is noted only if the trace has told of everything that matters to it:
 * - Of a process whose trace lacks calls, what comes after the first that is missing does not count. Nothing
 *   counts if recording began later than the process.
 * - A thread holds a lock until it gives it up, or somebody else gives it up for it or gets it.
 * - What a thread took before it gave up a lock that nobody saw it take does not count.
 * - Another lock at the same address is another lock (lock_places.h). */
#ifndef FXT_TOOLS_LOCK_REPLAY_H
#define FXT_TOOLS_LOCK_REPLAY_H

#include "lock_calls.h"
#include "lock_places.h"
#include "lock_stacks.h"
#include "tools/analysis/call_stacks.h"
#include "tools/reading/order.h"

enum {
	FXT_LOCK_NOTED_MAX = 1 << 14,           /* further situations are left out */
	/* The threads that are known of a situation. So many threads at most are in a circle. */
	FXT_LOCK_THREADS_MAX = 8,
};

/* A lock that was held in a situation. */
struct fxt_lock_held {
	uint64_t address;
	uint32_t lock;                  /* its number; FXT_NO_LOCK: it is in no circle */
	bool is_shared;                 /* it was taken for reading */
};

/* What a thread did in a situation. */
struct fxt_lock_sighting {
	uint32_t thread;
	uint32_t innermost;             /* node of the stack of one of these calls, or FXT_NO_FRAME */
	uint64_t first_ns, count;
};

/* A lock was taken while others were held. */
struct fxt_lock_situation {
	uint64_t pid;
	uint32_t taken;                 /* the number of the lock */
	bool is_shared;
	uint8_t held_count, sighting_count;
	size_t held;                    /* place of the first one in fxt_lock_replay.held */
	struct fxt_lock_sighting sightings[FXT_LOCK_THREADS_MAX];
};

/* All situations. At the beginning all members are zero but the first three. */
struct fxt_lock_replay {
	const struct fxt_objects *objects;
	struct fxt_call_stacks *stacks_of_calls;
	struct fxt_map until_ns;        /* pid -> when the first call is missing; without an entry none is */
	struct fxt_reader *r;
	struct fxt_lock_calls calls;
	struct fxt_lock_places places;
	struct fxt_lock_stacks stacks;
	struct fxt_lock_situation *situations;
	size_t count, capacity;
	struct fxt_lock_held *held;
	size_t held_count, held_capacity;
	struct fxt_map by_hash;         /* the hash of a situation -> its place in the list */
};

/* Goes through the file, which `r` has read to the end. `places` has the addresses of the locks, as
 * fxt_lock_scan_circles() fills it, and has to stay. */
void fxt_lock_replay(struct fxt_lock_replay *replay, struct fxt_reader *r, const struct fxt_map *places);

/* Returns whether what the thread did counts: it gave up no lock later that nobody saw it take. */
static inline bool fxt_lock_is_sure(const struct fxt_lock_replay *replay,
				    const struct fxt_lock_sighting *sighting)
{
	return sighting->first_ns > replay->stacks.list[sighting->thread].unsure_ns;
}

void fxt_lock_replay_free(struct fxt_lock_replay *replay);

#endif
