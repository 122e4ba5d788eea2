/* See flow.h. */
#include "flow.h"

#include "clock.h"

#define RELEASED FXT_FLOW_NAMES(pthread, released)
#define RESUMED FXT_FLOW_NAMES(pthread, resumed)
#define WAKES FXT_FLOW_NAMES(pthread, wakes)

bool fxt_flow_slice(struct fxt_thread *thread, uint64_t names, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t *at = fxt_reserve(thread, start_ns, 1);

	if (at)
		fxt_complete(thread, at, end_ns, names, 0);
	return at != NULL;
}

static void put(struct fxt_thread *thread, enum fxt_event_type type, uint64_t names, uint64_t at_ns, uint64_t flow)
{
	uint64_t *at = fxt_reserve(thread, at_ns, 1);

	if (!at)
		return;
	*at++ = flow;
	fxt_commit(thread, at, fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(type) | names);
}

void fxt_flow_begin(struct fxt_thread *thread, uint64_t names, uint64_t at_ns, uint64_t flow)
{
	put(thread, FXT_EVENT_FLOW_BEGIN, names, at_ns, flow);
}

void fxt_flow_end(struct fxt_thread *thread, uint64_t names, uint64_t at_ns, uint64_t flow)
{
	put(thread, FXT_EVENT_FLOW_END, names, at_ns, flow);
}

void fxt_flow_release(struct fxt_thread *thread, uintptr_t object, enum fxt_release how, struct fxt_cause cause)
{
	unsigned count, i;

	cause.at_ns = fxt_now(thread);
	cause.tid = thread->tid;
	count = fxt_wait_release(object, how, &cause);
	if (!count || !fxt_flow_slice(thread, RELEASED, cause.at_ns, fxt_now(thread)))
		return;
	for (i = 0; i < count; i++)
		fxt_flow_begin(thread, WAKES, cause.at_ns, cause.flow + i);
}

void fxt_wait_abandon(struct fxt_thread *thread)
{
	struct fxt_cause cause;

	if (thread->waits_for)
		fxt_wait_end(thread->waits_for, UINT64_MAX, &cause);
	thread->waits_for = 0;
}

void fxt_wait_enter(struct fxt_thread *thread, uintptr_t object, uintptr_t lock)
{
	fxt_wait_abandon(thread);
	if (fxt_wait_begin(object, lock))
		thread->waits_for = object;
}

bool fxt_wait_leave(struct fxt_thread *thread, uintptr_t object, uint64_t start_ns, struct fxt_cause *cause)
{
	/* A handler that waited for something meanwhile has ended this. */
	if (thread->waits_for != object)
		return false;
	thread->waits_for = 0;
	return fxt_wait_end(object, start_ns, cause);
}

void fxt_flow_resume(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, const struct fxt_cause *causes,
		     unsigned count)
{
	uint64_t from_ns = start_ns;
	unsigned i;

	for (i = 0; i < count; i++)
		if (causes[i].at_ns > from_ns)
			from_ns = causes[i].at_ns;
	/* Later than any slice that it is reached from, and than the call's own beginning. */
	if (!count || from_ns + 1 >= end_ns || !fxt_flow_slice(thread, RESUMED, from_ns + 1, end_ns))
		return;
	for (i = 0; i < count; i++)
		fxt_flow_end(thread, WAKES, end_ns, causes[i].flow);
}
