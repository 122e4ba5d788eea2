/* Enters and ends functions, and writes their events: see function.h. */
#include "agent/base/stack.h"
#include "call_stack.h"
#include "deferred.h"
#include "explain.h"
#include "filtered.h"
#include "function.h"
#include "threads.h"
#include "writer/fxt_encode.h"

/* Returns whether a function that is entered is too deep for an entry. It is dropped and counted then. */
static bool too_deep(struct fxt_thread *thread, uintptr_t frame, uintptr_t site, uintptr_t address)
{
	/* Some entries may have been left by longjmp. Then all functions that were too deep have been left,
	 * too. */
	fxt_in_progress_drop_stale(thread, frame, address, site, fxt_now(thread));
	if (thread->open < fxt_in_progress_entries(thread) + FXT_FUNCTION_DEPTH) {
		fxt_in_progress_set_deep_count(thread, 0);
		return false;
	}
	fxt_in_progress_set_deep_count(thread, thread->deep_count + 1);
	fxt_thread_dropped(thread, FXT_LOSS_DEPTH);
	return true;
}

/* Returns whether the function that ends was too deep for an entry. */
static bool was_too_deep(struct fxt_thread *thread, uintptr_t frame)
{
	/* A function may call its exit hook by a tail call. The hook's frame lies then where the entry hook
	 * of its caller had its own. So a frame that is equal counts as deeper. */
	if (frame > thread->open[-1].frame) {
		fxt_in_progress_set_deep_count(thread, 0);
		return false;
	}
	fxt_in_progress_set_deep_count(thread, thread->deep_count - 1);
	return true;
}

/* Closes the entries above that of this function, and returns that. Returns NULL if the function has none: it
 * was entered before recording began, or was too deep. */
static struct fxt_in_progress *unwind_to(struct fxt_thread *thread, uintptr_t frame, uintptr_t address)
{
	struct fxt_in_progress *entry, *found = NULL;

	/* The frames in between were left by longjmp or an exception. So was an entry of this function whose
	 * frame lies further in than the hook's, unless the hook is a tail call: then that entry is the one
	 * that ends. */
	for (entry = thread->open; entry > fxt_in_progress_entries(thread); entry--) {
		if (fxt_in_progress_function(entry - 1) != address)
			continue;
		if (!found || entry[-1].frame >= frame)
			found = entry - 1;
		if (entry[-1].frame >= frame)
			break;
	}
	if (found)
		fxt_in_progress_close_above(thread, found);
	return found;
}

void fxt_function_enter(struct fxt_thread *thread, uintptr_t frame, uintptr_t site, uintptr_t address,
			uintptr_t call_site)
{
	uint64_t names;

	fxt_in_progress_ready(thread);
	names = fxt_function_names(address);
	fxt_deferred_before(thread);
	if ((thread->deep_count || thread->open >= fxt_in_progress_entries(thread) + FXT_FUNCTION_DEPTH) &&
	    too_deep(thread, frame, site, address))
		return;
	fxt_in_progress_push(thread, frame, address, site, fxt_now(thread), names,
		      fxt_arg_header(FXT_ARG_POINTER, 2, FXT_STR_call_site), call_site);
}

void fxt_function_exit(struct fxt_thread *thread, uintptr_t frame, uintptr_t address)
{
	struct fxt_in_progress *entry = thread->open - 1;
	uint64_t start_ns;

	if (thread->deep_count && was_too_deep(thread, frame))
		return;
	if (entry < fxt_in_progress_entries(thread) || fxt_in_progress_function(entry) != address) {
		entry = unwind_to(thread, frame, address);
		if (!entry)
			return;
	}
	if (!fxt_self_ending && !fxt_in_progress_is_silent(entry) && fxt_drop(thread, entry))
		return;
	if (fxt_in_progress_is_silent(entry)) {
		fxt_in_progress_take_out(thread, entry);
		return;
	}
	start_ns = entry->start_ns;
	fxt_function_complete(thread, address, start_ns, fxt_end(thread, entry));
}

