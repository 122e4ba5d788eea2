/* Enters and ends functions on fibers: see fiber.h. */
#include "fiber.h"

#include "agent/base/stack.h"
#include "agent/emit/deferred.h"
#include "agent/emit/filtered.h"
#include "agent/stacks/stack_walk.h"
#include "fibers.h"

enum {
	/* A frame that is so little below the last one is that of a function called from there, if the thread
	 * has run nothing else since. The stack of another fiber is further away. */
	NEAR_BYTES = 1024,
	/* This is the distance where nothing is in progress, or code without unwind rules lies between. */
	STEP_BYTES = 4096,
	/* Another thread claims a fiber for a moment only, or to give it away. */
	TRIES_MOST = 64,
};

/* Returns whether the fiber's last event was the thread's last, too: the thread has run nothing else
 * since that is known. */
static bool is_going_on(const struct fxt_thread *thread, const struct fxt_fiber *fiber)
{
	return thread->fiber == fiber && thread->last_ns == fiber->last_ns;
}

/* -- Which fiber ---------------------------------------------------------------------------------- */

/* Says whether the function with this frame was called, at any distance, by the one that the fiber's
 * last entry is of. */
static enum fxt_frame_reach is_called_by_last(const struct fxt_fiber *fiber)
{
	const struct fxt_fiber_call *call = fiber->open - 1;
	uintptr_t frame = call->frame;

	if (fxt_is_forbidden(FXT_NO_CALLS))
		return FXT_REACH_UNKNOWN;
	/* The word itself is the frame where the function has an entry hook alone. */
	if (call->hook != FXT_FIBER_EXIT_HOOK)
		frame -= sizeof(uintptr_t);
	return fxt_stack_reaches(__builtin_frame_address(0), frame, call->call_site);
}

/* Says whether the function lies on the fiber's stack, below all frames that were seen of it. */
static enum fxt_frame_reach is_same_stack(const struct fxt_fiber *fiber)
{
	if (fiber->open > fiber->calls)
		return is_called_by_last(fiber);
	if (fxt_is_forbidden(FXT_NO_CALLS))
		return FXT_REACH_UNKNOWN;
	return fxt_stack_goes_beyond(__builtin_frame_address(0), fiber->low);
}

/* Returns where the frame ends that is the first of a fiber, or 0. */
static uintptr_t end_of(uintptr_t frame, enum fxt_fiber_hook hook)
{
	if (hook != FXT_FIBER_EXIT_HOOK)
		return frame + sizeof(uintptr_t);
	return fxt_is_forbidden(FXT_NO_CALLS) ? 0 : fxt_stack_end_of(__builtin_frame_address(0), frame);
}

/* Returns whether a frame below all that were seen of a fiber is the fiber's, and not that of a new one whose
 * stack lies below. */
static bool is_deeper(const struct fxt_thread *thread, const struct fxt_fiber *fiber, uintptr_t frame)
{
	uintptr_t distance;

	distance = (fiber->open == fiber->calls ? fiber->low : fiber->open[-1].frame) - frame;
	if (distance < NEAR_BYTES && is_going_on(thread, fiber))
		return true;
	switch (is_same_stack(fiber)) {
	case FXT_REACH_YES: return true;
	case FXT_REACH_NOT: return false;
	case FXT_REACH_UNKNOWN: break;
	}
	return distance < STEP_BYTES;
}

/* Ends a fiber of which nothing lives any more: another one has its stack there. */
static FXT_COLD void bury(struct fxt_thread *thread, struct fxt_fiber *fiber)
{
	fxt_fiber_know(thread, fiber);
	fxt_fiber_close_all(thread, fiber, fiber->last_ns);
	fxt_fiber_retire(fiber);
}

/* Returns the fiber that runs, if the frame is below all that were seen of it, and buries those whose
 * stacks were there. */
static struct fxt_fiber *running_deeper(struct fxt_thread *thread, uintptr_t frame)
{
	struct fxt_fiber *fiber = thread->fiber, *other;

	if (!fiber || frame >= fiber->low || frame >= atomic_load(&fiber->high) ||
	    fiber->open == fiber->calls || !is_going_on(thread, fiber) || !is_deeper(thread, fiber, frame))
		return NULL;
	while ((other = fxt_fiber_above(thread, frame)) && other != fiber &&
	       atomic_load(&other->high) < atomic_load(&fiber->high)) {
		bury(thread, other);
		if (atomic_load(&other->high))
			break;
	}
	return fiber;
}

/* Closes what is left of functions on memory that another fiber has its stack on now, if that is so.
 * They ended when the fiber was last seen; that of which it went on meanwhile was left by a longjmp just
 * now. Returns the fiber that it is. */
