/* See deferred.h. */
#include "deferred.h"

#include "clock.h"
#include "held_locks.h"
#include "agent/arrows/parent_links.h"
#include "agent/objects/label.h"
#include "sample.h"
#include "agent/base/stack.h"

enum { FLAGS = FXT_COMMIT_WATCHED | FXT_COMMIT_DEFERRED };

/* The conditions that take a system call come last, so none is made in a critical section. */
static bool is_moment(const struct fxt_thread *thread)
{
	return thread->lane == thread->lanes && !fxt_holds_lock(thread) && (uint32_t)fxt_sys_gettid() == thread->own_tid &&
	       !fxt_stack_is_short();
}

/* now_ns is close enough to tell what is due. No clock is read for that: what the program has next goes by
 * the end of its last call. */
static void run(struct fxt_thread *thread, uint64_t now_ns)
{
	/* Nothing of it could be done ever again. */
	if (fxt_is_forbidden(FXT_NO_LOCKS)) {
		thread->commit &= ~(unsigned)FLAGS;
		return;
	}
	if (!is_moment(thread))
		return;
	/* Before the work: what is asked for meanwhile comes after the next record. */
	thread->commit &= ~(unsigned)FLAGS;
	fxt_clock_renew_line(thread);
	fxt_birth_tell(thread);
	if (now_ns >= thread->explain_due_ns)
		fxt_explain_read(thread, fxt_now(thread));
	fxt_sample(thread, now_ns);
	fxt_labels_tell_owed(thread, now_ns - FXT_HELD_LONG_NS);
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