/* A copy of what an event says about a function. */
struct known {
	const char *name;               /* NULL: nothing is known */
	uint32_t bytes, index;
	uint64_t names;
};

/* Copies what is known of the function at `address`. Each part is read once, and the name first: a signal
 * handler may fork at any instruction, and in the child nothing is known any more. */
static struct known know(uintptr_t address)
{
	const volatile struct fxt_function *function = fxt_function_at(address);
	struct known known = {.name = function ? function->name : NULL};

	if (known.name) {
		known.bytes = function->bytes;
		known.index = function->index;
		known.names = function->names |
			      fxt_event_category(FXT_STR_CATEGORIES + fxt_function_category(address));
	}
	return known;
}

/* Writes the string record of a name to the chunk that the event will stand in, in front of the event, if the
 * chunk has it not yet. The caller has reserved room for both. */
static void define(struct fxt_thread *thread, struct fxt_lane *lane, const struct known *function)
{
	size_t words = fxt_words_of(function->bytes);
	uint64_t *at;

	if (thread->names.defined[function->index] == lane->serial)
		return;
	at = fxt_lane_place(lane, 1 + words);
	at[words] = 0;
	memcpy(at + 1, function->name, function->bytes);
	fxt_lane_commit(lane, at, 1 + words,
			fxt_record_type(FXT_RECORD_STRING) | fxt_string_index(function->index) |
				fxt_string_bytes(function->bytes));
	thread->names.defined[function->index] = lane->serial;
}

/* Returns whether the thread can note which names its chunks define. Maps the memory for that at the first
 * call. */
static bool can_define(struct fxt_thread *thread)
{
	if (thread->names.defined == fxt_functions_none_defined) {
		uint32_t *defined = fxt_sys_memory(FXT_DEFINED_BYTES);

		if (defined) {
			thread->names.defined = defined;
			fxt_in_progress_set_deep_count(thread, thread->deep_count);
		}
	}
	return thread->names.defined != fxt_functions_none_defined;
}

void fxt_function_complete(struct fxt_thread *thread, uintptr_t address, uint64_t start_ns, uint64_t end_ns)
{
	struct known function = know(address);
	size_t text = fxt_words_of(function.bytes);
	enum fxt_category_bit category = fxt_function_category(address);
	uint64_t names = FXT_FUNCTION_UNNAMED(address);
	/* A call that is not usual may be explained. */
	size_t explanation =
		fxt_is_usual(thread, start_ns, end_ns) ? 0 : FXT_EXPLAIN_WORDS + FXT_STACK_WORDS;
	/* One reservation is for the string record and the event behind it, each with its slack, so that both
	 * stand in one chunk. */
	uint64_t *at = fxt_room(thread, start_ns, end_ns, 1 + text + FXT_LANE_SLACK_WORDS + explanation,
				category);
	struct fxt_lane *lane = at ? fxt_lane_of(thread, at) : NULL;

	if (at && !lane) {
		fxt_thread_overtaken(thread, 1);
		return;
	}
	if (!at) {
		if (end_ns - start_ns < fxt_agent.config.threshold_ns[category])
			fxt_filtered_count(thread, fxt_function_at(address), end_ns - start_ns);
		return;
	}
	if (function.index && can_define(thread)) {
		names = function.names;
		define(thread, lane, &function);
		at = fxt_begin_record(thread, fxt_lane_place(lane, fxt_frame_words(thread) + explanation),
				      start_ns);
	} else if (function.name) {
		names = fxt_names_of(FXT_STR_CATEGORIES + category, fxt_inline_ref(function.bytes));
		at[text ? text - 1 : 0] = 0;
		memcpy(at, function.name, function.bytes);
		at += text;
	}
	fxt_complete(thread, at, end_ns, names, 0);
}

