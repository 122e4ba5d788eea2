/* Deferred work: what the agent has to do for a thread that takes microseconds, and that can wait. It renews
 * the line of the thread's clock (clock.h), reads the kernel's totals for explanations (explain.h), samples
 * counters (sample.h), tells the names that are owed (label_owed.h), and draws the arrow to a forked child
 * (parent_links.h).
 *
 * It is never done where it would be the program that waits for it: in a critical section, or between the two
 * readings of the clock that a call is recorded with. Whoever finds that there is some asks for it, which
 * sets a flag in the thread. The thread does it as soon as
 *
 *	a call of its own is over, and its record committed, filtered or dropped; or, on the slow path of an instrumented function, before
 *	that has begun;
 *	the thread is in no emission, holds no lock that is known (held_locks.h), and has a stack that is large enough;
 *	it is the thread itself, and not the child of a vfork that only looks like it.
 *
 * Until then the flag stays, and the thread's records take the way of those that need a look.
 */
#ifndef FXT_DEFERRED_H
#define FXT_DEFERRED_H

#include "agent/base/agent.h"

/* The thread has deferred work. Any context, also in the middle of a call or an emission. */
static inline void fxt_deferred_ask(struct fxt_thread *thread)
{
	thread->commit |= FXT_COMMIT_WATCHED | FXT_COMMIT_DEFERRED;
}

/* A call that ended at `end_ns` is over, and nothing of it is left to be written: does what there is to do.
 * If the thread has read the clock again since, that may be the start of another call, and the work waits:
 * entries that were left by longjmp are closed at the start of the call that finds them. It is not marked as
 * cold: then compilers would take all that a call's record is written with for cold, too. */
void fxt_deferred_after(struct fxt_thread *thread, uint64_t end_ns);

/* An instrumented function is about to begin, and is not on the quick way: does what there is to do, and what
 * its start would ask for. */
FXT_COLD void fxt_deferred_before(struct fxt_thread *thread);

#endif
