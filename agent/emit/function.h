/* Instrumented functions: their names, and their events.
 *
 * A function's name is looked up once, when it is first entered, and gets a string index. The string record
 * is in the durable area, for the slots of calls in progress; and again in each chunk before the first event
 * there that refers to it, so that a copy of the file that was begun before the function was first called
 * holds what it needs. When the durable area is full or the indices are used up, names stand inline. Of
 * functions past the 131072nd the trace says that they are functions, and not which; of fewer, where address
 * space is limited.
 */
#ifndef FXT_FUNCTION_H
#define FXT_FUNCTION_H

#include "in_progress.h"

struct fxt_function {
	_Atomic uintptr_t address;      /* 0: free; stored last */
	const char *name;               /* UTF-8, not terminated */
	uint64_t names;                 /* as in an event's header; "function" for one that has no index */
	uint32_t bytes;
	uint32_t index;                 /* 0: inline */
};

/* A table by address, of a power of two of entries. Until a function is entered it has one, which is free:
 * most programs have none, and limits of address space count what is never touched. It becomes larger once,
 * `entries` first: so whoever reads `mask` first finds an entry. */
struct fxt_functions {
	_Atomic uintptr_t mask;         /* the number of entries less one */
	struct fxt_function *_Atomic entries;
};

extern struct fxt_functions fxt_functions __attribute__((visibility("hidden")));
/* For threads that have met no function yet: nothing is defined in any chunk of theirs. */
extern uint32_t fxt_functions_none_defined[FXT_STRING_MAX_INDEX + 1] __attribute__((visibility("hidden")));

/* Finds or makes the function at `address`; NULL when the table is full. May open files, any context. */
const struct fxt_function *fxt_function_find(uintptr_t address);

/* Finishes a function whose entry has been popped, when it is not the common case. */
void fxt_function_complete(struct fxt_thread *thread, uintptr_t address, uint64_t start_ns, uint64_t end_ns);

/* The name behind a string index; NULL: no function has it. */
const char *fxt_function_name_of(uint32_t index, size_t *bytes);

/* Category and name for an event's header. */
uint64_t fxt_function_names(uintptr_t address);

/* Once, at start. */
void fxt_functions_start(void);

/* In the child of a fork: no string of ours is in its file yet. */
void fxt_functions_after_fork(void);

/* Functions begin 16 bytes apart at least: those of one file of 4 MiB have a slot each. */
static inline size_t fxt_function_slot(uintptr_t address)
{
	return address / 16;
}

/* The entry of a slot, of which there are more than entries. */
static inline struct fxt_function *fxt_function_entry(size_t slot)
{
	size_t at = slot & atomic_load_explicit(&fxt_functions.mask, memory_order_acquire);

	return atomic_load_explicit(&fxt_functions.entries, memory_order_relaxed) + at;
}

/* Where it is looked for first. */
static inline const struct fxt_function *fxt_function_first(uintptr_t address)
{
	return fxt_function_entry(fxt_function_slot(address));
}

/* Whether it is the one at `address`. Compilers do not compare with an atomic where it is: they load it
 * first. */
static inline bool fxt_function_is(const struct fxt_function *function, uintptr_t address)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	bool same;

	__asm__ volatile("cmp %2, %1" : "=@cce"(same) : "m"(function->address), "r"(address) : "memory");
	return same;
#else
	return atomic_load_explicit(&function->address, memory_order_acquire) == address;
#endif
}

static inline const struct fxt_function *fxt_function_at(uintptr_t address)
{
	const struct fxt_function *function = fxt_function_first(address);

	if (FXT_LIKELY(fxt_function_is(function, address)))
		return function;
	return fxt_function_find(address);
}

/* Category and name for an event's header. A handler may fork at any instruction: then its name is gone in
 * the child, whose trace has none yet, and it is a function all the same. */
static inline uint64_t fxt_function_names_in(const struct fxt_function *function)
{
	return function->names | fxt_event_category(FXT_STR_CATEGORIES + FXT_BIT_function);
}

/* What an event of a function says that the table has no room for, or no index. */
#define FXT_FUNCTION_UNNAMED fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_function, FXT_STR_function)

