/* This is the one kind of lock that the writer and the agent have. It protects work that is done once a
 * chunk or once a string, never once an event.
 *
 * A lock is held with all signals blocked that fxt_blocked_signals has (all but SIGBUS, once the agent
 * handles that). So no handler finds a lock held by its own thread, and the holder cannot be cancelled. The
 * forking thread holds no lock across a fork, and a child calls fxt_lock_reset() first.
 *
 * The child of a vfork runs in its parent's memory and may be killed at any instruction, so it takes no
 * lock (fxt_may_not_lock()).
 *
 * docs/locks.md lists all locks, and which are taken inside which.
 */
#ifndef FXT_LOCK_H
#define FXT_LOCK_H

#include <stdatomic.h>

#include "checking.h"
#include "sys.h"

/* This is the process that the calling thread belongs to, once the thread has called vfork; otherwise 0.
 * The child of a vfork has the same thread-local storage and another process id, which tells the two apart.
 */
extern __thread uint32_t fxt_lender __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Returns whether no lock may be taken here. That is so in the child of a vfork, because nobody would give
 * the lock back if the child is killed, and where signals cannot be blocked. Slow paths ask before they
 * begin. This costs a system call only after a vfork. */
static inline bool fxt_may_not_lock(void)
{
	return fxt_is_forbidden(FXT_NO_LOCKS) ||
	       (__builtin_expect(fxt_lender != 0, 0) && (uint32_t)fxt_sys_getpid() != fxt_lender);
}

struct fxt_lock {
	atomic_int taken;       /* 0: free; 1: taken; 2: taken, and somebody waits for it */
};

/* Waits for a lock that another thread has, and takes it. A waiter first looks for a moment whether the lock
 * becomes free: what it protects takes about a microsecond, and the kernel takes longer to wake a thread
 * where thousands of the program's sleep. Then it sleeps: if it only yielded, a waiter of a real-time policy
 * would keep the holder from running. */
void fxt_lock_wait(struct fxt_lock *lock);

/* Takes the lock. Returns the signal mask to give back to fxt_unlock(). */
static inline uint64_t fxt_lock(struct fxt_lock *lock)
{
	uint64_t mask = fxt_sys_block_signals();
	int was = 0;

	FXT_CHECK((!fxt_lender || (uint32_t)fxt_sys_getpid() == fxt_lender), ==, true);
	if (!atomic_compare_exchange_strong_explicit(&lock->taken, &was, 1, memory_order_acquire,
						     memory_order_relaxed))
		fxt_lock_wait(lock);
	return mask;
}

/* Takes the lock if nobody has it and this thread may. Otherwise returns false and leaves signals as they
 * were. */
static inline bool fxt_trylock(struct fxt_lock *lock, uint64_t *mask)
{
	int was = 0;

	if (atomic_load_explicit(&lock->taken, memory_order_relaxed) || fxt_may_not_lock())
		return false;
	*mask = fxt_sys_block_signals();
	if (atomic_compare_exchange_strong_explicit(&lock->taken, &was, 1, memory_order_acquire,
						    memory_order_relaxed))
		return true;
	fxt_sys_restore_signals(*mask);
	return false;
}

/* Gives the lock back, wakes a waiter if there is one, and restores the signal mask. */
static inline void fxt_unlock(struct fxt_lock *lock, uint64_t mask)
{
	if (atomic_exchange_explicit(&lock->taken, 0, memory_order_release) == 2)
		FXT_SYSCALL3(SYS_futex, &lock->taken, FXT_FUTEX_WAKE, 1);
	fxt_sys_restore_signals(mask);
}

/* Frees a lock in the child of a fork, whoever held it in the parent. */
static inline void fxt_lock_reset(struct fxt_lock *lock)
{
	atomic_store_explicit(&lock->taken, 0, memory_order_relaxed);
}

#endif
