/* The locks a thread holds, the newest last: since when, and where it took them. Written by the thread, read
 * by others that wait for one of them, who may find it changing and then say nothing.
 */
#ifndef FXT_HELD_H
#define FXT_HELD_H

#include "agent/base/agent.h"

/* A lock that has been held for so long is taken for one that is held for life, and holds up no deferred work
 * any more. Whoever waits for it has waited ten times as long as the clock's line is good for, and the 100
 * microseconds that deferred work takes at most are a thousandth of that. */
enum { FXT_HELD_LONG_NS = 100 * 1000 * 1000 };

/* Whether the thread was in a critical section when it last read the clock, as far as is known. The newest
 * lock decides: those below it have been held for longer. */
static inline bool fxt_holds_lock(const struct fxt_thread *thread)
{
	const struct fxt_held *held = thread->held_top;

	return held > thread->held && thread->last_ns - held[-1].since_ns < FXT_HELD_LONG_NS;
}

/* The thread has got `lock`. With more than FXT_HELD_MAX at once, the newest are not known. */
static inline void fxt_held_push(struct fxt_thread *thread, uintptr_t lock, uint64_t since_ns, uintptr_t place)
{
	struct fxt_held *held = thread->held_top;

	if (FXT_UNLIKELY(held == thread->held + FXT_HELD_MAX))
		return;
	held->lock = lock;
	held->since_ns = since_ns;
	held->place = place;
	atomic_signal_fence(memory_order_seq_cst);
	thread->held_top = held + 1;
}

/* Not the newest one. */
void fxt_held_remove(struct fxt_thread *thread, uintptr_t lock);

/* The thread has given `lock` up. */
static inline void fxt_held_pop(struct fxt_thread *thread, uintptr_t lock)
{
	struct fxt_held *held = thread->held_top;

	if (FXT_LIKELY(held > thread->held && held[-1].lock == lock))
		thread->held_top = held - 1;
	else
		fxt_held_remove(thread, lock);
}

/* The entry of a lock the thread holds, or NULL. */
struct fxt_held *fxt_held_find(struct fxt_thread *thread, uintptr_t lock);

/* What thread `tid` knows of a lock it holds. False: nothing. Any thread. */
bool fxt_held_by(uint32_t tid, uintptr_t lock, struct fxt_held *found);

#endif