/* A function is entered: called by its instrumentation, `frame` being the hook's and `site` where it returns
 * to. */
void fxt_function_enter(struct fxt_thread *thread, uintptr_t frame, uintptr_t site, uintptr_t address,
			uintptr_t call_site);

/* And left. */
void fxt_function_exit(struct fxt_thread *thread, uintptr_t frame, uintptr_t address);

/* The function entered last has ended, and its event needs a look: fxt_is_usual(). */
void fxt_function_end(struct fxt_thread *thread, uint64_t end_ns);

/* The function entered last has ended by this reading of the clock, and is dropped at once where there is no
 * room. False, and nothing has changed: there may be some, or this is another case. */
FXT_COLD bool fxt_function_drop(struct fxt_thread *thread, uint64_t end_ns);

/* The same in the common case: false, and nothing has changed, when it is another. A function's entry and
 * exit cost as much as one call of anything else, so these are written out for what is known here: one sort
 * of event, no arguments, and calls that nest as they should. */
static inline bool fxt_function_enter_quick(struct fxt_thread *thread, uintptr_t frame, const uintptr_t *site, uintptr_t address,
					    uintptr_t call_site)
{
	const struct fxt_function *function = fxt_function_first(address);
	struct fxt_open *entry;
	uint64_t start_ns;

	if (FXT_UNLIKELY(!thread) || FXT_UNLIKELY(!fxt_function_is(function, address)))
		return false;
	entry = thread->open;
	if (FXT_UNLIKELY(!fxt_clock_quick(thread, &start_ns)))
		return false;
	if (FXT_UNLIKELY(!fxt_open_take(thread, entry, frame, fxt_arg_header(FXT_ARG_POINTER, 2, FXT_STR_call_site), call_site)))
		return false;
	entry->function = address;
	entry->site = *site;
	fxt_open_show(thread, entry, fxt_clock_step(thread, start_ns), fxt_function_names_in(function));
	return true;
}

static inline bool fxt_function_exit_quick(struct fxt_thread *thread, uintptr_t address)
{
	uint64_t end_ns, start_ns, names, *at;
	struct fxt_lane *lane;
	struct fxt_open *entry;

	if (FXT_UNLIKELY(!thread))
		return false;
	lane = thread->lane;
	entry = thread->open - 1;
	if (FXT_UNLIKELY(!fxt_clock_quick(thread, &end_ns)))
		return false;
	names = entry->names;
	if (FXT_UNLIKELY(entry->function != address))
		return false;
	if (FXT_UNLIKELY(thread->defined_quick[fxt_get_event_name(names)] != lane->serial))
		return fxt_function_drop(thread, end_ns);
	fxt_lane_raise(thread, lane);
	if (FXT_UNLIKELY(!fxt_lane_has(lane, FXT_FRAME_WORDS))) {
		fxt_lane_lower(thread, lane);
		return fxt_function_drop(thread, end_ns);
	}
	start_ns = entry->start_ns;
	end_ns = fxt_clock_step(thread, end_ns);
	if (!fxt_is_usual(thread, start_ns, end_ns)) {
		fxt_lane_lower(thread, lane);
		fxt_function_end(thread, end_ns);
		return true;
	}
	at = fxt_lane_place(lane, FXT_FRAME_WORDS - FXT_INLINE_WORDS);
	at[1] = start_ns;
	at[2] = end_ns;
	fxt_open_empty_with(thread, entry, fxt_filler(FXT_SLOT_WORDS));
	fxt_lane_commit(lane, at, FXT_FRAME_WORDS - FXT_INLINE_WORDS, fxt_complete_header(names, 0) | thread->event_thread);
	fxt_close_lane(thread, lane, 1);
	return true;
}

/* Of the global variable at `address`, used by the code at `place`: fxt_symbol_object_name(). */
const char *fxt_function_object_name(uintptr_t address, uintptr_t place, size_t *bytes, uint32_t *offset);

/* Libraries were unloaded, perhaps: fxt_symbols_unloaded(). False: none was. */
bool fxt_functions_unloaded(void);
/* Whether the address is in a file that is loaded, as far as that is known. */
bool fxt_function_is_mapped(uintptr_t address);

#endif
