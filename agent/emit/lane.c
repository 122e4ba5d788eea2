/* See lanes.h. Lanes turn to their next chunk here, in the middle of an emission; any context. */
#include <errno.h>
#include <string.h>

#include "agent/base/parts.h"
#include "agent/base/stack.h"
#include "clock.h"
#include "counter.h"
#include "deferred.h"
#include "in_progress.h"
#include "sample.h"
#include "trace_file.h"
#include "writer/fxt_encode.h"

/* The longest record that fits into a chunk. The thread's record in front has a slack too. */
enum { MOST_WORDS = FXT_CHUNK_WORDS - 8 * FXT_LANE_SLACK_WORDS };

void fxt_chunk_finish(uint32_t number, uint32_t events, uint64_t last_ns)
{
	uint32_t lost = fxt_storage_finish(fxt_agent.storage, number, events, last_ns);

	if (!lost)
		return;
	fxt_agent_count(FXT_LOSS_ROOM, lost, last_ns);
	fxt_agent_lost(FXT_LOSS_ROOM, last_ns);
}

/* Gives back the chunk that the lane holds, if it holds one. */
static bool give_back(struct fxt_thread *thread, struct fxt_lane *lane)
{
	uint64_t hold = atomic_load_explicit(&lane->hold, memory_order_acquire);

	if (!hold || !atomic_compare_exchange_strong_explicit(&lane->hold, &hold, 0, memory_order_acq_rel,
							      memory_order_relaxed))
		return false;
	fxt_chunk_finish((uint32_t)hold, lane->events, thread->last_ns);
	return true;
}

bool fxt_lane_give_back_full(struct fxt_full_chunk *full)
{
	uint64_t hold = atomic_load_explicit(&full->hold, memory_order_acquire), last_ns = full->last_ns;
	uint32_t events = full->events;

	if (!hold ||
	    !atomic_compare_exchange_strong_explicit(&full->hold, &hold, 0, memory_order_acq_rel,
						     memory_order_relaxed))
		return false;
	fxt_chunk_finish((uint32_t)hold, events, last_ns);
	return true;
}

/* Goes on in the lane's chunk, which another thread has wanted and not taken, because this one was recording.
 * Returns false if there is no room, or if the chunk was taken. A thread that still wants the chunk knows
 * it by its earlier number of holding. */
static bool keep_wanted(struct fxt_thread *thread, struct fxt_lane *lane, size_t words)
{
	uint64_t hold = atomic_load_explicit(&lane->hold, memory_order_acquire);
	uintptr_t wanted = FXT_LANE_WANTED;

	if (atomic_load_explicit(&lane->limit, memory_order_relaxed) != wanted || !hold ||
	    lane->end - lane->at <= (ptrdiff_t)(words + FXT_LANE_SLACK_WORDS) ||
	    !atomic_compare_exchange_strong_explicit(&lane->hold, &hold,
						     (uint64_t)++thread->serial << 32 | lane->chunk,
						     memory_order_acq_rel, memory_order_relaxed))
		return false;
	/* Recording may have ended meanwhile: fxt_threads_expire(). */
	return atomic_compare_exchange_strong(&lane->limit, &wanted, (uintptr_t)lane->end);
}

/* Keeps the chunk that the lane has filled as its full chunk, and gives the one before that back. */
static void keep_full(struct fxt_thread *thread, struct fxt_lane *lane)
{
	struct fxt_full_chunk *full = &thread->full[lane - thread->lanes];
	uint64_t hold = atomic_load_explicit(&lane->hold, memory_order_acquire);

	/* The thread had to give the chunk back (take_now()), or another thread took it away. */
	if (!hold ||
	    !atomic_compare_exchange_strong_explicit(&lane->hold, &hold, 0, memory_order_acq_rel,
						     memory_order_relaxed))
		return;
	fxt_lane_give_back_full(full);
	full->events = lane->events;
	full->last_ns = thread->last_ns;
	atomic_store_explicit(&full->hold, hold, memory_order_release);
}

