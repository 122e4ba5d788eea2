/* See deferred.h. The parts that have deferred work are in the table of agent/base/parts.h. */
#include "deferred.h"

#include "agent/base/parts.h"
#include "agent/base/stack.h"
#include "clock.h"
#include "held_locks.h"

enum { FLAGS = FXT_COMMIT_WATCHED | FXT_COMMIT_DEFERRED };

/* Returns whether the thread may do its deferred work now. The condition that takes a system call comes after
 * the one about locks, so that none is made in a critical section. */
static bool is_moment(const struct fxt_thread *thread)
{
	return !thread->lanes->raised_at && !fxt_holds_lock(thread) &&
	       (uint32_t)fxt_sys_gettid() == thread->own_tid && !fxt_stack_is_short();
}

/* Does the work that is due at now_ns. The clock is not read for that: the end of the last call, or the start
 * of the next one, is close enough. */
static void run(struct fxt_thread *thread, uint64_t now_ns)
{
	/* The process may take no locks any more, so none of the work can be done ever again. */
	if (fxt_is_forbidden(FXT_NO_LOCKS)) {
		thread->commit &= ~(unsigned)FLAGS;
		return;
	}
	if (!is_moment(thread))
		return;
	/* The flags are cleared before the work is done: work that is asked for meanwhile is done after the
	 * next record. */
	thread->commit &= ~(unsigned)FLAGS;
	fxt_parts_deferred(thread, now_ns);
}

void fxt_deferred_after(struct fxt_thread *thread, uint64_t end_ns)
{
	if (thread->commit & FXT_COMMIT_DEFERRED && end_ns == thread->last_ns)
		run(thread, end_ns);
}

void fxt_deferred_before(struct fxt_thread *thread)
{
	uint64_t ns;

	if (!fxt_clock_quick(thread, &ns))
		ns = fxt_clock_from_kernel(thread);
	if (thread->commit & FXT_COMMIT_DEFERRED)
		run(thread, ns);
}