static struct fxt_fiber *drop_dead(struct fxt_thread *thread, struct fxt_fiber *fiber, uintptr_t frame,
				   uintptr_t site, enum fxt_fiber_hook hook)
{
	bool goes_on = is_going_on(thread, fiber);
	uint64_t last_ns = fiber->last_ns;
	struct fxt_fiber *outer;

	if (goes_on || fiber->open > fiber->calls) {
		if (fiber->open > fiber->calls && fiber->open[-1].frame <= frame)
			fxt_fiber_drop_stale(thread, fiber, frame, site, hook,
				   goes_on ? fxt_fiber_now(thread, fiber) : last_ns);
		if (goes_on || fiber->open == fiber->calls || fiber->open[-1].frame <= frame ||
		    is_called_by_last(fiber) != FXT_REACH_NOT)
			return fiber;
		fxt_fiber_close_all(thread, fiber, last_ns);
	}
	/* The stack of the next fiber may reach down to here, and what was found be a part of that. */
	outer = fxt_fiber_above(thread, atomic_load(&fiber->high));
	if (outer && outer->open > outer->calls && is_called_by_last(outer) == FXT_REACH_YES) {
		fxt_fiber_retire(fiber);
		fxt_fiber_know(thread, outer);
		return outer;
	}
	return fiber;
}

/* Claims a fiber that was found, if it has no entries. Returns false if another thread gives it away. */
static bool claim(struct fxt_fiber *fiber, uintptr_t frame, bool *is_claimed)
{
	if (*is_claimed || fiber->open > fiber->calls)
		return true;
	*is_claimed = fxt_fiber_claim(fiber);
	if (*is_claimed && frame >= atomic_load(&fiber->high)) {
		fxt_fiber_release(fiber);
		*is_claimed = false;
	}
	return *is_claimed;
}

/* Returns the fiber on which a function is entered; *is_claimed says whether it was claimed. Returns NULL if
 * there is none; then *is_elsewhere says whether the function is on no fiber's stack, and *is_claimed whether
 * there is no room for another fiber. */
static struct fxt_fiber *find_fiber(struct fxt_thread *thread, uintptr_t frame, uintptr_t site,
				    enum fxt_fiber_hook hook, bool *is_elsewhere, bool *is_claimed)
{
	struct fxt_fiber *found;
	struct fxt_fiber *fiber = running_deeper(thread, frame);

	if (!fiber)
		fiber = fxt_fiber_above(thread, frame);
	if (!fiber || frame < fiber->low) {
		*is_elsewhere = fxt_fiber_is_none(thread, frame);
		if (*is_elsewhere)
			return NULL;
		if (fiber && !is_deeper(thread, fiber, frame))
			fiber = NULL;
		if (!fiber) {
			fiber = fxt_fiber_make(frame, end_of(frame, hook), fxt_now(thread));
			*is_claimed = true;
			if (!fiber)
				return NULL;
			fxt_fiber_know(thread, fiber);
			fxt_fiber_close_all(thread, fiber, fiber->last_ns);
			fiber->last_ns = thread->last_ns;
		}
	}
	if (!claim(fiber, frame, is_claimed))
		return NULL;
	fxt_fiber_know(thread, fiber);
	found = fiber;
	fiber = drop_dead(thread, fiber, frame, site, hook);
	if (fiber != found && *is_claimed) {
		fxt_fiber_release(found);
		*is_claimed = false;
	}
	if (!claim(fiber, frame, is_claimed))
		return NULL;
	if (frame < fiber->low)
		fiber->low = frame;
	/* Another fiber may have begun with a smaller frame on the same stack. */
	if (fiber->open == fiber->calls && (fiber->root_frame != frame || fiber->root_site != site)) {
		fiber->root_frame = frame;
		fiber->root_site = site;
		fxt_fiber_extend(fiber, end_of(frame, hook));
	}
	thread->fiber = fiber;
	return fiber;
}

/* -- Entry --------------------------------------------------------------------------------------- */

static bool is_last(const struct fxt_fiber_call *call)
{
	return fxt_fiber_is_silent(call) || (fxt_agent.config.function_depth &&
				   (call->mark & FXT_MARK_LEVEL) >= fxt_agent.config.function_depth);
}

/* Decides by the filter, and by the functions that this one is called by, what becomes of it: sets the
 * names and the mark of its entry. Returns false if it has none; it was counted. */
