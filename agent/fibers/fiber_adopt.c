/* Gives fibers the functions that were entered before it was known that there are fibers: see fibers.h. The
 * quick way in (function.h) looks at no stack, so that programs without fibers need not pay for it. It takes
 * such a function for one that the thread's last function has called. The first function that the general way
 * sees on another stack, or on the thread's own stack behind such a function, leads here. */
#include "agent/base/stack.h"
#include "fibers.h"

enum {
	/* Entries whose frames are further apart are of different fibers. */
	APART_BYTES = 16384,
};

/* Returns whether this is the entry of a function that is on a fiber. A handler may have used the entry
 * before it was taken, so its frame is not known; such a function is taken for the thread's own. */
static bool is_foreign(struct fxt_thread *thread, const struct fxt_in_progress *entry)
{
	return entry >= fxt_in_progress_entries(thread) && fxt_in_progress_function(entry) &&
	       entry->frame != FXT_IN_PROGRESS_NOBODY && !fxt_on_own_stack(thread, entry->frame) &&
	       !fxt_fiber_is_none(thread, entry->frame);
}

/* Functions that have a hook at their entry alone are known by their address, which is their site, too. */
static enum fxt_fiber_hook hook_of(const struct fxt_in_progress *entry)
{
	if (entry->site != entry->function)
		return FXT_FIBER_EXIT_HOOK;
	return entry[-1].frame == entry->frame ? FXT_FIBER_TAIL_CALL : FXT_FIBER_RETURN_WORD;
}

/* Returns the fiber that the function of this entry is on. `last` is that of the entry below, or NULL. */
static struct fxt_fiber *fiber_of(struct fxt_thread *thread, const struct fxt_in_progress *entry,
				  struct fxt_fiber *last)
{
	struct fxt_fiber *fiber = fxt_fiber_above(thread, entry->frame);

	if (fiber && entry->frame >= fiber->low && (fiber->open > fiber->calls || fxt_fiber_claim(fiber)))
		return fiber;
	if (last && entry->frame < last->low && last->low - entry->frame < APART_BYTES)
		return last;
	return fxt_fiber_make(entry->frame, 0, thread->last_ns);
}

static FXT_COLD void adopt(struct fxt_thread *thread, struct fxt_in_progress *entry)
{
	struct fxt_in_progress *first = entry;
	struct fxt_fiber *fiber = NULL;
	struct fxt_fiber_call new;

	for (; entry < thread->open; entry++) {
		fiber = fiber_of(thread, entry, fiber);
		if (!fiber)
			break;
		fxt_fiber_know(thread, fiber);
		if (entry->frame < fiber->low)
			fiber->low = entry->frame;
		if (fiber->open == fiber->calls) {
			fiber->root_frame = entry->frame;
			fiber->root_site = entry->site;
		}
		new = (struct fxt_fiber_call){
			.frame = entry->frame, .function = entry->function, .site = entry->site,
			.call_site = entry->slot ? entry->slot[thread->slot_arg + 1] : 0,
			.start_ns = entry->start_ns, .names = entry->names,
			.mark = thread->filter_marks[entry - fxt_in_progress_entries(thread)],
			.hook = (uint8_t)hook_of(entry)};
		fxt_fiber_push(thread, fiber, &new);
		/* If it had no entries before, fiber_of() has claimed it. */
		if (fiber->open == fiber->calls + 1)
			fxt_fiber_release(fiber);
		fiber->last_ns = thread->last_ns;
	}
	while (thread->open > first)
		fxt_in_progress_empty(thread, thread->open - 1);
	if (fiber) {
		fiber->hidden = thread->filtered.hidden;
		fiber->deep_count = thread->deep_count;
	}
	thread->filtered.hidden = 0;
	fxt_in_progress_set_deep_count(thread, 0);
	thread->fiber = fiber;
}

void fxt_fiber_adopt(struct fxt_thread *thread)
{
	struct fxt_in_progress *entry = thread->open - 1;
	uint64_t mask;

	if (FXT_LIKELY(fxt_on_own_stack(thread, entry->frame)) || !is_foreign(thread, entry))
		return;
	fxt_functions_meet_fiber(thread);
	mask = fxt_sys_block_signals();
	for (entry = thread->open; is_foreign(thread, entry - 1); entry--)
		;
	if (entry < thread->open)
		adopt(thread, entry);
	fxt_sys_restore_signals(mask);
}
