/* Instrumented functions: their names, and their events.
 *
 * A function's name is looked up once, when it is first entered, and gets a string index. The string record is in the
 * durable area, for the slots of calls in progress; and again in each chunk before the first event there that
 * refers to it, so that a copy of the file that was begun before the function was first called holds what it needs.
 * When the durable area is full or the indices are used up, names stand inline.
 */
#ifndef FXT_FUNCTION_H
#define FXT_FUNCTION_H

#include "open.h"

struct fxt_function {
	_Atomic uintptr_t address;      /* 0: free; stored last */
	const char *name;               /* UTF-8, not terminated */
	uint32_t bytes;
	uint32_t index;                 /* 0: inline */
};

enum { FXT_FUNCTION_SLOTS = 1 << 16 };

extern struct fxt_function *fxt_functions __attribute__((visibility("hidden")));
/* For threads that have met no function yet: nothing is defined in any chunk of theirs. */
extern uint32_t fxt_functions_none_defined[FXT_STRING_MAX_INDEX + 1] __attribute__((visibility("hidden")));

/* Finds or makes the function at `address`; NULL when the table is full. May open files, any context. */
const struct fxt_function *fxt_function_find(uintptr_t address);

/* Finishes a function whose entry has been popped, when it is not the common case. */
void fxt_function_complete(struct fxt_thread *thread, uintptr_t address, uint64_t start_ns, uint64_t end_ns);

/* In the child of a fork: no string of ours is in its file yet. */
void fxt_functions_after_fork(void);

static inline size_t fxt_function_slot(uintptr_t address)
{
	return (size_t)((uint64_t)address * UINT64_C(0x9e3779b97f4a7c15) >> 48);
}

static inline const struct fxt_function *fxt_function_at(uintptr_t address)
{
	const struct fxt_function *function;

	if (FXT_LIKELY(fxt_functions != NULL)) {
		function = &fxt_functions[fxt_function_slot(address)];
		if (FXT_LIKELY(atomic_load_explicit(&function->address, memory_order_acquire) == address))
			return function;
	}
	return fxt_function_find(address);
}

/* Category and name for an event's header; the name of a function that has no index is "function" there. */
static inline uint64_t fxt_function_names(uintptr_t address)
{
	const struct fxt_function *function = fxt_function_at(address);

	return fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_function,
			    function && function->index ? function->index : FXT_STR_function);
}

/* Whether the function stays without an entry, dropped and counted; and whether the one that is left has none. */
bool fxt_function_too_deep(struct fxt_thread *thread, uintptr_t frame, uintptr_t site, uintptr_t address);
bool fxt_function_was_too_deep(struct fxt_thread *thread, uintptr_t frame);

/* A function is entered: called by its instrumentation, `frame` being the hook's and `site` where it returns to. */
static inline void fxt_function_enter(struct fxt_thread *thread, uintptr_t frame, uintptr_t site,
				      uintptr_t address, uintptr_t call_site)
{
	uint64_t names = fxt_function_names(address);

	if (FXT_UNLIKELY(thread->open >= thread->opens + FXT_FUNCTION_DEPTH || thread->deep_count) &&
	    fxt_function_too_deep(thread, frame, site, address))
		return;
	fxt_open_push(thread, frame, address, site, fxt_now(thread), names,
		      fxt_arg_header(FXT_ARG_POINTER, 2, FXT_STR_call_site), call_site);
}

/* Pops back to the entry of this function; false when there is none: it was entered before tracing, or too deep. */
bool fxt_function_unwind(struct fxt_thread *thread, uintptr_t frame, uintptr_t address);

static inline void fxt_function_exit(struct fxt_thread *thread, uintptr_t frame, uintptr_t address)
{
	struct fxt_open *entry = thread->open - 1;
	uint64_t start_ns, end_ns, names, *at;
	struct fxt_lane *lane;

	if (FXT_UNLIKELY(thread->deep_count) && fxt_function_was_too_deep(thread, frame))
		return;
	if (FXT_UNLIKELY(entry < thread->opens || entry->function != address)) {
		if (!fxt_function_unwind(thread, frame, address))
			return;
		entry = thread->open - 1;
	}
	start_ns = entry->start_ns;
	names = entry->names;
	end_ns = fxt_end(thread, entry);
	lane = thread->lane;
	if (FXT_UNLIKELY(thread->defined[fxt_get_event_name(names)] != lane->serial ||
			 !fxt_lane_has(lane, FXT_FRAME_WORDS + FXT_LINE_WORDS))) {
		fxt_function_complete(thread, address, start_ns, end_ns);
		return;
	}
	at = fxt_room(thread, start_ns, end_ns, 0);
	if (at)
		fxt_complete(thread, at, end_ns, names, 0);
}

#endif
