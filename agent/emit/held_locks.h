/* These functions keep the held locks of each thread, the newest last, with the time and the place of taking.
 * The thread writes them itself, from the wrappers of locks. A thread that waits for one of these locks reads
 * them; if it finds an entry changing, its arrow does not say since when the lock was held.
 */
#ifndef FXT_HELD_LOCKS_H
#define FXT_HELD_LOCKS_H

#include "agent/base/agent.h"

/* A lock that has been held for so long passes for one that is held for life, and deferred work no longer
 * waits for its release. A thread that waits for that lock has waited ten times as long as a line of the
 * clock lasts. The 100 microseconds that deferred work takes at most are a thousandth of that wait. */
enum { FXT_HELD_LONG_NS = 100 * 1000 * 1000 };

/* Returns whether the thread was in a critical section when it last read the clock, as far as its locks are
 * known. The newest lock decides, because the others have been held for longer. */
static inline bool fxt_holds_lock(const struct fxt_thread *thread)
{
	const struct fxt_held_lock *held = thread->held_top;

	return held > thread->held && thread->last_ns - held[-1].since_ns < FXT_HELD_LONG_NS;
}

/* Notes that the thread has got `lock`, by a call that returns to `place`. A thread that holds
 * FXT_HELD_LOCKS_MAX locks takes further ones without a note. */
static inline void fxt_held_lock_push(struct fxt_thread *thread, uintptr_t lock, uint64_t since_ns,
				 uintptr_t place)
{
	struct fxt_held_lock *held = thread->held_top;

	if (FXT_UNLIKELY(held == thread->held + FXT_HELD_LOCKS_MAX))
		return;
	held->lock = lock;
	held->since_ns = since_ns;
	held->place = place;
	atomic_signal_fence(memory_order_seq_cst);
	thread->held_top = held + 1;
}

/* Removes a lock that is not the newest one, if it is known. */
void fxt_held_lock_remove(struct fxt_thread *thread, uintptr_t lock);

/* Notes that the thread has given up `lock`. */
static inline void fxt_held_lock_pop(struct fxt_thread *thread, uintptr_t lock)
{
	struct fxt_held_lock *held = thread->held_top;

	if (FXT_LIKELY(held > thread->held && held[-1].lock == lock))
		thread->held_top = held - 1;
	else
		fxt_held_lock_remove(thread, lock);
}

/* Returns the entry of a lock that the thread holds, or NULL if it is not known. */
struct fxt_held_lock *fxt_held_lock_find(struct fxt_thread *thread, uintptr_t lock);

/* Copies to *found what thread `tid` has noted about `lock`. Returns false if it has noted nothing. Any
 * thread may call this. */
bool fxt_held_lock_by(uint32_t tid, uintptr_t lock, struct fxt_held_lock *found);

#endif
