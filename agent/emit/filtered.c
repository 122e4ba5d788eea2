/* See filtered.h. */
#include "filtered.h"

#include "agent/base/stack.h"
#include "threads.h"
#include "writer/fxt_encode.h"

enum {
	LEVEL = FXT_MARK_LEVEL, IN_KEPT_TREE = FXT_MARK_IN_KEPT_TREE,
	BLOCK_BYTES = FXT_FILTERED_BLOCK * sizeof(struct fxt_filtered_count),
	MOST_TOLD = 512,                /* they take some 60 KiB of the trace */
	NAME_MAX_BYTES = 200,           /* longer names are cut, because the stack may be short */
};

static_assert((int)FXT_FUNCTION_DEPTH <= (int)LEVEL, "marks have room");

/* -- Counts ------------------------------------------------------------------------------------- */

struct fxt_filtered_count *fxt_filtered_make(struct fxt_thread *thread, unsigned number)
{
	struct fxt_filtered_count **place =
		&thread->filtered.counts[number / FXT_FILTERED_BLOCK % FXT_FILTERED_BLOCKS];
	uint64_t mask;

	if (fxt_is_forbidden(FXT_NO_CALLS) || fxt_stack_is_short())
		return NULL;
	mask = fxt_sys_block_signals();
	/* A handler may have come first. */
	if (!*place)
		*place = fxt_sys_memory(BLOCK_BYTES);
	fxt_sys_restore_signals(mask);
	return *place ? *place + number % FXT_FILTERED_BLOCK : NULL;
}

void fxt_filtered_forget(void)
{
	struct fxt_filtered_count *block;
	uint32_t i, n;

	for (i = 0; i < fxt_threads.count; i++)
		for (n = 0; n < FXT_FILTERED_BLOCKS; n++) {
			block = fxt_threads.list[i] ? fxt_threads.list[i]->filtered.counts[n] : NULL;
			if (block && fxt_sys_madvise(block, BLOCK_BYTES, MADV_DONTNEED))
				memset(block, 0, BLOCK_BYTES);
		}
}

void fxt_filtered_leave_out(struct fxt_thread *thread, const struct fxt_function *function)
{
	/* The count of all calls is in the thread's page. */
	if (FXT_UNLIKELY(!thread->ready) && fxt_agent_has_file())
		fxt_in_progress_ready(thread);
	fxt_filtered_count(thread, function, 0);
	fxt_thread_filtered(thread);
}

/* -- Entry and exit ----------------------------------------------------------------------------- */

static uint16_t *mark_of(struct fxt_thread *thread, const struct fxt_in_progress *entry)
{
	return &thread->filter_marks[entry - fxt_in_progress_entries(thread)];
}

/* Returns the entry of the function that was entered last and has one, or NULL. */
static struct fxt_in_progress *top_function(struct fxt_thread *thread)
{
	struct fxt_in_progress *entry;

	for (entry = thread->open; entry > fxt_in_progress_entries(thread); entry--)
		if (fxt_in_progress_function(entry - 1))
			return entry - 1;
	return NULL;
}

/* Returns whether nothing below the function of this entry is recorded. */
static bool is_last(struct fxt_thread *thread, const struct fxt_in_progress *entry)
{
	return fxt_in_progress_is_silent(entry) ||
	       (fxt_agent.config.function_depth &&
		(*mark_of(thread, entry) & LEVEL) >= fxt_agent.config.function_depth);
}

/* Returns whether a function that is recorded in a tree only is left out below this entry, and that alone. It
 * is not hidden then. */
static bool is_out_of_tree(struct fxt_thread *thread, const struct fxt_in_progress *entry)
{
	return !(*mark_of(thread, entry) & IN_KEPT_TREE) && !fxt_in_progress_is_silent(entry);
}

/* Returns whether a function that is entered with this frame, from this site, shows that the one of `entry`
 * was left without an end. Functions that are inlined share their frame, but none is entered twice from one
 * site. */
static bool may_be_stale(struct fxt_thread *thread, const struct fxt_in_progress *entry, uintptr_t frame,
			 uintptr_t site)
{
	if (frame > entry->frame)
		return true;
	for (; entry >= fxt_in_progress_entries(thread) && entry->frame == frame; entry--)
		if (entry->site == site && fxt_in_progress_function(entry))
			return true;
	return false;
}

