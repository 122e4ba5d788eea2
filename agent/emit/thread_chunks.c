/* Threads share chunks here. A thread that needs a chunk, when many are held already, writes on in the rest
 * of one whose thread records nothing. So a thread that sleeps holds no memory that others need, and ten
 * thousand threads that each record a little fill a few chunks. Called by a thread that needs a chunk, in a
 * turn of its lane (lane.c), in any context. fxt_threads_lost() adds up the records for which the threads
 * found no room. See lanes.h and threads.h, and docs/sharing-chunks.md. */
#include <linux/membarrier.h>

#include "agent/base/growing_table.h"
#include "clock.h"
#include "counter.h"
#include "threads.h"

enum {
	LOOKS = 16,                     /* how many threads are looked at for a chunk that they do not use */
	/* If one is idle, those that have recorded nothing for this part of the time are taken for idle. */
	IDLE_PART = 8,
	/* A smaller rest is given back to the storage. It holds a few events: taking it costs as much as it
	 * saves. */
	LEAST_REST_WORDS = 64,
};

static bool has_membarrier;
static bool registered_first;           /* the process was registered by the agent, and not before */

/* The threads that may hold chunks, in no order (under fxt_threads.lock). A thread that holds one is here, or
 * about to be. */
static struct {
	struct fxt_thread **list;
	atomic_uint count;
	uint32_t next;                  /* the one that is looked at next */
	struct fxt_growing_table memory;        /* of `list` */
} holders = {.memory.most_bytes = FXT_THREAD_STATES_MAX * sizeof(struct fxt_thread *)};

/* Chunks that may be taken, because their threads will see that before they write again (under
 * fxt_threads.lock). */
static FXT_WIPED struct {
	struct fxt_offer {
		struct fxt_thread *thread;
		struct fxt_lane *lane;
		uint64_t hold;
	} list[LOOKS * FXT_LANES];
	unsigned count;
} offers;

