/* See emit.h. This file has the parts of the emission path that are not worth inlining. Wrappers call them in
 * any context. */
#include "emit.h"

#include <string.h>

#include "agent/base/stack.h"
#include "counter.h"
#include "deferred.h"
#include "in_progress.h"
#include "trace_file.h"
#include "writer/fxt_encode.h"

bool fxt_drop(struct fxt_thread *thread, struct fxt_in_progress *open)
{
	struct fxt_lane *lane;

	if (FXT_UNLIKELY(thread->open != open + 1) || FXT_UNLIKELY(!fxt_has_no_room(thread)) ||
	    FXT_UNLIKELY(fxt_has_moved(thread)))
		return false;
	fxt_in_progress_empty(thread, open);
	lane = fxt_lane_raise(thread, FXT_LANE_CALL);
	fxt_thread_dropped_again(thread);
	fxt_lane_lower(lane);
	if (FXT_UNLIKELY(thread->commit & FXT_COMMIT_DEFERRED))
		fxt_deferred_after(thread, thread->last_ns);
	return true;
}

uint64_t *fxt_put_text(uint64_t *at, uint64_t name, const char *text, size_t bytes)
{
	size_t words;

	/* The program may have changed the text since it was measured, so the size that the record says is
	 * that of the bytes that were copied. */
	at[1 + (bytes ? fxt_words_of(bytes) - 1 : 0)] = 0;
	if (bytes)
		bytes = fxt_utf8_clean((char *)(at + 1), text, bytes, bytes);
	words = fxt_words_of(bytes);
	if (bytes % FXT_WORD_BYTES)
		memset((char *)(at + 1) + bytes, 0, FXT_WORD_BYTES - bytes % FXT_WORD_BYTES);
	*at = fxt_arg_header(FXT_ARG_STRING, (unsigned)(1 + words), name) |
	      fxt_arg_string(bytes ? fxt_inline_ref(bytes) : 0);
	return at + 1 + words;
}

/* -- Lanes -------------------------------------------------------------------------------------- */

/* Gives back the lane of an emission that was left. Returns whether its call left no record. */
static bool leave(struct fxt_lane *lane)
{
	bool is_call = lane->raised_at & FXT_LANE_CALL;
	bool is_lost = lane->raised_at && !fxt_lane_recover(lane) && is_call;

	fxt_lane_lower(lane);
	return is_lost;
}

unsigned fxt_lanes_left(struct fxt_thread *thread)
{
	struct fxt_lane *lane;
	unsigned lost = 0;

	for (lane = thread->lanes; lane < thread->lanes + FXT_LANES; lane++)
		lost += leave(lane);
	return lost;
}

/* Two frames of other stacks than the thread's own are taken to be on one stack if they are no further
 * apart. */
enum { SAME_STACK_BYTES = 2048 };

/* Tells whether the emission that has the lane was left by longjmp, because its frame lies below the present
 * one on the same stack. An emission that the present handler has interrupted has its frame above. */
static bool was_left(const struct fxt_thread *thread, const struct fxt_lane *lane, uintptr_t here)
{
	bool is_own = fxt_on_own_stack(thread, here);
	uintptr_t frame = fxt_lane_frame(lane);

	return lane->raised_at && frame <= here && is_own == fxt_on_own_stack(thread, frame) &&
	       (is_own || here - frame < SAME_STACK_BYTES);
}

/* Gives back the lanes of emissions that were left. */
static void leave_what_was_left(struct fxt_thread *thread, uintptr_t here)
{
	struct fxt_lane *lane = thread->lanes, *end = thread->lanes + FXT_LANES;
	unsigned lost = 0;
	uint64_t mask;

	while (lane < end && !was_left(thread, lane, here))
		lane++;
	if (lane == end || (fxt_on_own_stack(thread, here) && fxt_on_alternate_stack()))
		return;
	/* A handler may give back the same lanes, and take them. */
	mask = fxt_sys_block_signals();
	for (; lane < end; lane++)
		if (was_left(thread, lane, here))
			lost += leave(lane);
	if (lost && fxt_agent_file())
		fxt_agent_count(FXT_LOSS_SIGNALS, lost, thread->last_ns);
	fxt_sys_restore_signals(mask);
}

struct fxt_lane *fxt_lane_raise_another(struct fxt_thread *thread, uintptr_t here)
{
	struct fxt_lane *lane;

	if (fxt_has_moved(thread))
		return thread->lanes + FXT_LANES;
	leave_what_was_left(thread, here & ~(uintptr_t)FXT_LANE_CALL);
	for (lane = thread->lanes; lane < thread->lanes + FXT_LANES; lane++)
		if (fxt_lane_take(lane, here))
			return lane;
	return lane;
}

/* In the child of a fork, an interrupted emission goes on where it was, in memory that no lane holds. */
struct fxt_lane *fxt_lane_find(struct fxt_thread *thread, const uint64_t *at)
{
	struct fxt_lane *end = thread->lanes + FXT_LANES, *lane;

	for (lane = thread->lanes; lane < end; lane++)
		if (fxt_lane_reaches(lane, at))
			return lane;
	for (lane = thread->lanes; lane < end; lane++)
		if (lane->raised_at && at > lane->at && at < lane->end)
			return lane;
	return NULL;
}

void fxt_lanes_put_thread(struct fxt_thread *thread)
{
	struct fxt_lane *lane;
	uint64_t record[3];

	if (!thread->index)
		return;
	fxt_encode_thread(record, 3, thread->index, thread->pid, thread->tid);
	for (lane = thread->lanes; lane < thread->lanes + FXT_LANES; lane++) {
		bool is_ours = !lane->raised_at;

		/* Another thread may take the chunk away, but not from a lane that is raised. */
		if (is_ours)
			lane->raised_at = (uintptr_t)__builtin_frame_address(0);
		atomic_signal_fence(memory_order_seq_cst);
		if (fxt_lane_has(lane, 3))
			fxt_lane_put(lane, record, 3);
		else if (atomic_load_explicit(&lane->hold, memory_order_relaxed))
			atomic_store_explicit(&lane->limit, 0, memory_order_relaxed);
		if (is_ours)
			fxt_lane_lower(lane);
	}
}

bool fxt_is_interrupted(const struct fxt_thread *thread)
{
	const struct fxt_in_progress *entry;

	const struct fxt_lane *lane;

	for (lane = thread->lanes; lane < thread->lanes + FXT_LANES; lane++)
		if (lane->raised_at)
			return true;
	for (entry = thread->open; entry-- > fxt_in_progress_entries((struct fxt_thread *)thread);)
		if (fxt_in_progress_is_changing(entry) && entry->frame != FXT_IN_PROGRESS_HOLE)
			return true;
	return false;
}

void fxt_lanes_reset(struct fxt_thread *thread)
{
	memset(thread->lanes, 0, sizeof(thread->lanes));
	memset(thread->full, 0, sizeof(thread->full));
}

void fxt_lanes_after_fork(struct fxt_thread *thread, bool returns)
{
	struct fxt_lane *lane;

	if (!returns) {
		fxt_lanes_reset(thread);
		return;
	}
	for (lane = thread->lanes; lane < thread->lanes + FXT_LANES + FXT_LANE_FENCES; lane++)
		fxt_lane_leave(lane);
	memset(thread->full, 0, sizeof(thread->full));
}
