/* The one kind of lock the writer and the agent have, for work that is done once a chunk or once a string,
 * never once an event. It is held with every signal blocked, but perhaps one (fxt_blocked_signals): a handler
 * can then not find its own thread holding it, and the holder can not be cancelled. Not held across fork by
 * the forking thread; a child starts with fxt_lock_reset().
 *
 * The child of a vfork runs in its parent's memory, and may be killed at any instruction: it takes none
 * (fxt_may_not_lock()).
 *
 * No lock nests in another (see docs/architecture.md for the list of those there are).
 */
#ifndef FXT_LOCK_H
#define FXT_LOCK_H

#include <stdatomic.h>

#include "checking.h"
#include "sys.h"

/* The process of which the calling thread is one, once it has called vfork: its child has the same storage
 * and another process id. 0. */
extern __thread uint32_t fxt_lender __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Whether no lock may be taken here: in the child of a vfork nobody would give it back if the child is
 * killed, and where signals cannot be blocked. Slow paths ask before they begin. Costs a system call after a
 * vfork only. */
static inline bool fxt_may_not_lock(void)
{
	return fxt_is_forbidden(FXT_NO_LOCKS) || (__builtin_expect(fxt_lender != 0, 0) && (uint32_t)fxt_sys_getpid() != fxt_lender);
}

struct fxt_lock {
	atomic_int taken;       /* 0 free, 1 taken, 2 taken and waited for */
};

enum { FXT_FUTEX_WAIT = 0 | 128, FXT_FUTEX_WAKE = 1 | 128 };    /* FUTEX_PRIVATE_FLAG */

/* Returns the signal mask to give back to fxt_unlock(). A waiter sleeps: one of a real-time policy that only
 * yielded would keep the holder from running. */
static inline uint64_t fxt_lock(struct fxt_lock *lock)
{
	uint64_t mask = fxt_sys_block_signals();
	int was = 0;

	FXT_CHECK((!fxt_lender || (uint32_t)fxt_sys_getpid() == fxt_lender), ==, true);
	if (atomic_compare_exchange_strong_explicit(&lock->taken, &was, 1, memory_order_acquire, memory_order_relaxed))
		return mask;
	while (atomic_exchange_explicit(&lock->taken, 2, memory_order_acquire))
		FXT_SYSCALL4(SYS_futex, &lock->taken, FXT_FUTEX_WAIT, 2, NULL);
	return mask;
}

/* False: somebody has it, or nobody may. */
static inline bool fxt_trylock(struct fxt_lock *lock, uint64_t *mask)
{
	int was = 0;

	if (atomic_load_explicit(&lock->taken, memory_order_relaxed) || fxt_may_not_lock())
		return false;
	*mask = fxt_sys_block_signals();
	if (atomic_compare_exchange_strong_explicit(&lock->taken, &was, 1, memory_order_acquire, memory_order_relaxed))
		return true;
	fxt_sys_restore_signals(*mask);
	return false;
}

static inline void fxt_unlock(struct fxt_lock *lock, uint64_t mask)
{
	if (atomic_exchange_explicit(&lock->taken, 0, memory_order_release) == 2)
		FXT_SYSCALL3(SYS_futex, &lock->taken, FXT_FUTEX_WAKE, 1);
	fxt_sys_restore_signals(mask);
}

static inline void fxt_lock_reset(struct fxt_lock *lock)
{
	atomic_store_explicit(&lock->taken, 0, memory_order_relaxed);
}

#endif