void fxt_function_complete_on(struct fxt_thread *thread, uint32_t track, uintptr_t address, uint64_t start_ns,
			      uint64_t end_ns)
{
	struct known function = know(address);
	size_t text = fxt_words_of(function.bytes);
	enum fxt_category_bit category = fxt_function_category(address);
	uint64_t names = FXT_FUNCTION_UNNAMED(address), *at;
	struct fxt_lane *lane;
	bool has_index = function.index && can_define(thread);

	if (end_ns - start_ns < fxt_agent.config.threshold_ns[category]) {
		fxt_thread_filtered(thread);
		fxt_filtered_count(thread, fxt_function_at(address), end_ns - start_ns);
		return;
	}
	lane = fxt_open_lane(thread, 1 + text + FXT_LANE_SLACK_WORDS + FXT_FRAME_WORDS, true);
	if (!lane)
		return;
	if (has_index) {
		names = function.names;
		define(thread, lane, &function);
		text = 0;
	} else if (function.name) {
		names = fxt_names_of(FXT_STR_CATEGORIES + category, fxt_inline_ref(function.bytes));
	}
	at = fxt_lane_place(lane, FXT_FRAME_WORDS + text);
	at[1] = start_ns;
	at[2] = thread->pid;
	at[3] = track;
	if (text) {
		at[3 + text] = 0;
		memcpy(at + 4, function.name, function.bytes);
	}
	at[4 + text] = end_ns;
	fxt_lane_commit(lane, at, FXT_FRAME_WORDS + text, fxt_complete_header(names, 0));
	fxt_close_lane(lane, 1);
	if (thread->commit & FXT_COMMIT_DEFERRED)
		fxt_deferred_after(thread, end_ns);
}

static bool is_last(struct fxt_thread *thread, const struct fxt_in_progress *entry, uintptr_t address)
{
	return entry >= fxt_in_progress_entries(thread) && fxt_in_progress_function(entry) == address;
}

bool fxt_function_end(struct fxt_thread *thread, uintptr_t address, uint64_t end_ns)
{
	struct fxt_in_progress *entry = thread->open - 1;
	uint64_t start_ns;

	if (!is_last(thread, entry, address))
		return false;
	start_ns = entry->start_ns;
	/* A handler has forked behind the reading of the clock, and this is the child, in whose trace the
	 * function begins at the fork. */
	if (FXT_UNLIKELY(end_ns < start_ns))
		end_ns = fxt_now(thread);
	fxt_in_progress_end_at(thread, entry, end_ns);
	fxt_function_complete(thread, address, start_ns, end_ns);
	return true;
}

bool fxt_function_drop(struct fxt_thread *thread, uintptr_t address, uint64_t end_ns)
{
	struct fxt_in_progress *entry = thread->open - 1;

	if (thread->deep_count || fxt_has_fibers() || !fxt_has_no_room(thread) ||
	    !is_last(thread, entry, address))
		return false;
	end_ns = fxt_clock_step(thread, end_ns);
	if (fxt_is_usual(thread, entry->start_ns, end_ns) && fxt_drop(thread, entry))
		return true;
	return fxt_function_end(thread, address, end_ns);
}

/* -- Fibers --------------------------------------------------------------------------------------- */

atomic_bool fxt_fibers_are_there;

void fxt_functions_meet_fiber(struct fxt_thread *thread)
{
	static atomic_bool is_known;
	uint64_t mask;
	uint32_t i;

	if (FXT_LIKELY(atomic_load_explicit(&is_known, memory_order_relaxed)))
		return;
	atomic_store(&fxt_fibers_are_there, true);
	fxt_functions_go_slowly(thread);
	if (fxt_may_not_lock() || fxt_is_forbidden(FXT_NO_LOCKS))
		return;
	mask = fxt_lock(&fxt_threads.lock);
	for (i = 0; i < fxt_threads.count; i++)
		if (fxt_threads.list[i])
			fxt_functions_go_slowly(fxt_threads.list[i]);
	fxt_unlock(&fxt_threads.lock, mask);
	atomic_store_explicit(&is_known, true, memory_order_relaxed);
}
