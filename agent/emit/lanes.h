/* A thread's lanes (writer/lane.h): a signal handler that interrupts an emission writes to the next one. lane.c gives them chunks.
 */
#ifndef FXT_LANES_H
#define FXT_LANES_H

#include "agent/base/agent.h"

/* An emission begins in `lane`: a signal handler writes to the next one. A handler that comes between the two
 * stores leaves FXT_RAISED_BY_NOBODY behind, so this one passes for alive as long as it lasts. */
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

/* It ends: all its stores come before this. */
static FXT_EMISSION void fxt_lane_lower(struct fxt_thread *thread, struct fxt_lane *lane)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->lane = lane;
	atomic_signal_fence(memory_order_seq_cst);
	lane->raised_at = FXT_RAISED_BY_NOBODY;
}

/* The lane with room for `words` in which the emission that raised `lane` goes on: that one with a new chunk,
 * or a lower one where the emissions in between were left by longjmp. NULL: it is dropped, counted if it is a
 * call of the program, and over. */
struct fxt_lane *fxt_lane_turn(struct fxt_thread *thread, struct fxt_lane *lane, size_t words, bool is_call);

/* The emissions in these lanes, up to `end`, were left by longjmp or with the thread. Returns how many of
 * them left no record. */
unsigned fxt_lanes_left(struct fxt_lane *lowest, const struct fxt_lane *end);

/* Whether the thread was interrupted in the middle of an emission, or of making or taking away an entry of a
 * call in progress. The rule for signals and fork: whatever stores to the storage outside its locks does so
 * while this is true of its thread. */
bool fxt_is_interrupted(const struct fxt_thread *thread);

/* In the child of a fork: no lane has a chunk. `returns`: emissions that were interrupted go on, each in its
 * lane, and their levels stay raised; otherwise there are none. */
void fxt_lanes_after_fork(struct fxt_thread *thread, bool returns);
void fxt_lanes_reset(struct fxt_thread *thread);

/* The chunk the lane has a hold on will not be written again: by its thread in a turn, or for it by
 * fxt_threads_give_back_idlest(). Does nothing when the hold is not the lane's any more. */
void fxt_lane_give_back(struct fxt_thread *thread, struct fxt_lane *lane, uint64_t hold);
/* The same of the full chunk before it. False: there is none. */
bool fxt_lane_give_back_full(struct fxt_full_chunk *full);

/* Of a ring whose chunks are all held: gives back a chunk of the thread that has recorded nothing for
 * longest, a full one if any thread has one. False: no thread's could be had. */
bool fxt_threads_give_back_idlest(struct fxt_thread *self);

/* Whether a record would be dropped for want of room, as one was before it: by a thread that no handler
 * interrupts, and whose lane has given its chunk back when it last asked for another. Then nothing is to be
 * done but to count it. */
static inline bool fxt_has_no_room(const struct fxt_thread *thread, const struct fxt_lane *lane)
{
	return thread->last_ns < thread->no_room_before_ns && lane == thread->lanes &&
	       !atomic_load_explicit(&lane->limit, memory_order_relaxed);
}

#endif
