/* Chunks are taken away here from threads that hold more of a ring than there is for all. Called by a
 * thread that finds no chunk, in a turn of its lane (lane.c), in any context. fxt_threads_dropped() adds up
 * the records for which the threads found no room. See threads.h. */
#include <linux/membarrier.h>

#include "clock.h"
#include "counter.h"
#include "threads.h"

static bool has_membarrier;

void fxt_chunks_start(void)
{
	has_membarrier = !FXT_SYSCALL3(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

/* Makes every running thread of the process execute a barrier. Returns false if that is not possible. */
static bool barrier_everywhere(void)
{
	return has_membarrier && !FXT_SYSCALL3(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/* Takes a thread's chunks away. The thread that has a chunk raises `lane`, then looks at the lane's limit,
 * then writes. The thread that takes the chunk away lowers the limit, then has every thread execute a
 * barrier, then looks at `lane`. If `lane` is not raised, its thread will see the limit before it writes
 * again, and turn to another chunk. If `lane` is raised, its thread may be writing; it finds the limit at its
 * next record and gives the chunk back itself. */
static bool take_away(struct fxt_thread *thread)
{
	struct fxt_lane *lane = thread->lanes;
	uint64_t holds[FXT_LANES];
	bool any = false;
	unsigned i;

	for (i = 0; i < FXT_LANES; i++) {
		holds[i] = atomic_load_explicit(&lane[i].hold, memory_order_acquire);
		if (holds[i])
			atomic_store_explicit(&lane[i].limit, 0, memory_order_relaxed);
	}
	if (!barrier_everywhere())
		return false;
	for (i = 0; i < FXT_LANES; i++) {
		/* The lane keeps its chunk if it has turned meanwhile. */
		if (!holds[i] || *(struct fxt_lane *volatile *)&thread->lane > &lane[i] ||
		    atomic_load_explicit(&lane[i].limit, memory_order_relaxed))
			continue;
		fxt_lane_give_back(thread, &lane[i], holds[i]);
		any = true;
	}
	return any;
}

static bool holds_chunk(const struct fxt_thread *thread)
{
	unsigned i;

	for (i = 0; i < FXT_LANES; i++)
		if (atomic_load_explicit(&thread->lanes[i].hold, memory_order_relaxed) &&
		    atomic_load_explicit(&thread->lanes[i].limit, memory_order_relaxed))
			return true;
	return false;
}

/* Gives back the full chunk that was used longest ago. The caller holds the lock. */
static bool give_back_full(void)
{
	struct fxt_full_chunk *oldest = NULL, *full;
	uint32_t i;

	for (i = 0; i < fxt_threads.count; i++)
		for (full = fxt_threads.list[i]->full; full < fxt_threads.list[i]->full + FXT_LANES; full++)
			if (atomic_load_explicit(&full->hold, memory_order_relaxed) &&
			    (!oldest || full->last_ns < oldest->last_ns))
				oldest = full;
	return oldest && fxt_lane_give_back_full(oldest);
}

bool fxt_threads_give_back_idlest(struct fxt_thread *self)
{
	struct fxt_thread *idlest = NULL, *thread;
	uint64_t mask;
	bool taken = false;
	uint32_t i;

	if (fxt_may_not_lock())
		return false;
	mask = fxt_lock(&fxt_threads.lock);
	if (give_back_full()) {
		fxt_unlock(&fxt_threads.lock, mask);
		return true;
	}
	do {
		idlest = NULL;
		for (i = 0; i < fxt_threads.count; i++) {
			thread = fxt_threads.list[i];
			if (thread != self && !thread->claimed && holds_chunk(thread) &&
			    (!idlest || thread->last_ns < idlest->last_ns))
				idlest = thread;
		}
		taken = idlest && take_away(idlest);
	} while (idlest && !taken && has_membarrier);
	fxt_unlock(&fxt_threads.lock, mask);
	return taken;
}

void fxt_threads_expire(void)
{
	uint64_t mask = fxt_lock(&fxt_threads.lock);
	uint32_t i;
	unsigned lane;

	/* A thread that gets a line or a chunk after this fence finds that the gate is lent: clock.c and
	 * lane.c look at that. */
	atomic_thread_fence(memory_order_seq_cst);
	for (i = 0; i < fxt_threads.count; i++) {
		fxt_clock_expire(fxt_threads.list[i]);
		for (lane = 0; lane < FXT_LANES; lane++)
			atomic_store_explicit(&fxt_threads.list[i]->lanes[lane].limit, 0,
					      memory_order_relaxed);
	}
	fxt_unlock(&fxt_threads.lock, mask);
}

uint64_t fxt_threads_dropped(void)
{
	const uint64_t *slot = fxt_agent.losses[FXT_LOSS_ROOM];
	uint64_t mask = fxt_lock(&fxt_threads.lock), dropped = slot ? fxt_counter_value(slot) : 0;
	uint32_t i;

	/* The threads go on counting meanwhile, so each count is read once. */
	for (i = 0; i < fxt_threads.count; i++)
		dropped += *(volatile uint64_t *)fxt_threads.list[i]->counts.dropped;
	fxt_unlock(&fxt_threads.lock, mask);
	return dropped;
}