/* A thread that waits for chunks which others hold in the middle of a record waits no longer than this: they
 * may never go on. */
enum { HELD_WAIT_NS = 1000 * 1000 * 1000, CHILD_PAUSE_NS = 50 * 1000 };

/* Tells whether the thread waits until this failure has passed: a file system or a quota is full, a manager
 * has not saved enough yet, or all chunks are just written to. The size that the user allowed stays used up.
 * The thread has waited since `waited_ns` (0: it has not). */
static bool waits_out(int failure, uint64_t waited_ns, uint64_t now_ns)
{
	const struct fxt_config *config = &fxt_agent.config;

	if (failure == -EBUSY && waited_ns && now_ns - waited_ns > HELD_WAIT_NS)
		return false;
	if (failure == -EAGAIN || failure == -EBUSY)
		return config->wait_on_full || config->waits_for_manager;
	return config->wait_on_full && (failure == -ENOSPC || failure == -EDQUOT);
}

/* Tells whether the child of a vfork waits until a manager has saved what it was asked for. The child can ask
 * for nothing and hears nothing, because both take a lock; its parent sleeps, and so may all others who
 * could. A manager that wants no more will not save this. So the child waits for a second at most, once. */
static bool child_waits(struct fxt_thread *thread, int failure, uint64_t waited_ns, uint64_t now_ns)
{
	if (fxt_is_forbidden(FXT_NO_CALLS) || failure != -EAGAIN || !fxt_agent.config.waits_for_manager)
		return false;
	if (waited_ns && now_ns - waited_ns > HELD_WAIT_NS)
		thread->vfork.has_waited = true;
	return !thread->vfork.has_waited;
}

/* Takes a chunk, or the rest of one, if there is any. Nobody has to wait for another thread's going on. */
static bool take_now(struct fxt_thread *thread, struct fxt_lane *lane, size_t words, uint64_t now_ns,
		     struct fxt_chunk *chunk)
{
	/* A trace that is recorded until it is full has no gaps: who has found it full takes no rest
	 * later. */
	const bool may_share = fxt_agent.config.mode != FXT_ONESHOT || !thread->no_room_before_ns;

	if (may_share && fxt_chunks_are_plenty() &&
	    fxt_chunks_take_rest(thread, words, now_ns - FXT_IDLE_NS, chunk))
		return true;
	if (fxt_storage_take(fxt_agent.storage, now_ns, chunk))
		return true;
	/* There are too many threads for the ring, each with chunks that it began some time ago. */
	while (fxt_agent.config.mode == FXT_CIRCULAR &&
	       (fxt_lane_give_back_full(&thread->full[lane - thread->lanes]) || give_back(thread, lane) ||
		fxt_chunks_give_back_full()))
		if (fxt_storage_take(fxt_agent.storage, now_ns, chunk))
			return true;
	return may_share && fxt_chunks_take_rest(thread, words, UINT64_MAX, chunk);
}

/* The outcome of looking for a chunk: there is one, there is none, or there is none now but may be later. */
enum outcome { TURNED, DROPPED, MAY_PASS };

/* Takes a chunk. `*waited_ns` is the time since which the thread has waited for room, or for a snapshot of
 * the ring's chunk; 0: it has not waited. */
static enum outcome take_chunk(struct fxt_thread *thread, struct fxt_lane *lane, size_t words,
			       struct fxt_chunk *chunk, uint64_t *waited_ns)
{
	/* The clock is not read at first. The end of the call that is being recorded stays the thread's last
	 * time, unless the thread has to wait. */
	uint64_t before_ns = *waited_ns ? fxt_now(thread) : thread->last_ns + 1;
	/* This is asked before a chunk is looked for, because the manager may save meanwhile. */
	bool is_child = fxt_may_not_lock(), may_come = is_child && fxt_managed_is_saving(&fxt_agent.buffer);
	int failure;

