/* Writes the events of functions: see function.h. */
#include "agent/base/stack.h"
#include "call_stack.h"
#include "explain.h"
#include "filtered.h"
#include "function.h"
#include "writer/fxt_encode.h"

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

/* Writes the string record of a name to the chunk that the event will stand in, in front of the event. The
 * caller has reserved room for both. */
static void define(struct fxt_lane *lane, const struct known *function)
{
	size_t words = fxt_words_of(function->bytes);
	uint64_t *at = fxt_lane_place(lane, 1 + words);

	at[words] = 0;
	memcpy(at + 1, function->name, function->bytes);
	fxt_lane_commit(lane, at, 1 + words,
			fxt_record_type(FXT_RECORD_STRING) | fxt_string_index(function->index) |
				fxt_string_bytes(function->bytes));
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
	struct fxt_lane *lane = thread->lane - 1;

	if (!at) {
		if (end_ns - start_ns < fxt_agent.config.threshold_ns[category])
			fxt_filtered_count(thread, fxt_function_at(address), end_ns - start_ns);
		return;
	}
	if (function.index && can_define(thread)) {
		names = function.names;
		if (thread->names.defined[function.index] != lane->serial) {
			define(lane, &function);
			thread->names.defined[function.index] = lane->serial;
		}
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

void fxt_function_end(struct fxt_thread *thread, uint64_t end_ns)
{
	struct fxt_in_progress *entry = thread->open - 1;
	uintptr_t address = entry->function;
	uint64_t start_ns = entry->start_ns;

	fxt_in_progress_empty(thread, entry);
	fxt_function_complete(thread, address, start_ns, end_ns);
}

bool fxt_function_drop(struct fxt_thread *thread, uint64_t end_ns)
{
	struct fxt_in_progress *entry = thread->open - 1;

	if (thread->deep_count || !fxt_has_no_room(thread, thread->lane))
		return false;
	end_ns = fxt_clock_step(thread, end_ns);
	if (!fxt_is_usual(thread, entry->start_ns, end_ns) || !fxt_drop(thread, entry))
		fxt_function_end(thread, end_ns);
	return true;
}