enum fxt_filter_verdict fxt_filtered_verdict(const struct fxt_function *function)
{
	if (function)
		return (enum fxt_filter_verdict)function->verdict;
	/* The function is unknown, so it has no name that a rule could be about. */
	return fxt_filter_decide(&fxt_function_filter, "", 0, "");
}

/* Enters a function where the entries of others say whether it is recorded. */
static void enter_nested(struct fxt_thread *thread, uintptr_t frame, uintptr_t site, uintptr_t address,
			 uintptr_t call_site, const struct fxt_function *function,
			 enum fxt_filter_verdict verdict)
{
	struct fxt_in_progress *top = top_function(thread), *entry;
	unsigned mark = top ? *mark_of(thread, top) : 0, level;

	if (verdict == FXT_FILTER_IN_TREE && (!top || is_out_of_tree(thread, top))) {
		fxt_filtered_leave_out(thread, function);
		return;
	}
	if (top && may_be_stale(thread, top, frame, site)) {
		entry = thread->open;
		fxt_in_progress_drop_stale(thread, frame, address, site, fxt_now(thread));
		if (entry != thread->open)
			thread->filtered.hidden = 0;
		top = top_function(thread);
		mark = top ? *mark_of(thread, top) : 0;
	}
	if (top && is_last(thread, top)) {
		thread->filtered.hidden++;
		fxt_filtered_leave_out(thread, function);
		return;
	}
	thread->filtered.hidden = 0;
	level = mark & LEVEL;
	if (verdict == FXT_FILTER_LEAVE_TREE) {
		fxt_filtered_leave_out(thread, function);
		if (thread->open >= fxt_in_progress_entries(thread) + FXT_FUNCTION_DEPTH)
			return;
		entry = fxt_in_progress_push_silent(thread, frame, address, site);
		if (entry)
			*mark_of(thread, entry) = (uint16_t)level;
		return;
	}
	if (verdict == FXT_FILTER_IN_TREE && !(mark & IN_KEPT_TREE)) {
		fxt_filtered_leave_out(thread, function);
		return;
	}
	if (!function || !fxt_function_enter_known(thread, frame, &site, address, call_site, function,
						   fxt_function_category(address)))
		fxt_function_enter(thread, frame, site, address, call_site);
	entry = thread->open - 1;
	if (entry >= fxt_in_progress_entries(thread) && entry->frame == frame && entry->function == address)
		*mark_of(thread, entry) =
			(uint16_t)((level + 1) | (mark & IN_KEPT_TREE) |
				   (verdict == FXT_FILTER_KEEP_TREE ? IN_KEPT_TREE : 0));
}

bool fxt_filtered_is_nested(void)
{
	return fxt_function_filter.has_trees || fxt_agent.config.function_depth;
}

void fxt_filtered_enter(struct fxt_thread *thread, uintptr_t frame, uintptr_t site, uintptr_t address,
			uintptr_t call_site)
{
	const struct fxt_function *function = fxt_function_find(address);
	enum fxt_filter_verdict verdict = fxt_filtered_verdict(function);

	if (verdict == FXT_FILTER_LEAVE)
		fxt_filtered_leave_out(thread, function);
	else if (fxt_filtered_is_nested())
		enter_nested(thread, frame, site, address, call_site, function, verdict);
	else
		fxt_function_enter(thread, frame, site, address, call_site);
}

/* Returns whether the function that ends has no entry. */
static bool has_no_entry(struct fxt_thread *thread, uintptr_t frame, uintptr_t address)
{
	enum fxt_filter_verdict verdict = fxt_filtered_verdict(fxt_function_find(address));
	struct fxt_in_progress *top;

	if (verdict == FXT_FILTER_LEAVE)
		return true;
	if (!fxt_filtered_is_nested())
		return false;
	top = top_function(thread);
	if (!top || (verdict == FXT_FILTER_IN_TREE && is_out_of_tree(thread, top)))
		return true;
	/* A function may call its exit hook by a tail call. So a frame that is equal counts as deeper. */
	if (thread->filtered.hidden) {
		if (frame <= top->frame) {
			thread->filtered.hidden--;
			return true;
		}
		thread->filtered.hidden = 0;
	}
	return false;
}

void fxt_filtered_leave(struct fxt_thread *thread, uintptr_t frame, uintptr_t address)
{
	const struct fxt_in_progress *entry = thread->open - 1;

	if (!thread->filtered.hidden && entry->function == address && fxt_in_progress_function(entry)) {
		if (fxt_in_progress_is_silent(entry) || !fxt_self_ending ||
		    !fxt_function_exit_quick(thread, address))
			fxt_function_exit(thread, frame, address);
		return;
	}
	if (!has_no_entry(thread, frame, address))
		fxt_function_exit(thread, frame, address);
}

