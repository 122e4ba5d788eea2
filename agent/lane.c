/* Turning a lane to its next chunk. Called in the middle of an emission; any context. */
#include <string.h>

#include "clock.h"
#include "writer/fxt_encode.h"

bool fxt_lane_turn(struct fxt_thread *thread, struct fxt_lane *lane, size_t words)
{
	struct fxt_chunk chunk;
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
	if (lane->at) {
		lane->at = lane->end = NULL;
		fxt_buffer_finish(&fxt_agent.buffer, lane->chunk, lane->events);
	}
	if (!fxt_buffer_take(&fxt_agent.buffer, thread->last_ns, &chunk)) {
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
	lane->at = chunk.base + used;
	lane->end = chunk.base + chunk.words - 1;
	lane->chunk = chunk.number;
	lane->serial = ++thread->serial;
	lane->events = 0;
	fxt_agent_count(&fxt_agent.overwritten, FXT_STR_overwritten, chunk.overwritten);
	if (!fxt_lane_has(lane, words)) {
		fxt_thread_dropped(thread, FXT_LOSS_SIZE);
		return false;
	}
	return true;
}
