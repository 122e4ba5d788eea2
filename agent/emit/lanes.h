/* The lanes of a thread (writer/lane.h). A signal handler that interrupts an emission writes to the next
 * lane. lane.c gives lanes their chunks.
 */
#ifndef FXT_LANES_H
#define FXT_LANES_H

#include "agent/base/agent.h"
#include "clock.h"

/* Begins an emission in `lane`, so that a signal handler writes to the next one. A handler that comes between
 * the two stores leaves FXT_RAISED_BY_NOBODY behind, so this emission passes for alive as long as it
 * lasts. */
#define FXT_RAISED_BY_NOBODY UINTPTR_MAX
static FXT_EMISSION void fxt_lane_raise(struct fxt_thread *thread, struct fxt_lane *lane)
{
#if defined(__x86_64__)
	__asm__ volatile("mov %%rsp, %0" : "=m"(lane->raised_at));
#else
	uintptr_t here;

	__asm__ volatile("mov %0, sp" : "=r"(here));
	lane->raised_at = here;
#endif
	atomic_signal_fence(memory_order_seq_cst);
	thread->lane = lane->next;
	atomic_signal_fence(memory_order_seq_cst);
}

/* Ends the emission in `lane`. All its stores come before this. */
static FXT_EMISSION void fxt_lane_lower(struct fxt_thread *thread, struct fxt_lane *lane)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->lane = lane;
	atomic_signal_fence(memory_order_seq_cst);
	lane->raised_at = FXT_RAISED_BY_NOBODY;
}

/* Finds room for `words` words for the emission that raised `lane`. Returns that lane, with a new chunk, or a
 * lower lane if the emissions between were left by longjmp. Returns NULL if the record is dropped, which is
 * counted if `is_call`; the emission is over then. */
struct fxt_lane *fxt_lane_turn(struct fxt_thread *thread, struct fxt_lane *lane, size_t words, bool is_call);

/* Ends the emissions in the lanes from `lowest` up to `end`, which were left by longjmp or with their thread.
 * Returns how many of them left no record. */
unsigned fxt_lanes_left(struct fxt_lane *lowest, const struct fxt_lane *end);

/* Returns whether the thread was interrupted in the middle of an emission, or while an entry of a call in
 * progress was made or taken away. The rule for signals and fork is that code which stores to the storage
 * outside its locks does so only while this is true of its thread. */
bool fxt_is_interrupted(const struct fxt_thread *thread);

/* Called in the child of a fork: takes the chunks away from all lanes. If `returns`, emissions that were
 * interrupted go on, each in its lane, and stay raised. Otherwise they are over. */
void fxt_lanes_after_fork(struct fxt_thread *thread, bool returns);
/* Makes all lanes of the thread as they are at first: without chunks, and with no emission. */
void fxt_lanes_reset(struct fxt_thread *thread);

/* Gives back the chunk that a child of the thread's by vfork was taking when it was killed: `vfork.chunk` has
 * words then. The caller has blocked signals. */
void fxt_lanes_after_vfork(struct fxt_thread *thread);

/* Gives a chunk back to the storage: it has `events` events, and nothing is written to it any more. */
void fxt_chunk_finish(uint32_t number, uint32_t events, uint64_t last_ns);
/* Gives back the full chunk that the lane had before. Returns false if there is none. */
bool fxt_lane_give_back_full(struct fxt_full_chunk *full);

/* A thread that has recorded nothing for so long is idle: another may write on in its chunk. */
enum { FXT_IDLE_NS = 1000 * 1000 };

/* Takes the rest of a chunk from a thread that has recorded nothing since before_ns, if it has room for
 * `words` words and some more. Returns false if there is none, or if no lock may be taken here. The caller
 * has raised its lane and blocked signals. */
bool fxt_chunks_take_rest(struct fxt_thread *self, size_t words, uint64_t before_ns,
			  struct fxt_chunk *rest);
/* Gives back a full chunk that some thread of a ring has kept, one of those that were used longest ago.
 * Returns false if there is none. */
bool fxt_chunks_give_back_full(void);
/* Notes that the thread holds a chunk, so that the other two functions find it. */
void fxt_chunks_note(struct fxt_thread *thread);
/* Returns whether threads hold so many chunks that they should share them. */
bool fxt_chunks_are_plenty(void);

/* Returns whether a record of this lane would find no room, because the one before it found none. This is
 * known only while no handler interrupts the thread and its lane has no chunk. The record need only be
 * counted then. */
static inline bool fxt_has_no_room(const struct fxt_thread *thread, const struct fxt_lane *lane)
{
	return (thread->last_ns < thread->no_room_before_ns) & (lane == thread->lanes) &
	       !atomic_load_explicit(&lane->limit, memory_order_relaxed);
}

/* Returns the time at which a call ends that is being recorded. If there will never be room again and no
 * duration matters, the call is dropped whenever it ends. Then this is the thread's last time, because
 * reading the clock would cost most of what a dropped call costs. */
static FXT_EMISSION uint64_t fxt_now_at_end(struct fxt_thread *thread)
{
	if (FXT_UNLIKELY(thread->no_room_before_ns == FXT_NEVER) && !fxt_self_ending &&
	    fxt_has_no_room(thread, thread->lane))
		return thread->last_ns;
	return fxt_now(thread);
}

#endif
