/* Instrumented functions that are left out, by FXT_FILTER, FXT_DEPTH or the threshold of their category, and
 * how often: docs/functions.md. The hooks in interpose/threads/cyg_profile.c call this instead of function.h
 * if functions are filtered, in any context, and unless the quick way has recorded the call.
 *
 * The verdict on a function (agent/names/function_filter.h) stands in its entry of the table. Where rules are
 * about all that a function calls, or where a depth is set, the entries of calls in progress say the rest:
 * each has a mark. Below a function whose mark ends recording, functions have no entries. They are counted
 * while they last (`hidden`), as functions are that nest too deep for an entry.
 */
#ifndef FXT_FILTERED_H
#define FXT_FILTERED_H

#include "function.h"

/* Enters a function: see fxt_function_enter(). */
void fxt_filtered_enter(struct fxt_thread *thread, uintptr_t frame, uintptr_t site, uintptr_t address,
			uintptr_t call_site);

/* Ends a function: see fxt_function_exit(). */
void fxt_filtered_leave(struct fxt_thread *thread, uintptr_t frame, uintptr_t address);

/* Maps the memory for the counts of a function, and returns its count. Returns NULL if there is no memory. */
FXT_COLD struct fxt_filtered_count *fxt_filtered_make(struct fxt_thread *thread, unsigned number);

/* Counts, for one function, a call that is left out; `ns` is how long it took, or 0 if that is not known. A
 * function that is not in the table has no count of its own. */
static inline void fxt_filtered_count(struct fxt_thread *thread, const struct fxt_function *function,
				      uint64_t ns)
{
	struct fxt_filtered_count *count;
	unsigned number;

	if (FXT_UNLIKELY(!function))
		return;
	number = function->number;
	count = thread->filtered.counts[number / FXT_FILTERED_BLOCK % FXT_FILTERED_BLOCKS];
	if (FXT_LIKELY(count != NULL))
		count += number % FXT_FILTERED_BLOCK;
	else
		count = fxt_filtered_make(thread, number);
	if (FXT_UNLIKELY(!count))
		return;
	fxt_count_one(&count->calls);
	count->ns += ns;
}

/* Returns whether the function at `address` is left out, whatever it is called by, and `function`, an entry
 * of the table, is that function's. */
static inline bool fxt_filtered_is_left_out(const struct fxt_function *function, uintptr_t address)
{
	return fxt_function_is(function, ~address) && function->verdict == FXT_FILTER_LEAVE;
}

/* Enters a function that is left out, whatever it is called by, in the common case: counts the call.
 * `function` is an entry of the table, perhaps another function's. Returns false, with nothing changed, if
 * the function is not such a one, or the thread has no count of it yet. */
static inline bool fxt_filtered_quick(struct fxt_thread *thread, const struct fxt_function *function,
				      uintptr_t address)
{
	struct fxt_filtered_count *count;

	if (!fxt_filtered_is_left_out(function, address) || !thread->ready)
		return false;
	count = thread->filtered.counts[function->number / FXT_FILTERED_BLOCK % FXT_FILTERED_BLOCKS];
	if (FXT_UNLIKELY(!count) || FXT_UNLIKELY(!fxt_lane_raise_first(thread, FXT_LANE_CALL)))
		return false;
	fxt_count_one(&count[function->number % FXT_FILTERED_BLOCK].calls);
	fxt_count_one(thread->counts.filtered);
	fxt_lane_lower(thread->lanes);
	return true;
}

/* Marks of functions in progress: how many functions with entries lie below, the one that is marked included;
 * whether it is recorded with all that it calls, as it is itself or is called by such a function. */
enum { FXT_MARK_LEVEL = 0x3ff, FXT_MARK_IN_KEPT_TREE = 1 << 14 };

/* Counts a call that is left out; `function` may be NULL. */
void fxt_filtered_leave_out(struct fxt_thread *thread, const struct fxt_function *function);

/* Returns the verdict on a function, which is NULL if it is not in the table. */
enum fxt_filter_verdict fxt_filtered_verdict(const struct fxt_function *function);

/* Returns whether what a function is called by decides about it. */
bool fxt_filtered_is_nested(void);

/* Forgets all counts, because another trace begins. In the child of a fork it has one thread. */
void fxt_filtered_forget(void);

/* Writes to the thread's lane what is left out of each function so far: an instant for each of those that
 * were called most, and one for all others. Called before the trace ends or is copied. */
void fxt_filtered_tell(struct fxt_thread *thread);

#endif
