/* Functions that call a hook only when they are entered: see entry.h. Such a function is known by its return
 * word, the word of the stack that has the address it returns to. That word is the frame of its entry among
 * the calls in progress. */
#include "agent/emit/filtered.h"
#include "agent/fibers/fiber.h"
#include "agent/stacks/return_thunk.h"
#include "entry.h"

#if defined(__x86_64__)

static bool has_word(struct fxt_thread *thread, const struct fxt_in_progress *entry, uintptr_t return_word)
{
	return entry >= fxt_in_progress_entries(thread) && entry->frame == return_word &&
	       fxt_in_progress_function(entry);
}

/* Returns the last entry of a function with this return word, or NULL. */
static struct fxt_in_progress *last_with(struct fxt_thread *thread, uintptr_t return_word)
{
	struct fxt_in_progress *entry;

	for (entry = thread->open; entry > fxt_in_progress_entries(thread); entry--)
		if (has_word(thread, entry - 1, return_word))
			return entry - 1;
	return NULL;
}

/* Ends the functions that were left by longjmp or an exception before this one is entered. A return word that
 * has no thunk has been written to by another call than the function whose return word it was. */
static void drop_stale(struct fxt_thread *thread, uintptr_t return_word, uintptr_t address, bool is_tail)
{
	const struct fxt_in_progress *open = thread->open;

	if (return_word >= open[-1].frame)
		fxt_in_progress_drop_stale(thread, return_word, address, address, fxt_now(thread));
	while (!is_tail && has_word(thread, thread->open - 1, return_word))
		fxt_in_progress_close_last(thread);
	if (thread->open != open)
		thread->filtered.hidden = 0;
}

/* Says once why functions are not recorded. They are counted as if they were too deep. */
static void tell_full(void)
{
	static atomic_bool is_told;

	if (!atomic_exchange_explicit(&is_told, true, memory_order_relaxed))
		fxt_agent_unseen("functions with a hook at their entry alone, because they are called from "
				 "more places than there are return thunks");
}

void fxt_return_word_enter(struct fxt_thread *thread, uintptr_t *return_word, uintptr_t address)
{
	uintptr_t place = *return_word, frame = (uintptr_t)return_word, thunk;
	struct fxt_in_progress *entry;
	uint32_t hidden, deep;
	/* The tail call of a function that has a thunk returns to that thunk. */
	bool is_tail = fxt_is_return_thunk(place);

	thunk = is_tail ? place : fxt_return_thunk(place);
	if (!thunk) {
		tell_full();
		fxt_thread_dropped(thread, FXT_LOSS_DEPTH);
		return;
	}
	if (fxt_fiber_is_near(thread, frame)) {
		switch (fxt_fiber_enter(thread, frame, address, address, fxt_return_place(place),
					is_tail ? FXT_FIBER_TAIL_CALL : FXT_FIBER_RETURN_WORD)) {
		case FXT_FIBER_ENTERED: *return_word = thunk; return;
		case FXT_FIBER_LEFT_OUT: return;
		case FXT_FIBER_ELSEWHERE: break;
		}
	}
	drop_stale(thread, frame, address, is_tail);
	entry = thread->open;
	hidden = thread->filtered.hidden;
	deep = thread->deep_count;
	if (fxt_agent.config.filters_functions)
		fxt_filtered_enter(thread, frame, address, address, fxt_return_place(place));
	else
		fxt_function_enter(thread, frame, address, address, fxt_return_place(place));
	if (thread->open == entry + 1 && fxt_in_progress_function(entry) == address) {
		fxt_return_word_set(entry, return_word, thunk);
		return;
	}
	/* The function has no entry, and so its end is not seen. */
	thread->filtered.hidden = hidden;
	if (thread->deep_count != deep)
		fxt_in_progress_set_deep_count(thread, deep);
}

void fxt_return_word_leave(struct fxt_thread *thread, uintptr_t return_word)
{
	struct fxt_in_progress *entry;

	if (fxt_fiber_is_near(thread, return_word) && fxt_fiber_leave_word(thread, return_word))
		return;
	entry = last_with(thread, return_word);
	if (!entry)
		return;
	/* Functions further in were left by longjmp or an exception. */
	if (thread->open - 1 != entry)
		fxt_in_progress_close_above(thread, entry);
	thread->filtered.hidden = 0;
	if (thread->deep_count)
		fxt_in_progress_set_deep_count(thread, 0);
	for (; entry; entry = last_with(thread, return_word))
		fxt_function_exit(thread, return_word, entry->function);
}

#endif
