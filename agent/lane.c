/* Turning a lane to its next chunk. Called in the middle of an emission; any context. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "sample.h"
#include "stack.h"
#include "writer/fxt_encode.h"

void fxt_lane_give_back(struct fxt_thread *thread, struct fxt_lane *lane, uint64_t hold)
{
	/* Before the exchange: afterwards its thread may have begun to count in another chunk. */
	uint32_t number = (uint32_t)hold, events = lane->events;

	if (hold && atomic_compare_exchange_strong_explicit(&lane->hold, &hold, 0, memory_order_acq_rel, memory_order_relaxed))
		fxt_buffer_finish(&fxt_agent.buffer, number, events, thread->last_ns);
}

bool fxt_lane_give_back_full(struct fxt_full_chunk *full)
{
	uint64_t hold = atomic_load_explicit(&full->hold, memory_order_acquire), last_ns = full->last_ns;
	uint32_t events = full->events;

	if (!hold || !atomic_compare_exchange_strong_explicit(&full->hold, &hold, 0, memory_order_acq_rel, memory_order_relaxed))
		return false;
	fxt_buffer_finish(&fxt_agent.buffer, (uint32_t)hold, events, last_ns);
	return true;
}

/* In a ring: the chunk that is full takes the place of the one before. */
static void keep_full(struct fxt_thread *thread, struct fxt_lane *lane)
{
	struct fxt_full_chunk *full = &thread->full[lane - thread->lanes];
	uint64_t hold = atomic_load_explicit(&lane->hold, memory_order_acquire);

	/* It had to be given back, or somebody took it away. */
	if (!hold || !atomic_compare_exchange_strong_explicit(&lane->hold, &hold, 0, memory_order_acq_rel, memory_order_relaxed))
		return;
	fxt_lane_give_back_full(full);
	full->events = lane->events;
	full->last_ns = thread->last_ns;
	atomic_store_explicit(&full->hold, hold, memory_order_release);
}

/* What may pass: a file system or a quota that is full. The size the user allowed stays used up. */
static bool may_pass(int failure)
{
	return failure == -ENOSPC || failure == -EDQUOT;
}

static bool give_back_own(struct fxt_thread *thread, struct fxt_lane *lane)
{
	uint64_t hold = atomic_load_explicit(&lane->hold, memory_order_acquire);

	if (fxt_lane_give_back_full(&thread->full[lane - thread->lanes]))
		return true;
	fxt_lane_give_back(thread, lane, hold);
	return hold != 0;
}

/* FXT_ON_FULL=wait waits for room where there may be some, and the ring for a snapshot of it. `waited_ns` is since when, 0 for not at all. */
static bool take_chunk(struct fxt_thread *thread, struct fxt_lane *lane, struct fxt_chunk *chunk, uint64_t *waited_ns)
{
	static const struct timespec pause = {0, 10 * 1000 * 1000};
	uint64_t before_ns = 0;

	*waited_ns = 0;
	if (FXT_UNLIKELY(fxt_ring_is_closed(&fxt_agent.buffer.ring)))
		before_ns = fxt_now(thread);
	if (fxt_buffer_take(&fxt_agent.buffer, thread->last_ns, chunk)) {
		if (chunk->waited)
			*waited_ns = before_ns;
		return true;
	}
	/* Too many threads for the ring, each with a chunk that it began some time ago. */
	while (fxt_agent.config.mode == FXT_CIRCULAR && (give_back_own(thread, lane) || fxt_threads_give_back_idlest(thread)))
		if (fxt_buffer_take(&fxt_agent.buffer, thread->last_ns, chunk))
			return true;
	while (fxt_agent.config.wait_on_full && may_pass(fxt_buffer_failure(&fxt_agent.buffer))) {
		if (!*waited_ns) {
			*waited_ns = fxt_now(thread);
			fxt_agent_lost(FXT_LOSS_ROOM, *waited_ns);
		}
		FXT_SYSCALL2(SYS_nanosleep, &pause, NULL);
		if (fxt_buffer_take(&fxt_agent.buffer, fxt_now(thread), chunk))
			return true;
	}
	return false;
}

/* The slice that says so, the first event of the chunk. */
static void put_wait(struct fxt_thread *thread, struct fxt_lane *lane, uint64_t start_ns)
{
	uint64_t record[8];
	size_t words = fxt_encode_event(record, 8, FXT_EVENT_DURATION_COMPLETE, start_ns,
					(struct fxt_thread_ref){thread->index, thread->pid, thread->tid},
					FXT_INDEXED(FXT_STR_CATEGORIES + FXT_BIT_agent), FXT_INDEXED(FXT_STR_waiting),
					(struct fxt_args){0}, fxt_now(thread));

	memcpy(lane->at + 1, record + 1, (words - 1) * FXT_WORD_BYTES);
	fxt_lane_commit(lane, words, record[0]);
}

