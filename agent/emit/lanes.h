/* The lanes of a thread (writer/lane.h). Each emission takes a free lane and gives it back, and usually that
 * is the first one. So a signal handler that interrupts an emission writes to another lane. The handler need
 * not return in order: it may switch to a coroutine that was interrupted in an emission of its own, and the
 * first emission goes on much later. emit.c says which lanes are free, and lane.c gives them their chunks.
 */
#ifndef FXT_LANES_H
#define FXT_LANES_H

#include "agent/base/agent.h"
#include "clock.h"

/* Returns the state of the thread that this code runs in now. The compiler keeps the address of a thread's
 * variable over calls, and so would read that of another thread when a coroutine has gone on elsewhere. */
#if defined(__x86_64__)
static inline __attribute__((always_inline)) struct fxt_thread *fxt_self_now(void)
{
	struct fxt_thread *self;

	__asm__ volatile("mov fxt_self@gottpoff(%%rip), %0\n\tmov %%fs:(%0), %0" : "=r"(self));
	return self;
}
#else
static __attribute__((noipa, unused)) struct fxt_thread *fxt_self_now(void)
{
	return fxt_self;
}
#endif

/* Returns whether the code that has this state runs in another thread by now: it is a coroutine's, which was
 * switched away in the middle of a call, by a handler or by what the call has called. The thread whose state
 * it is goes on meanwhile, and no other may write there. */
static inline bool fxt_has_moved(const struct fxt_thread *thread)
{
	const struct fxt_thread *self = fxt_self_now();

	if (FXT_LIKELY(self == thread))
		return false;
	/* A thread that gets the state of one that is gone has none until it has put that in order. */
	return self || (thread->in_use && !thread->claimed && (uint32_t)fxt_sys_gettid() != thread->own_tid);
}

/* A lane that is taken has the stack pointer of its emission, and what that has it for as the lowest bit. So
 * it is never known without the other. */
static inline uintptr_t fxt_lane_frame(const struct fxt_lane *lane)
{
	return lane->raised_at & ~(uintptr_t)FXT_LANE_CALL;
}

/* Takes a lane for the emission whose stack pointer is `here`, if the lane is free. Handlers may come before
 * and behind the one instruction that does it, take the lane, and go on later or never. */
static FXT_EMISSION bool fxt_lane_take(struct fxt_lane *lane, uintptr_t here)
{
	uintptr_t free = 0;
	bool is_taken;

#if defined(__x86_64__)
	/* Other threads do not take lanes, so this need not be locked. */
	__asm__ volatile("cmpxchg %3, %1"
			 : "=@ccz"(is_taken), "+m"(lane->raised_at), "+a"(free)
			 : "r"(here)
			 : "memory");
#else
	/* Another thread may have ended an emission of this one: fxt_lane_lower(). */
	is_taken = __atomic_compare_exchange_n(&lane->raised_at, &free, here, false, __ATOMIC_ACQUIRE,
					       __ATOMIC_RELAXED);
#endif
	atomic_signal_fence(memory_order_seq_cst);
	return FXT_LIKELY(is_taken);
}

/* Takes another lane than the first, for the emission whose fxt_lane_here() is `here`. If none is free, or if
 * the emission is in another thread than `thread`, this is the fence, which never has room. */
FXT_COLD struct fxt_lane *fxt_lane_raise_another(struct fxt_thread *thread, uintptr_t here);

/* Returns the stack pointer, with the use of a lane as the lowest bit. */
static inline __attribute__((always_inline)) uintptr_t fxt_lane_here(enum fxt_lane_use use)
{
	uintptr_t here;

#if defined(__x86_64__)
	__asm__ volatile("mov %%rsp, %0" : "=r"(here));
#else
	__asm__ volatile("mov %0, sp" : "=r"(here));
#endif
	return here | use;
}

/* Begins an emission in the first lane. Returns false, with nothing changed, if that is not free. It uses
 * integer registers alone. */
static FXT_EMISSION bool fxt_lane_raise_first(struct fxt_thread *thread, enum fxt_lane_use use)
{
	return FXT_LIKELY(fxt_lane_take(thread->lanes, fxt_lane_here(use)));
}