static bool is_kept(struct fxt_thread *thread, struct fxt_fiber *fiber, struct fxt_fiber_call *new)
{
	const struct fxt_function *function = fxt_function_find(new->function);
	enum fxt_filter_verdict verdict = fxt_filtered_verdict(function);
	const struct fxt_fiber_call *top = fxt_fiber_top(fiber);
	unsigned mark = top ? top->mark : 0;

	if (verdict == FXT_FILTER_LEAVE) {
		fxt_filtered_leave_out(thread, function);
		return false;
	}
	if (!fxt_filtered_is_nested())
		return true;
	if (top && is_last(top)) {
		if (verdict != FXT_FILTER_IN_TREE || mark & FXT_MARK_IN_KEPT_TREE || fxt_fiber_is_silent(top))
			fiber->hidden++;
		fxt_filtered_leave_out(thread, function);
		return false;
	}
	fiber->hidden = 0;
	if (verdict == FXT_FILTER_IN_TREE && !(mark & FXT_MARK_IN_KEPT_TREE)) {
		fxt_filtered_leave_out(thread, function);
		return false;
	}
	if (verdict == FXT_FILTER_LEAVE_TREE) {
		fxt_filtered_leave_out(thread, function);
		new->names = FXT_IN_PROGRESS_SILENT;
		new->mark = mark & FXT_MARK_LEVEL;
		return true;
	}
	new->mark = (uint16_t)(((mark & FXT_MARK_LEVEL) + 1) | (mark & FXT_MARK_IN_KEPT_TREE) |
			       (verdict == FXT_FILTER_KEEP_TREE ? FXT_MARK_IN_KEPT_TREE : 0));
	return true;
}

/* Says once why functions on fibers are not recorded. They are counted as if they were too deep. */
static FXT_COLD void tell_full(void)
{
	static atomic_bool is_told;

	if (!atomic_exchange_explicit(&is_told, true, memory_order_relaxed))
		fxt_agent_unseen("functions on some fibers, because there are more than 16384 at once, or no "
				 "memory");
}

/* Enters a function on a fiber. Signals are blocked if the fiber may have no entries yet. */
static __attribute__((noinline)) enum fxt_fiber_entry enter(struct fxt_thread *thread,
							    struct fxt_fiber_call *new)
{
	bool is_elsewhere = false, is_claimed = false, is_entered;
	struct fxt_fiber *fiber = NULL;
	unsigned tries;

	for (tries = 0; !fiber && !is_elsewhere && !is_claimed && tries < TRIES_MOST; tries++)
		fiber = find_fiber(thread, new->frame, new->site, (enum fxt_fiber_hook)new->hook,
				   &is_elsewhere, &is_claimed);
	if (is_elsewhere)
		return FXT_FIBER_ELSEWHERE;
	fxt_functions_meet_fiber(thread);
	if (!fiber) {
		tell_full();
		fxt_thread_dropped(thread, FXT_LOSS_DEPTH);
		return FXT_FIBER_LEFT_OUT;
	}
	new->names = fxt_function_names(new->function);
	is_entered = (!fxt_agent.config.filters_functions || is_kept(thread, fiber, new)) &&
		     fxt_fiber_push(thread, fiber, new);
	if (is_claimed)
		fxt_fiber_release(fiber);
	return is_entered ? FXT_FIBER_ENTERED : FXT_FIBER_LEFT_OUT;
}

enum fxt_fiber_entry fxt_fiber_enter(struct fxt_thread *thread, uintptr_t frame, uintptr_t site,
				     uintptr_t address, uintptr_t call_site, enum fxt_fiber_hook hook)
{
	struct fxt_fiber_call new = {.frame = frame, .function = address, .site = site,
				     .call_site = call_site, .hook = (uint8_t)hook};
	const struct fxt_fiber *fiber;
	enum fxt_fiber_entry result;
	uint64_t mask;

	fxt_in_progress_ready(thread);
	fxt_fiber_adopt(thread);
	if (fxt_on_own_stack(thread, frame))
		return FXT_FIBER_ELSEWHERE;
	fiber = thread->fiber;
	if (fiber && fiber->open > fiber->calls && frame < fiber->open[-1].frame && frame >= fiber->low &&
	    is_going_on(thread, fiber))
		return enter(thread, &new);
	mask = fxt_sys_block_signals();
	result = enter(thread, &new);
	fxt_sys_restore_signals(mask);
	return result;
}

/* -- The end -------------------------------------------------------------------------------------- */

/* Returns the fiber on which a function ends, or NULL if there is none. A function that has taken memory
 * of its stack may end further down than it began. */
static struct fxt_fiber *find_leaving(struct fxt_thread *thread, uintptr_t frame)
{
	struct fxt_fiber *fiber = fxt_fiber_above(thread, frame);

	if (fiber && frame < fiber->low &&
	    (fiber->open == fiber->calls || fxt_fiber_is_none(thread, frame) ||
	     (fiber->open[-1].frame - frame >= STEP_BYTES && is_called_by_last(fiber) != FXT_REACH_YES)))
		fiber = NULL;
	if (fiber) {
		fxt_fiber_know(thread, fiber);
		thread->fiber = fiber;
	}
	return fiber;
}

