/* Turning a lane to its next chunk. Called in the middle of an emission; any context. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "writer/fxt_encode.h"

void fxt_lane_give_back(struct fxt_thread *thread, struct fxt_lane *lane, uint64_t hold)
{
	/* Before the exchange: afterwards its thread may have begun to count in another chunk. */
	uint32_t number = (uint32_t)hold, events = lane->events;

	if (hold && atomic_compare_exchange_strong_explicit(&lane->hold, &hold, 0, memory_order_acq_rel, memory_order_relaxed))
		fxt_buffer_finish(&fxt_agent.buffer, number, events, thread->last_ns);
}

/* What may pass: a file system or a quota that is full. The size the user allowed stays used up. */
static bool may_pass(int failure)
{
	return failure == -ENOSPC || failure == -EDQUOT;
}

/* FXT_ON_FULL=wait waits for room where there may be some. `waited_ns` is since when, 0 for not at all. */
static bool take_chunk(struct fxt_thread *thread, struct fxt_chunk *chunk, uint64_t *waited_ns)
{
	static const struct timespec pause = {0, 10 * 1000 * 1000};

	*waited_ns = 0;
	if (fxt_buffer_take(&fxt_agent.buffer, thread->last_ns, chunk))
		return true;
	/* As many threads as the ring has chunks, each with one that it began some time ago. */
	while (fxt_agent.config.mode == FXT_CIRCULAR && fxt_threads_give_back_idlest(thread))
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

bool fxt_lane_turn(struct fxt_thread *thread, struct fxt_lane *lane, size_t words)
{
	struct fxt_chunk chunk;
	uint64_t waited_ns;
	size_t used = 0;

	/* The last lane is a fence: handlers nested this deep, or left by longjmp this often. */
	if (lane == thread->lanes + FXT_LANES) {
		fxt_thread_dropped(thread, FXT_LOSS_SIGNALS);
		return false;
	}
	if (!thread->ready && !fxt_thread_ready(thread)) {
		fxt_thread_dropped(thread, FXT_LOSS_ROOM);
		return false;
	}
	/* Becoming ready writes records of its own, in the same lane. */
	if (fxt_lane_has(lane, words))
		return true;
	atomic_store_explicit(&lane->limit, 0, memory_order_relaxed);
	fxt_lane_give_back(thread, lane, atomic_load_explicit(&lane->hold, memory_order_acquire));
	if (!take_chunk(thread, &chunk, &waited_ns)) {
		fxt_thread_dropped(thread, FXT_LOSS_ROOM);
		return false;
	}
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
	/* Not fxt_lane_has(): somebody may want this chunk already. He gets it after this record. */
	if ((size_t)(lane->end - lane->at) <= words) {
		fxt_thread_dropped(thread, FXT_LOSS_SIZE);
		return false;
	}
	return true;
}