void fxt_lanes_left(struct fxt_thread *thread, struct fxt_lane *lowest, const struct fxt_lane *end)
{
	struct fxt_lane *lane;

	for (lane = lowest; lane < end && thread->commit & FXT_COMMIT_ALIGNED; lane++)
		if (atomic_load_explicit(&lane->hold, memory_order_relaxed))
			fxt_buffer_lay_heads(lane->at, (size_t)(lane->end - lane->at) + 1);
}

/* A handler that leaves an emission by longjmp leaves its level raised too. An emission that was interrupted by the handler we
 * are in lies above us on the stack; what lies below was left. */
static struct fxt_lane *lower_what_was_left(struct fxt_thread *thread, struct fxt_lane *lane)
{
	struct fxt_lane *lowest = lane;
	uintptr_t here = lane->raised_at;

	while (lowest > thread->lanes && fxt_on_own_stack(thread, here) && fxt_on_own_stack(thread, lowest[-1].raised_at) &&
	       lowest[-1].raised_at <= here)
		lowest--;
	if (lowest == lane || fxt_on_alternate_stack())
		return lane;
	/* Each of them was a record. */
	fxt_agent_count(FXT_LOSS_SIGNALS, (uint64_t)(lane - lowest), thread->last_ns);
	fxt_lanes_left(thread, lowest, lane);
	lowest->raised_at = here;
	atomic_signal_fence(memory_order_seq_cst);
	thread->lane = lowest + 1;
	return lowest;
}

static void drop(struct fxt_thread *thread, const struct fxt_lane *lane, enum fxt_loss why)
{
	if (!lane->is_extra)
		fxt_thread_dropped(thread, why);
}

/* On its own: its frame is more than a short stack may have. */
static __attribute__((noinline)) bool turn(struct fxt_thread *thread, struct fxt_lane *lane, size_t words)
{
	struct fxt_chunk chunk;
	uint64_t waited_ns;
	size_t used = 0;

	/* The last lanes are a fence: handlers nest this deep. */
	if (lane >= thread->lanes + FXT_LANES) {
		drop(thread, lane, FXT_LOSS_SIGNALS);
		return false;
	}
	if (!thread->ready && !fxt_thread_ready(thread)) {
		drop(thread, lane, FXT_LOSS_ROOM);
		return false;
	}
	/* Becoming ready writes records of its own, in the same lane; or this is a lower one. */
	if (fxt_lane_has(lane, words))
		return true;
	atomic_store_explicit(&lane->limit, 0, memory_order_relaxed);
	if (fxt_agent.config.mode != FXT_CIRCULAR)
		fxt_lane_give_back(thread, lane, atomic_load_explicit(&lane->hold, memory_order_acquire));
	if (!take_chunk(thread, lane, &chunk, &waited_ns)) {
		drop(thread, lane, FXT_LOSS_ROOM);
		return false;
	}
	if (fxt_agent.config.mode == FXT_CIRCULAR)
		keep_full(thread, lane);
	/* A chunk begins by saying whose it is, so that it can be dropped or moved alone. */
	if (thread->index) {
		uint64_t record[3];

		used = fxt_encode_thread(record, 3, thread->index, thread->pid, thread->tid);
		chunk.base[used] = fxt_filler(chunk.words - used - 1);
		memcpy(chunk.base + 1, record + 1, sizeof(record) - sizeof(*record));
		atomic_store_explicit((_Atomic uint64_t *)chunk.base, record[0], memory_order_release);
	}
	fxt_lane_enter(lane, chunk.base + used, chunk.words - used, chunk.number, ++thread->serial);
	if (waited_ns)
		put_wait(thread, lane, waited_ns);
	fxt_agent_overwritten(&chunk, thread->last_ns);
	fxt_sample_renewed(thread, thread->last_ns);
	/* Not fxt_lane_has(): somebody may want this chunk already. He gets it after this record. */
	if ((size_t)(lane->end - lane->at) <= words) {
		drop(thread, lane, FXT_LOSS_SIZE);
		return false;
	}
	return true;
}

struct fxt_lane *fxt_lane_turn(struct fxt_thread *thread, struct fxt_lane *lane, size_t words)
{
	uintptr_t here = lane->raised_at;

	lane = lower_what_was_left(thread, lane);
	if (!fxt_lane_has(lane, words) && fxt_stack_is_short()) {
		if (!lane->is_extra)
			fxt_agent_count_short(thread->last_ns);
	} else if (turn(thread, lane, words)) {
		/* What was written on the way, in the same lane, was raised further down. */
		lane->raised_at = here;
		return lane;
	}
	thread->lane = lane;
	return NULL;
}