/* Returns whether the function that ends has no entry, because it was left out or was too deep. */
static bool has_no_entry(struct fxt_fiber *fiber, uintptr_t frame, uintptr_t address)
{
	const struct fxt_fiber_call *top = fxt_fiber_top(fiber);
	enum fxt_filter_verdict verdict;

	if (fxt_agent.config.filters_functions) {
		verdict = fxt_filtered_verdict(fxt_function_find(address));
		if (verdict == FXT_FILTER_LEAVE || !top ||
		    (verdict == FXT_FILTER_IN_TREE && !(top->mark & FXT_MARK_IN_KEPT_TREE) &&
		     !fxt_fiber_is_silent(top)))
			return true;
		/* A function may call its exit hook by a tail call. So a frame that is equal counts as
		 * deeper. */
		if (fiber->hidden && frame <= top->frame) {
			fiber->hidden--;
			return true;
		}
		fiber->hidden = 0;
	}
	if (fiber->deep_count && top && frame <= top->frame) {
		fiber->deep_count--;
		return true;
	}
	fiber->deep_count = 0;
	return false;
}

/* Returns the entry of the function that ends with this frame, or NULL: see unwind_to() of
 * function_call.c. */
static struct fxt_fiber_call *find_call(struct fxt_fiber *fiber, uintptr_t frame, uintptr_t address)
{
	struct fxt_fiber_call *call, *found = NULL;

	for (call = fiber->open; call > fiber->calls; call--) {
		if (call[-1].function != address || call[-1].hook != FXT_FIBER_EXIT_HOOK)
			continue;
		if (!found || call[-1].frame >= frame)
			found = call - 1;
		if (call[-1].frame >= frame)
			break;
	}
	return found;
}

bool fxt_fiber_leave(struct fxt_thread *thread, uintptr_t frame, uintptr_t address)
{
	struct fxt_fiber_call *call;
	struct fxt_fiber *fiber;

	fxt_in_progress_ready(thread);
	fxt_fiber_adopt(thread);
	if (fxt_on_own_stack(thread, frame))
		return false;
	fiber = find_leaving(thread, frame);
	if (!fiber)
		return !fxt_fiber_is_none(thread, frame);
	if (has_no_entry(fiber, frame, address))
		return true;
	call = fxt_fiber_top(fiber);
	if (!call || call->function != address || call->hook != FXT_FIBER_EXIT_HOOK)
		call = find_call(fiber, frame, address);
	if (!call)
		return true;
	if (call + 1 != fiber->open)
		fxt_fiber_close_above(thread, fiber, call, fxt_fiber_now(thread, fiber));
	fxt_fiber_end_last(thread, fiber);
	return true;
}

static bool has_word(const struct fxt_fiber_call *call, uintptr_t return_word)
{
	return call->hook != FXT_FIBER_EXIT_HOOK && call->frame == return_word;
}

bool fxt_fiber_leave_word(struct fxt_thread *thread, uintptr_t return_word)
{
	struct fxt_fiber_call *call;
	struct fxt_fiber *fiber;

	fxt_in_progress_ready(thread);
	fxt_fiber_adopt(thread);
	if (fxt_on_own_stack(thread, return_word))
		return false;
	fiber = find_leaving(thread, return_word);
	if (!fiber)
		return !fxt_fiber_is_none(thread, return_word);
	for (call = fiber->open; call > fiber->calls && !has_word(call - 1, return_word);)
		call--;
	if (call == fiber->calls)
		return true;
	fiber->hidden = fiber->deep_count = 0;
	/* Functions further in were left by longjmp or an exception. */
	if (call != fiber->open)
		fxt_fiber_close_above(thread, fiber, call - 1, fxt_fiber_now(thread, fiber));
	while (fiber->open > fiber->calls && has_word(fiber->open - 1, return_word))
		fxt_fiber_end_last(thread, fiber);
	return true;
}

void fxt_fibers_freed(struct fxt_thread *thread, const void *memory, size_t bytes, bool is_block)
{
	uintptr_t low = (uintptr_t)memory, high = low + bytes, here = (uintptr_t)__builtin_frame_address(0);
	struct fxt_fiber *fiber;

	/* The caller may give any size. A stack that the calling thread is on is not free yet. */
	if (high <= low || (here >= low && here < high))
		return;
	while ((fiber = fxt_fiber_within(low, high))) {
		if (!is_block && fxt_sys_can_read(atomic_load(&fiber->high) - 1))
			return;
		bury(thread, fiber);
		if (atomic_load(&fiber->high))
			return;
	}
}