	if (take_now(thread, lane, words, before_ns, chunk)) {
		if (chunk->has_waited && !*waited_ns)
			*waited_ns = before_ns;
		return TURNED;
	}
	failure = fxt_storage_failure(fxt_agent.storage);
	if (!waits_out(failure, *waited_ns, before_ns) ||
	    (is_child && !(may_come && child_waits(thread, failure, *waited_ns, before_ns))))
		return DROPPED;
	if (!*waited_ns) {
		*waited_ns = before_ns;
		/* Nothing is lost, and the user can do nothing about a manager that is slow. */
		if (failure != -EAGAIN && failure != -EBUSY)
			fxt_agent_lost(FXT_LOSS_ROOM, before_ns);
	}
	return MAY_PASS;
}

/* Writes the head of a chunk. It begins with the thread's record, so that the chunk can be dropped or moved
 * alone. Then, if the thread had to wait for the chunk, a slice says so. A handler may have switched to a
 * coroutine that waits as well. Then one slice tells of both: it is no call, and not counted if it is not
 * there. */
static void put_head(struct fxt_thread *thread, struct fxt_lane *lane, uint64_t waited_ns)
{
	uint64_t record[8], end_ns;

	if (thread->index)
		fxt_lane_put(lane, record,
			     fxt_encode_thread(record, 3, thread->index, thread->pid, thread->tid));
	if (!waited_ns)
		return;
	end_ns = fxt_now(thread);
	if (!fxt_call_nests(thread, waited_ns, end_ns))
		return;
	fxt_lane_put(lane, record,
		     fxt_encode_event(record, 8, FXT_EVENT_DURATION_COMPLETE, waited_ns,
				      (struct fxt_thread_ref){thread->index, thread->pid, thread->tid},
				      FXT_INDEXED(FXT_STR_CATEGORIES + FXT_BIT_agent),
				      FXT_INDEXED(FXT_STR_waiting), (struct fxt_args){0}, end_ns));
}

/* Writes what the thread has lost, if it has lost anything, unless the record that is to come would have no
 * room then. */
static void put_losses(struct fxt_thread *thread, struct fxt_lane *lane, size_t words)
{
	uint64_t record[FXT_LOSS_WINDOW_WORDS];

	if (lane->end - lane->at <= (ptrdiff_t)(words + FXT_LOSS_WINDOW_WORDS + 3 * FXT_LANE_SLACK_WORDS))
		return;
	words = fxt_loss_window(thread, record);
	if (words)
		fxt_lane_put(lane, record, words);
}

void fxt_lanes_after_vfork(struct fxt_thread *thread)
{
	struct fxt_chunk *chunk = &thread->vfork.chunk;
	uint64_t hold;
	unsigned i;
	bool is_entered = false;

	for (i = 0; i < FXT_LANES; i++) {
		hold = atomic_load_explicit(&thread->lanes[i].hold, memory_order_relaxed);
		is_entered |= hold && (uint32_t)hold == chunk->number;
	}
	/* The lane goes on in a chunk that it has entered. */
	if (!is_entered) {
		fxt_storage_clear(fxt_agent.storage, chunk);
		fxt_agent_overwritten(chunk, thread->last_ns);
		fxt_chunk_finish(chunk->number, 0, thread->last_ns);
	}
	chunk->words = 0;
}

/* Turns a lane to its next chunk. This is a function of its own, because its frame is larger than what a
 * short stack may have left. No handler of the program interrupts it, because the program has none or the
 * caller has blocked signals. So a turn that is half done is neither left by longjmp nor goes on in the child
 * of a fork. If the record is dropped, `*why` gets the cause. `*waited_ns` is as in take_chunk(), and
 * includes earlier tries. */
