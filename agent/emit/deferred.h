/* Deferred work is the agent's work for a thread that takes microseconds and can wait. It renews the line of
 * the thread's clock (clock.h), reads the kernel's totals for explanations (explain.h), samples counters
 * (sample.h), tells the names that are owed (label_owed.h), and draws the arrow to a forked child
 * (parent_links.h).
 *
 * It is never done where the program would wait for it: in a critical section, or between the two readings of
 * the clock that a call is recorded with. The code that finds such work to do asks for it, which sets a flag
 * in the thread. The thread does the work as soon as all of this is true:
 *
 *	a call of its own is over, and its record is committed, filtered or dropped; or an instrumented
 *	function is about to begin by its slow path;
 *	the thread is in no emission, holds no lock that is known (held_locks.h), and has enough stack;
 *	the code runs in the thread itself, and not in the child of a vfork, which has the thread's state.
 *
 * Until then the flag stays, and the thread's records take the slow path of watched records (watched.c).
 */
#ifndef FXT_DEFERRED_H
#define FXT_DEFERRED_H

#include "agent/base/agent.h"

/* Notes that the thread has deferred work. Any context, also in the middle of a call or an emission. */
static inline void fxt_deferred_ask(struct fxt_thread *thread)
{
	thread->commit |= FXT_COMMIT_WATCHED | FXT_COMMIT_DEFERRED;
}

/* Does the deferred work after a call that ended at `end_ns` and of which nothing is left to be written. If
 * the thread has read the clock again since, that may be the start of another call, and the work waits:
 * entries that were left by longjmp are closed at the start of the call that finds them. This function is not
 * marked as cold, because compilers would then take all code that writes a call's record for cold, too. */
void fxt_deferred_after(struct fxt_thread *thread, uint64_t end_ns);

/* Does the deferred work before an instrumented function begins that is not on the quick way. Reading the
 * clock here also asks for the work that the function's start would ask for. */
FXT_COLD void fxt_deferred_before(struct fxt_thread *thread);

#endif