/* Begins an emission. Returns its lane, which no other emission writes to until fxt_lane_lower(). */
static FXT_EMISSION struct fxt_lane *fxt_lane_raise(struct fxt_thread *thread, enum fxt_lane_use use)
{
	if (FXT_LIKELY(fxt_self_now() == thread) && fxt_lane_raise_first(thread, use))
		return thread->lanes;
	return fxt_lane_raise_another(thread, fxt_lane_here(use));
}

/* Ends the emission in `lane`. All its stores come before this, for other threads too: a coroutine that was
 * switched away in the middle of the emission may end it in one of them. */
static FXT_EMISSION void fxt_lane_lower(struct fxt_lane *lane)
{
	atomic_signal_fence(memory_order_seq_cst);
	__atomic_store_n(&lane->raised_at, 0, __ATOMIC_RELEASE);
}

/* Makes the emission in `lane`, which an inner function has begun, last as long as the caller of the present
 * function, which is not inlined. Records that are written on its way come from further down the stack. */
static inline __attribute__((always_inline)) void fxt_lane_goes_on(struct fxt_lane *lane)
{
	uintptr_t use = lane->raised_at & FXT_LANE_CALL;

	*(volatile uintptr_t *)&lane->raised_at =
		((uintptr_t)__builtin_frame_address(0) + 2 * sizeof(void *)) | use;
}

/* Returns whether `at` lies in what is left of the chunk that the lane holds. */
static FXT_EMISSION bool fxt_lane_reaches(const struct fxt_lane *lane, const uint64_t *at)
{
	return atomic_load_explicit(&lane->hold, memory_order_relaxed) &&
	       (uintptr_t)at - (uintptr_t)lane->at < (uintptr_t)lane->end - (uintptr_t)lane->at;
}

/* Does what fxt_lane_of() does, if the lane is not the first. */
FXT_COLD struct fxt_lane *fxt_lane_find(struct fxt_thread *thread, const uint64_t *at);

/* Returns the lane of the emission that has stored the words of a record up to `at`. Returns NULL if the lane
 * was taken from it, as if it had been left for good. */
static FXT_EMISSION struct fxt_lane *fxt_lane_of(struct fxt_thread *thread, const uint64_t *at)
{
	if (FXT_LIKELY(fxt_lane_reaches(thread->lanes, at)))
		return thread->lanes;
	return fxt_lane_find(thread, at);
}

/* Returns the lane that the thread's next emission takes, as far as that is known. */
static inline struct fxt_lane *fxt_lane_next(struct fxt_thread *thread)
{
	struct fxt_lane *lane = thread->lanes;

	while (lane < thread->lanes + FXT_LANES && lane->raised_at)
		lane++;
	return lane;
}

/* Finds room for `words` words for the emission in `lane`. Returns false if the record is dropped, which is
 * counted if `is_call`; the emission is over then. */
bool fxt_lane_turn(struct fxt_thread *thread, struct fxt_lane *lane, size_t words, bool is_call);

/* Ends all emissions of the thread, which were left with it. Returns how many calls left no record. */
unsigned fxt_lanes_left(struct fxt_thread *thread);

/* Writes the thread's record to every lane that goes on in a chunk of the state's last thread. The caller has
 * blocked signals. */
void fxt_lanes_put_thread(struct fxt_thread *thread);

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

/* Returns whether the thread's next record would find no room, because the one before it found none. This is
 * known only while no emission is interrupted and the first lane has no chunk. The record need only be
 * counted then. */
static inline bool fxt_has_no_room(const struct fxt_thread *thread)
{
	return (thread->last_ns < thread->no_room_before_ns) & !thread->lanes->raised_at &
	       !atomic_load_explicit(&thread->lanes->limit, memory_order_relaxed);
}

/* Returns the time at which a call ends that is being recorded. If there will never be room again and no
 * duration matters, the call is dropped whenever it ends. Then this is the thread's last time, because
 * reading the clock would cost most of what a dropped call costs. */
static FXT_EMISSION uint64_t fxt_now_at_end(struct fxt_thread *thread)
{
	if (FXT_UNLIKELY(thread->no_room_before_ns == FXT_NEVER) && !fxt_self_ending &&
	    fxt_has_no_room(thread))
		return thread->last_ns;
	return fxt_now(thread);
}

#endif