static __attribute__((noinline)) enum outcome turn(struct fxt_thread *thread, struct fxt_lane *lane,
						   size_t words, enum fxt_loss *why, uint64_t *waited_ns)
{
	const unsigned starts = atomic_load(&fxt_agent.starts);
	bool is_child = fxt_may_not_lock();
	struct fxt_chunk taken, *chunk = is_child ? &thread->vfork.chunk : &taken;
	enum outcome outcome;

	/* No lane is free: handlers are nested too deep, or too many emissions wait for their handlers. Or a
	 * handler has switched to this emission in another thread, which takes no chunk for this one. */
	*why = FXT_LOSS_SIGNALS;
	if (lane >= thread->lanes + FXT_LANES || fxt_has_moved(thread))
		return DROPPED;
	if (!is_child && FXT_UNLIKELY(thread->vfork.chunk.words != 0))
		fxt_lanes_after_vfork(thread);
	*why = FXT_LOSS_SIZE;
	if (words > MOST_WORDS)
		return DROPPED;
	*why = FXT_LOSS_ROOM;
	if (fxt_gate_is_lent() || (!thread->ready && !fxt_thread_ready(thread)))
		return DROPPED;
	/* Becoming ready may have turned this lane already, as it writes records; or this is a lower lane,
	 * which has room. */
	if (fxt_lane_has(lane, words) || keep_wanted(thread, lane, words))
		return TURNED;
	atomic_store_explicit(&lane->limit, 0, memory_order_relaxed);
	if (fxt_agent.config.mode != FXT_CIRCULAR) {
		give_back(thread, lane);
		/* A session of the manager before this one may have been circular. */
		fxt_lane_give_back_full(&thread->full[lane - thread->lanes]);
	}
	outcome = take_chunk(thread, lane, words, chunk, waited_ns);
	if (outcome != TURNED)
		return outcome;
	if (fxt_agent.config.mode == FXT_CIRCULAR)
		keep_full(thread, lane);
	fxt_lane_enter(lane, chunk, ++thread->serial);
	fxt_chunks_note(thread);
	put_head(thread, lane, *waited_ns);
	put_losses(thread, lane, words);
	/* Recording may have ended meanwhile, and begun again: fxt_threads_expire(). This record is written
	 * still. */
	atomic_thread_fence(memory_order_seq_cst);
	if (fxt_gate_is_lent() || atomic_load(&fxt_agent.starts) != starts)
		atomic_store_explicit(&lane->limit, 0, memory_order_relaxed);
	fxt_agent_overwritten(chunk, thread->last_ns);
	if (is_child)
		chunk->words = 0;
	fxt_sample_renewed(thread, thread->last_ns);
	/* This is not fxt_lane_has(), because another thread may want this chunk already; it gets the chunk
	 * after this record. A small chunk at the end of a file that was rewritten may be too short. */
	*why = FXT_LOSS_SIZE;
	return lane->at + words + FXT_LANE_SLACK_WORDS < lane->end ? TURNED : DROPPED;
}

/* Turns the lane. With FXT_ON_FULL=wait it waits for room that may come, and signals are delivered
 * meanwhile. */
static enum outcome turn_or_wait(struct fxt_thread *thread, struct fxt_lane *lane, size_t words,
				 enum fxt_loss *why)
{
	static const struct timespec pause = {0, CHILD_PAUSE_NS};
	uint64_t mask = 0, waited_ns = 0;
	enum outcome outcome;

	for (;;) {
		/* The two system calls take four times as long as the turn itself. */
		bool blocks = fxt_has_handlers();

		if (blocks)
			mask = fxt_sys_block_signals();
		outcome = turn(thread, lane, words, why, &waited_ns);
		if (blocks)
			fxt_sys_restore_signals(mask);
		if (outcome != MAY_PASS)
			return outcome;
		/* The child of a vfork may be killed while it sleeps, so it does not count itself. */
		if (fxt_may_not_lock())
			FXT_SYSCALL2(SYS_nanosleep, &pause, NULL);
		else
			fxt_storage_pause(fxt_agent.storage);
	}
}

