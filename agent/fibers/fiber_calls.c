/* The entries of the functions that are in progress on a fiber: see fibers.h. Any context. */
#include "fibers.h"

/* Returns the present time. It is later than all times that the fiber got before, also in another thread. */
uint64_t fxt_fiber_now(struct fxt_thread *thread, struct fxt_fiber *fiber)
{
	uint64_t ns = fxt_now(thread);

	if (FXT_UNLIKELY(ns <= fiber->last_ns)) {
		ns = fiber->last_ns + 1;
		thread->last_ns = ns;
	}
	fiber->last_ns = ns;
	return ns;
}

/* Takes the last entry away. It loses its names first: a handler that comes then uses the next entry. */
static void empty(struct fxt_thread *thread, struct fxt_fiber *fiber, struct fxt_fiber_call *call)
{
	call->names = 0;
	fxt_fiber_hide(thread, fiber, call);
	atomic_signal_fence(memory_order_seq_cst);
	fiber->open = call;
}

/* Closes the last entry, whose function was left at end_ns without an end that was seen. */
static void close_call(struct fxt_thread *thread, struct fxt_fiber *fiber, uint64_t end_ns)
{
	struct fxt_fiber_call *call = fiber->open - 1, was = *call;
	uint64_t stopped_ns = atomic_load_explicit(&fxt_agent.stopped_ns, memory_order_relaxed);
	uint64_t lasted_ns = fiber->lasted_ns > stopped_ns ? fiber->lasted_ns : stopped_ns;

	empty(thread, fiber, call);
	if (!was.names || was.names == FXT_IN_PROGRESS_SILENT)
		return;
	if (end_ns < was.start_ns)
		end_ns = was.start_ns;
	/* As on a thread's own stack: close_entry() of in_progress.c. */
	if (was.start_ns <= stopped_ns && lasted_ns < end_ns)
		end_ns = lasted_ns;
	fxt_function_complete_on(thread, fiber->koid, was.function, was.start_ns, end_ns);
}

void fxt_fiber_close_above(struct fxt_thread *thread, struct fxt_fiber *fiber,
			   const struct fxt_fiber_call *call, uint64_t end_ns)
{
	while (fiber->open > call + 1)
		close_call(thread, fiber, end_ns);
}

void fxt_fiber_close_all(struct fxt_thread *thread, struct fxt_fiber *fiber, uint64_t end_ns)
{
	fiber->deep_count = fiber->hidden = 0;
	fxt_fiber_close_above(thread, fiber, fiber->calls - 1, end_ns);
}

/* Closes the entries that cannot be alive because a function with this frame is entered from this site. */
void fxt_fiber_drop_stale(struct fxt_thread *thread, struct fxt_fiber *fiber, uintptr_t frame, uintptr_t site,
		       enum fxt_fiber_hook hook, uint64_t end_ns)
{
	struct fxt_fiber_call *call, *first = NULL;

	for (call = fiber->open; call > fiber->calls && call[-1].frame <= frame; call--)
		/* Functions that are inlined share their frame, and so do those that end by a tail call. But
		 * none is entered twice from one site. */
		if (call[-1].frame < frame || call[-1].site == site || hook == FXT_FIBER_RETURN_WORD)
			first = call - 1;
	if (!first)
		return;
	fiber->deep_count = fiber->hidden = 0;
	fxt_fiber_close_above(thread, fiber, first - 1, end_ns);
}

bool fxt_fiber_push(struct fxt_thread *thread, struct fxt_fiber *fiber, const struct fxt_fiber_call *new)
{
	struct fxt_fiber_call *call = fiber->open;
	uint64_t names = new->names;

	if (call == fiber->calls + FXT_FUNCTION_DEPTH) {
		fiber->deep_count++;
		fxt_thread_dropped(thread, FXT_LOSS_DEPTH);
		return false;
	}
	fiber->deep_count = 0;
	call->names = 0;
	call->frame = new->frame;
	atomic_signal_fence(memory_order_seq_cst);
	/* The entry is taken before it is filled, so that a signal handler uses the next one. */
	fiber->open = call + 1;
	atomic_signal_fence(memory_order_seq_cst);
	call->frame = new->frame;
	call->function = new->function;
	call->site = new->site;
	call->call_site = new->call_site;
	call->mark = new->mark;
	call->hook = new->hook;
	fxt_fiber_give_slot(thread, fiber, call);
	call->start_ns = new->start_ns ? new->start_ns : fxt_fiber_now(thread, fiber);
	atomic_signal_fence(memory_order_seq_cst);
	call->names = names;
	if (!fxt_fiber_is_silent(call))
		fxt_fiber_show(thread, fiber, call);
	return true;
}

/* Ends the function of the last entry. */
void fxt_fiber_end_last(struct fxt_thread *thread, struct fxt_fiber *fiber)
{
	struct fxt_fiber_call *call = fiber->open - 1, was = *call;
	uint64_t end_ns = fxt_fiber_now(thread, fiber);

	if (was.start_ns <= atomic_load_explicit(&fxt_agent.stopped_ns, memory_order_relaxed))
		fiber->lasted_ns = end_ns;
	empty(thread, fiber, call);
	if (was.names && was.names != FXT_IN_PROGRESS_SILENT)
		fxt_function_complete_on(thread, fiber->koid, was.function, was.start_ns, end_ns);
}