void fxt_chunks_start(void)
{
	if (fxt_is_forbidden(FXT_NO_APART | FXT_NO_LOCKS))
		return;
	/* This works if the process is registered already, by the program or by the agent of its parent. */
	has_membarrier = !FXT_SYSCALL3(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	if (has_membarrier)
		return;
	has_membarrier = !FXT_SYSCALL3(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	registered_first = has_membarrier;
}

bool fxt_chunks_registered(void)
{
	return registered_first;
}

/* The rests of the parent's chunks are its own. */
void fxt_chunks_after_fork(void)
{
	atomic_store_explicit(&holders.count, 0, memory_order_relaxed);
}

/* Makes every running thread of the process execute a barrier. Returns false if that is not possible. */
static bool barrier_everywhere(void)
{
	return has_membarrier && !fxt_is_forbidden(FXT_NO_APART) &&
	       !FXT_SYSCALL3(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

bool fxt_chunks_are_plenty(void)
{
	return atomic_load_explicit(&holders.count, memory_order_relaxed) >
	       atomic_load_explicit(&fxt_agent.storage->plenty, memory_order_relaxed);
}

/* -- Who holds chunks -------------------------------------------------------------------------- */

static bool holds_chunk(const struct fxt_thread *thread)
{
	unsigned i;

	for (i = 0; i < FXT_LANES; i++)
		if (atomic_load_explicit(&thread->lanes[i].hold, memory_order_relaxed) ||
		    atomic_load_explicit(&thread->full[i].hold, memory_order_relaxed))
			return true;
	return false;
}

/* Enters a thread in the list. The caller holds the lock. */
static void enter_holder(struct fxt_thread *thread)
{
	uint32_t count = atomic_load_explicit(&holders.count, memory_order_relaxed);
	struct fxt_thread **list;

	if (atomic_load_explicit(&thread->is_holder, memory_order_relaxed))
		return;
	list = fxt_growing_table(&holders.memory, (count + 1) * sizeof(*holders.list));
	if (!list)
		return;
	holders.list = list;
	/* In the child of a fork the place may have it already. */
	if (list[count] != thread)
		list[count] = thread;
	atomic_store_explicit(&holders.count, count + 1, memory_order_relaxed);
	atomic_store_explicit(&thread->is_holder, true, memory_order_relaxed);
}

/* The thread has stored its hold before this; another may just be taking it off the list. */
void fxt_chunks_note(struct fxt_thread *thread)
{
	uint64_t mask;

	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&thread->is_holder, memory_order_relaxed) || fxt_may_not_lock())
		return;
	mask = fxt_lock(&fxt_threads.lock);
	enter_holder(thread);
	fxt_unlock(&fxt_threads.lock, mask);
}

/* Returns a thread that may hold a chunk, each time another one, and takes those that hold none off the list.
 * Returns NULL if there is none. The caller holds the lock. */
static struct fxt_thread *next_holder(void)
{
	struct fxt_thread *thread;
	uint32_t count;

	while ((count = atomic_load_explicit(&holders.count, memory_order_relaxed))) {
		if (holders.next >= count)
			holders.next = 0;
		thread = holders.list[holders.next];
		if (holds_chunk(thread)) {
			holders.next++;
			return thread;
		}
		atomic_store_explicit(&thread->is_holder, false, memory_order_relaxed);
		atomic_thread_fence(memory_order_seq_cst);
		/* It has taken one meanwhile, and does not enter itself any more. */
		if (holds_chunk(thread)) {
			atomic_store_explicit(&thread->is_holder, true, memory_order_relaxed);
			continue;
		}
		holders.list[holders.next] = holders.list[count - 1];
		atomic_store_explicit(&holders.count, count - 1, memory_order_relaxed);
	}
	return NULL;
}

/* -- Taking ------------------------------------------------------------------------------------ */

/* Wants the chunks of all lanes of a thread. */
static void want(struct fxt_thread *thread)
{
	struct fxt_lane *lane;
	uint64_t hold;

	for (lane = thread->lanes; lane < thread->lanes + FXT_LANES; lane++) {
		hold = atomic_load_explicit(&lane->hold, memory_order_acquire);
		/* A chunk of an earlier session is not written on in: fxt_threads_expire(). */
		if (!hold || !atomic_load_explicit(&lane->limit, memory_order_relaxed))
			continue;
		atomic_store_explicit(&lane->limit, FXT_LANE_WANTED, memory_order_relaxed);
		offers.list[offers.count++] = (struct fxt_offer){thread, lane, hold};
	}
}

/* Leaves the chunks in the list that may be taken. The thread that has one raises the lane, then looks at the
 * lane's limit, then writes. The one that wants it lowers the limit, then has every thread execute a barrier,
 * then looks whether the lane is raised. If it is not, its thread will see the limit before it writes again,
 * and turn to another chunk, or give its hold a new number. If it is, its thread may be writing, and keeps
 * the chunk (lane.c). */
static void settle_offers(void)
{
	unsigned wanted = offers.count, i;

	offers.count = 0;
	if (!wanted || !barrier_everywhere())
		return;
	for (i = 0; i < wanted; i++)
		if (!*(volatile uintptr_t *)&offers.list[i].lane->raised_at)
			offers.list[offers.count++] = offers.list[i];
}

/* Wants chunks of threads that have recorded nothing since before_ns. A barrier takes longer than the rest of
 * this, so one serves for several chunks: if there is a chunk to be had, also those of threads that have
 * recorded nothing for a shorter time are wanted, whose threads only notice that if they go on. What a thread
 * that is not idle has is wanted only when it is needed. Looks at *looks threads at most, and lowers that. */
static void look_for_offers(const struct fxt_thread *self, uint64_t before_ns, unsigned *looks)
{
	struct fxt_thread *found[LOOKS], *thread;
	uint64_t last_ns;
	unsigned count = 0, i;
	bool is_idle = false;

	offers.count = 0;
	for (; *looks && !(count && before_ns == UINT64_MAX); --*looks) {
		thread = next_holder();
		if (!thread) {
			*looks = 0;
			break;
		}
		last_ns = *(volatile uint64_t *)&thread->last_ns;
		if (thread == self || thread->claimed ||
		    (last_ns > before_ns && last_ns - before_ns > FXT_IDLE_NS - FXT_IDLE_NS / IDLE_PART))
			continue;
		is_idle |= last_ns <= before_ns;
		found[count++] = thread;
	}
	for (i = 0; is_idle && i < count; i++)
		want(found[i]);
	settle_offers();
}

/* Takes one of the chunks in the list, and sets *last_ns to the time of its last event. The chunk that its
 * thread had filled before is given back at once, so that a ring overwrites it before the one that is taken:
 * otherwise the thread's events would have a gap. */
static bool take_offer(const struct fxt_thread *self, struct fxt_chunk *rest, uint64_t *last_ns)
{
	while (offers.count) {
		const struct fxt_offer *offer = &offers.list[--offers.count];
		const struct fxt_lane *lane = offer->lane;
		uint64_t hold = offer->hold;

		if (offer->thread == self || offer->thread->claimed ||
		    atomic_load_explicit(&lane->limit, memory_order_relaxed) != FXT_LANE_WANTED)
			continue;
		*last_ns = *(volatile uint64_t *)&offer->thread->last_ns;
		/* These are read before the exchange: they are those of this hold if that succeeds. */
		*rest = (struct fxt_chunk){.base = lane->at,
					   .words = (uint32_t)(lane->end + 1 - lane->at),
					   .number = (uint32_t)hold,
					   .events = lane->events,
					   .is_copied = lane->line_mask};
		if (atomic_compare_exchange_strong_explicit(&offer->lane->hold, &hold, 0,
							    memory_order_acq_rel, memory_order_relaxed)) {
			fxt_lane_give_back_full(&offer->thread->full[lane - offer->thread->lanes]);
			return true;
		}
	}
	return false;
}

/* Takes a chunk of a thread that has recorded nothing since before_ns; its last event was at *last_ns. Looks
 * at *looks threads at most, and lowers that. */
static bool take_any(struct fxt_thread *self, uint64_t before_ns, unsigned *looks,
		     struct fxt_chunk *rest, uint64_t *last_ns)
{
	uint64_t mask = fxt_lock(&fxt_threads.lock);
	bool taken = take_offer(self, rest, last_ns);

	while (!taken && *looks) {
		look_for_offers(self, before_ns, looks);
		taken = take_offer(self, rest, last_ns);
	}
	/* The thread is about to hold it: fxt_chunks_note() finds that the thread is entered, unless another
	 * one has come by in between. */
	if (taken)
		enter_holder(self);
	fxt_unlock(&fxt_threads.lock, mask);
	return taken;
}

bool fxt_chunks_take_rest(struct fxt_thread *self, size_t words, uint64_t before_ns,
			  struct fxt_chunk *rest)
{
	unsigned looks = LOOKS;
	uint64_t last_ns;

	if (!has_membarrier || fxt_may_not_lock())
		return false;
	while (take_any(self, before_ns, &looks, rest, &last_ns)) {
		if (rest->words > words + LEAST_REST_WORDS)
			return true;
		/* The lock is free again, because what cannot be kept is counted and told of. */
		fxt_chunk_finish(rest->number, rest->events, last_ns);
	}
	return false;
}

bool fxt_chunks_give_back_full(void)
{
	struct fxt_full_chunk *oldest = NULL, *full;
	struct fxt_thread *thread;
	uint64_t mask;
	unsigned looks;
	bool given;

	if (fxt_may_not_lock())
		return false;
	mask = fxt_lock(&fxt_threads.lock);
	for (looks = 0; looks < LOOKS && (thread = next_holder()); looks++)
		for (full = thread->full; full < thread->full + FXT_LANES; full++)
			if (atomic_load_explicit(&full->hold, memory_order_relaxed) &&
			    (!oldest || full->last_ns < oldest->last_ns))
				oldest = full;
	given = oldest && fxt_lane_give_back_full(oldest);
	fxt_unlock(&fxt_threads.lock, mask);
	return given;
}

/* -- Sessions and sums ------------------------------------------------------------------------- */

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

uint64_t fxt_threads_lost(enum fxt_loss why)
{
	const uint64_t *slot = fxt_agent.losses[why];
	uint64_t mask = fxt_lock(&fxt_threads.lock), lost = slot ? fxt_counter_value(slot) : 0;
	uint32_t i;

	/* The threads go on counting meanwhile, so each count is read once. */
	for (i = 0; i < fxt_threads.count; i++) {
		const struct fxt_thread_counts *counts = &fxt_threads.list[i]->counts;

		if (why == FXT_LOSS_ROOM)
			lost += *(volatile uint64_t *)counts->dropped;
		else if (why == FXT_LOSS_FILTERED)
			lost += *(volatile uint64_t *)counts->filtered;
	}
	fxt_unlock(&fxt_threads.lock, mask);
	return lost;
}