/* Counts the record for which there was no room, unless recording is over: a manager may have wanted no
 * more. */
static void count_dropped(struct fxt_thread *thread, enum fxt_loss why)
{
	if (fxt_gate_is_lent())
		return;
	if (why == FXT_LOSS_ROOM && fxt_storage_failure(fxt_agent.storage) == -ESHUTDOWN) {
		fxt_parts_storage_ends(-ESHUTDOWN);
		return;
	}
	fxt_thread_dropped(thread, why);
}

/* The process leaves a manager that is gone within this time, unless the file system is slow. */
enum { LEAVE_TRIES = 10000, LEAVE_PAUSE_NS = 20 * 1000 };

/* Finds room for the record in the file that takes the place of a manager which is gone. One thread makes the
 * file, and the others wait for that. Returns DROPPED if there will be none. */
static enum outcome leave_and_turn(struct fxt_thread *thread, struct fxt_lane *lane, size_t words,
				   enum fxt_loss *why)
{
	static const struct timespec pause = {0, LEAVE_PAUSE_NS};
	enum outcome outcome = DROPPED;
	unsigned tries;

	for (tries = 0; tries < LEAVE_TRIES && outcome != TURNED && *why == FXT_LOSS_ROOM &&
			fxt_storage_failure(fxt_agent.storage) == -EPIPE && !fxt_may_not_lock() &&
			atomic_load_explicit(&fxt_gate.mask, memory_order_relaxed);
	     tries++) {
		if (tries)
			FXT_SYSCALL2(SYS_nanosleep, &pause, NULL);
		fxt_parts_storage_ends(-EPIPE);
		if (fxt_storage_failure(fxt_agent.storage) != -EPIPE)
			outcome = turn_or_wait(thread, lane, words, why);
	}
	return outcome;
}

/* Ends the emission without its record. Deferred work is done here too, because otherwise it would never be
 * done after nothing can be written any more. */
static void give_up(struct fxt_thread *thread, struct fxt_lane *lane, bool is_call)
{
	fxt_lane_lower(lane);
	if (FXT_UNLIKELY(fxt_has_moved(thread)))
		return;
	if (is_call && thread->commit & FXT_COMMIT_SHOWN)
		fxt_in_progress_settle(thread);
	if (is_call && thread->commit & FXT_COMMIT_DEFERRED)
		fxt_deferred_after(thread, thread->last_ns);
}

/* Does what fxt_lane_turn() does, for a record that may find room. */
static __attribute__((noinline)) bool find_room(struct fxt_thread *thread, struct fxt_lane *lane,
						size_t words, bool is_call)
{
	enum fxt_loss why;

	if (turn_or_wait(thread, lane, words, &why) == TURNED ||
	    (is_call && leave_and_turn(thread, lane, words, &why) == TURNED))
		return true;
	if (is_call)
		count_dropped(thread, why);
	give_up(thread, lane, is_call);
	return false;
}

/* The stack is asked about here, because what looks for room takes some hundred bytes of it itself. */
bool fxt_lane_turn(struct fxt_thread *thread, struct fxt_lane *lane, size_t words, bool is_call)
{
	if (lane != thread->lanes || thread->last_ns >= thread->no_room_before_ns ||
	    atomic_load_explicit(&lane->limit, memory_order_relaxed) || words > MOST_WORDS ||
	    FXT_UNLIKELY(fxt_has_moved(thread))) {
		if (fxt_lane_has(lane, words) || !fxt_stack_is_short())
			return find_room(thread, lane, words, is_call);
		if (is_call)
			fxt_agent_count_short(thread->last_ns);
	} else if (is_call && atomic_load_explicit(&fxt_gate.mask, memory_order_relaxed)) {
		fxt_thread_dropped_again(thread);
		fxt_loss_note(thread, true);
	}
	give_up(thread, lane, is_call);
	return false;
}
