/* See held_locks.h. This file has the functions that are used too rarely to be inlined: for locks that are
 * not given up in the reverse order, and for looking at another thread's locks. */
#include "held_locks.h"

#include "thread.h"

#include <string.h>

struct fxt_held_lock *fxt_held_lock_find(struct fxt_thread *thread, uintptr_t lock)
{
	struct fxt_held_lock *held;

	for (held = thread->held_top; held-- > thread->held;)
		if (held->lock == lock)
			return held;
	return NULL;
}

void fxt_held_lock_remove(struct fxt_thread *thread, uintptr_t lock)
{
	struct fxt_held_lock *held = fxt_held_lock_find(thread, lock);

	if (!held)
		return;
	memmove(held, held + 1, (size_t)((char *)thread->held_top - (char *)(held + 1)));
	thread->held_top--;
}

/* The owner may change the entry meanwhile, so its lock is compared again after the rest was read. */
bool fxt_held_lock_by(uint32_t tid, uintptr_t lock, struct fxt_held_lock *found)
{
	struct fxt_thread *thread = fxt_threads_find(tid);
	volatile struct fxt_held_lock *held;

	if (!thread)
		return false;
	for (held = thread->held; held < thread->held + FXT_HELD_LOCKS_MAX; held++) {
		if (held->lock != lock || held >= *(struct fxt_held_lock *volatile *)&thread->held_top)
			continue;
		found->lock = lock;
		found->since_ns = held->since_ns;
		found->place = held->place;
		if (held->lock == lock)
			return true;
	}
	return false;
}