/* -- In the trace ------------------------------------------------------------------------------- */

/* Returns what all threads have left out of a function. They may go on counting meanwhile. */
static struct fxt_filtered_count sum(const struct fxt_function *function)
{
	struct fxt_filtered_count all = {0, 0};
	const struct fxt_filtered_count *block;
	uint32_t i;

	for (i = 0; i < fxt_threads.count; i++) {
		block = fxt_threads.list[i]
				? fxt_threads.list[i]->filtered.counts[function->number / FXT_FILTERED_BLOCK %
								      FXT_FILTERED_BLOCKS]
				: NULL;
		if (!block)
			continue;
		all.calls += ((const volatile struct fxt_filtered_count *)block)
				     [function->number % FXT_FILTERED_BLOCK].calls;
		all.ns += ((const volatile struct fxt_filtered_count *)block)
				  [function->number % FXT_FILTERED_BLOCK].ns;
	}
	return all;
}

static unsigned magnitude(uint64_t calls)
{
	return 63 - (unsigned)__builtin_clzll(calls);
}

static void tell(struct fxt_thread *thread, const char *name, size_t bytes, struct fxt_filtered_count all,
		 uint64_t functions)
{
	uint64_t record[24 + NAME_MAX_BYTES / FXT_WORD_BYTES];
	struct fxt_arg args[] = {
		{FXT_ARG_UINT64, FXT_INDEXED(FXT_STR_calls), .u64 = all.calls},
		{FXT_ARG_UINT64, FXT_INDEXED(FXT_STR_ns), .u64 = all.ns},
		{FXT_ARG_STRING, FXT_INDEXED(FXT_STR_function), .string = FXT_INLINE(name, bytes)},
	};
	size_t words;

	/* The instant about all others has their number in the place of a name. */
	if (functions)
		args[2] = (struct fxt_arg){FXT_ARG_UINT64, FXT_INDEXED(FXT_STR_functions), .u64 = functions};
	words = fxt_encode_event(record, sizeof(record) / sizeof(*record), FXT_EVENT_INSTANT, fxt_now(thread),
				 (struct fxt_thread_ref){thread->index, thread->pid, thread->tid},
				 FXT_INDEXED(FXT_STR_CATEGORIES + FXT_BIT_agent),
				 FXT_INDEXED(FXT_STR_left_out), (struct fxt_args){3, args}, 0);
	if (words)
		fxt_thread_put_extra(thread, record, words);
}

static size_t bytes_told(const struct fxt_function *function)
{
	size_t bytes = function->bytes;

	if (bytes <= NAME_MAX_BYTES)
		return bytes;
	for (bytes = NAME_MAX_BYTES; bytes && fxt_utf8_continues(function->name[bytes]); bytes--)
		;
	return bytes;
}

/* Returns the least magnitude of calls with which no more than MOST_TOLD functions are told of. */
static unsigned least_told(void)
{
	uint32_t of_magnitude[64] = {0}, functions = 0;
	const struct fxt_function *function;
	unsigned least = 64;
	size_t slot = 0;
	uint64_t calls;

	while ((function = fxt_function_next(&slot))) {
		calls = sum(function).calls;
		if (calls)
			of_magnitude[magnitude(calls)]++;
	}
	while (least && functions + of_magnitude[least - 1] <= MOST_TOLD)
		functions += of_magnitude[--least];
	return least;
}

void fxt_filtered_tell(struct fxt_thread *thread)
{
	struct fxt_filtered_count all, rest = {0, 0};
	const struct fxt_function *function;
	uint64_t rest_functions = 0;
	unsigned least;
	size_t slot = 0;

	if ((!fxt_agent.config.filters_functions && !fxt_agent.config.threshold_ns[FXT_BIT_function] &&
	     !fxt_agent.config.threshold_ns[FXT_BIT_plt]) ||
	    !thread->ready || fxt_stack_is_short())
		return;
	least = least_told();
	while ((function = fxt_function_next(&slot))) {
		all = sum(function);
		if (!all.calls)
			continue;
		if (magnitude(all.calls) >= least) {
			tell(thread, function->name, bytes_told(function), all, 0);
		} else {
			rest.calls += all.calls;
			rest.ns += all.ns;
			rest_functions++;
		}
	}
	if (rest_functions)
		tell(thread, "", 0, rest, rest_functions);
}
