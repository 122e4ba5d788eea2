/* Functions: their names and their events. The hooks of -finstrument-functions
 * (interpose/threads/cyg_profile.c) and those of interpose/functions/ call this in any context. See
 * docs/functions.md.
 *
 * A function's name is looked up once, when the function is first entered, and gets a string index. The
 * string record stands in the durable area, for the slots of calls in progress. It stands again in each chunk
 * before the first event there that refers to it; so a copy of the file that was begun before the function
 * was first called holds what it needs. When the durable area is full or the indices are used up, names stand
 * inline. Functions past the 131072nd (or fewer, where address space is limited) are recorded as "function",
 * without their names.
 */
#ifndef FXT_FUNCTION_H
#define FXT_FUNCTION_H

#include "agent/names/allocator_code.h"
#include "agent/names/function_filter.h"
#include "agent/names/plt_call.h"
#include "agent/names/symbols.h"
#include "in_progress.h"

struct fxt_function {
	/* 0: free; stored last. All bits are inverted if a call cannot be recorded without a look at the
	 * verdict, so the quick way does not find the function. */
	_Atomic uintptr_t address;
	const char *name;               /* UTF-8, not terminated */
	uint64_t names;                 /* category and name for a header; "function" if there is no index */
	uint16_t bytes;                 /* the length of the name */
	uint16_t index;                 /* the string's index; 0: the name stands inline */
	uint32_t number : 24;           /* the number of functions that were entered before it */
	uint32_t verdict : 8;           /* enum fxt_filter_verdict */
};

/* The table of functions by address. Its number of entries is a power of two. Until a function is entered it
 * has a single entry, which is free. It is small while it is used for the names of functions that make
 * objects, because limits of address space and of data also count memory that is never touched. When the
 * table becomes larger, its functions are copied, and the smaller table stays. `entries` is stored before
 * `mask` then, so a reader that loads `mask` first never looks behind the end of the table. */
struct fxt_functions {
	_Atomic uintptr_t mask;         /* the number of entries minus one */
	struct fxt_function *_Atomic entries;
};

extern struct fxt_functions fxt_functions __attribute__((visibility("hidden")));
/* A table of zeros. It is the `defined` of threads that have entered no function yet, in whose chunks no name
 * is defined. */
extern uint32_t fxt_functions_none_defined[FXT_STRING_MAX_INDEX + 1] __attribute__((visibility("hidden")));

/* Finds the function at `address` in the table, or enters it there. Returns NULL if the table is full, or if
 * the name cannot be looked up now: no lock may be taken, no call made, or the stack is short. It may open
 * files. May be called in any context. */
const struct fxt_function *fxt_function_find(uintptr_t address);

/* Does the same for a function that need not be found quickly: only its name is asked for. */
const struct fxt_function *fxt_function_find_named(uintptr_t address);

/* Does what fxt_function_find() does for a function that is never to be entered by the quick way. */
void fxt_function_find_slow(uintptr_t address);

/* Writes the event of a function whose entry has been removed, in the general case. */
void fxt_function_complete(struct fxt_thread *thread, uintptr_t address, uint64_t start_ns, uint64_t end_ns);

/* Does the same for a function that is not an event of the thread's own track but of another one, which
 * has the number `track`. It is not explained, and meets no trigger. */
void fxt_function_complete_on(struct fxt_thread *thread, uint32_t track, uintptr_t address, uint64_t start_ns,
			      uint64_t end_ns);

/* Returns the first function of the table at or behind `*slot`, and sets `*slot` behind it. Returns NULL if
 * there is no other. */
const struct fxt_function *fxt_function_next(size_t *slot);

/* Returns the name that a string index stands for, with its length in *bytes. Returns NULL if no function has
 * the index. */
const char *fxt_function_name_of(uint32_t index, size_t *bytes);

/* Returns category and name of the function at `address`, as in an event's header. Looks the name up if it is
 * not known yet. */
uint64_t fxt_function_names(uintptr_t address);

/* Called once, at start. */
void fxt_functions_start(void);

/* Called in the child of a fork: forgets all functions, because none of their strings is in the child's
 * file. */
void fxt_functions_after_fork(void);

/* Whether a function was seen on a stack that is not its thread's own: agent/fibers/. From then on all
 * functions go the general way, which looks where their frames lie. */
extern atomic_bool fxt_fibers_are_there __attribute__((visibility("hidden")));

static inline bool fxt_has_fibers(void)
{
	return atomic_load_explicit(&fxt_fibers_are_there, memory_order_relaxed);
}

/* Called when a function is seen on such a stack. It does something the first time. */
FXT_COLD void fxt_functions_meet_fiber(struct fxt_thread *thread);

/* Takes the quick ways in and out of functions from a thread. */
static inline void fxt_functions_go_slowly(struct fxt_thread *thread)
{
	__atomic_store_n(&thread->quick_limit, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&thread->names.quick, fxt_functions_none_defined, __ATOMIC_RELAXED);
}

/* Returns the slot in which the search for an address begins. Compilers let functions begin at least 16 bytes
 * apart, so the functions of one file of 4 MiB have different slots. */
static inline size_t fxt_function_slot(uintptr_t address)
{
	return address / 16;
}

/* Returns the entry that belongs to a slot. Slots that differ by a multiple of the table's size share an
 * entry. */
static inline struct fxt_function *fxt_function_entry(size_t slot)
{
	size_t at = slot & atomic_load_explicit(&fxt_functions.mask, memory_order_acquire);

	return atomic_load_explicit(&fxt_functions.entries, memory_order_relaxed) + at;
}

/* Returns the entry at which the search for an address begins. */
static inline const struct fxt_function *fxt_function_first(uintptr_t address)
{
	return fxt_function_entry(fxt_function_slot(address));
}

/* Returns whether `function` is the one at `address`. This is assembler because compilers load an atomic into
 * a register first, instead of comparing with it in memory. */
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

/* Returns the function at `address` as fxt_function_find() does, but quickly if it is the first that is
 * looked at. */
static inline const struct fxt_function *fxt_function_at(uintptr_t address)
{
	const struct fxt_function *function = fxt_function_first(address);

	if (FXT_LIKELY(fxt_function_is(function, address)))
		return function;
	return fxt_function_find(address);
}

/* Returns category and name of a function for an event's header. A signal handler may fork at any
 * instruction. The name is gone in the child then, whose trace has no string of it yet; so the category is
 * added here. */
static inline uint64_t fxt_function_names_in(const struct fxt_function *function,
					     enum fxt_category_bit category)
{
	return function->names | fxt_event_category(FXT_STR_CATEGORIES + category);
}

/* Returns the category of the function at `address`. */
static inline enum fxt_category_bit fxt_function_category(uintptr_t address)
{
	return fxt_is_plt_call(address) ? FXT_BIT_plt : FXT_BIT_function;
}

/* Category and name for the event of a function that has no entry in the table or no index. */
#define FXT_FUNCTION_UNNAMED(address) \
	fxt_names_of(FXT_STR_CATEGORIES + fxt_function_category(address), FXT_STR_function)

/* Makes the function at `address` a call in progress. Its instrumentation calls this at the entry. `frame` is
 * the frame of the hook, `site` the address that the hook returns to, and `call_site` the address that the
 * function itself returns to. */
void fxt_function_enter(struct fxt_thread *thread, uintptr_t frame, uintptr_t site, uintptr_t address,
			uintptr_t call_site);

/* Ends the function at `address`, and writes its event. */
void fxt_function_exit(struct fxt_thread *thread, uintptr_t frame, uintptr_t address);

/* Ends the function at `address`, which was entered last, at end_ns, and writes its event. This is for
 * functions that are not usual: see fxt_is_usual(). Returns false, with nothing changed, if another one was
 * entered last: a handler has switched to a coroutine meanwhile, whose functions have entries elsewhere. */
bool fxt_function_end(struct fxt_thread *thread, uintptr_t address, uint64_t end_ns);

/* Ends the function at `address`, which was entered last, at the reading end_ns of the clock, and drops its
 * event if there is known to be no room. Returns false, with nothing changed, if there may be room, if some
 * function was too deep, or as fxt_function_end() does. */
FXT_COLD bool fxt_function_drop(struct fxt_thread *thread, uintptr_t address, uint64_t end_ns);

/* The quick ways in and out of a function. They return false, with nothing changed, if the case is not the
 * common one. A function's entry and exit together cost as much as one call of anything else. So these two
 * are written out for what is known here: there is one kind of event, it has no arguments, and the calls nest
 * as they should. The first is for a caller that has found the function. */
static inline bool fxt_function_enter_known(struct fxt_thread *thread, uintptr_t frame, const uintptr_t *site,
					    uintptr_t address, uintptr_t call_site,
					    const struct fxt_function *function,
					    enum fxt_category_bit category)
{
	struct fxt_in_progress *entry = thread->open;
	uint64_t start_ns;

	if (FXT_UNLIKELY(!fxt_clock_quick(thread, &start_ns)))
		return false;
	if (FXT_UNLIKELY(!fxt_in_progress_take(thread, entry, frame,
					fxt_arg_header(FXT_ARG_POINTER, 2, FXT_STR_call_site), call_site)))
		return false;
	entry->function = address;
	entry->site = *site;
	fxt_in_progress_show(thread, entry, fxt_clock_step(thread, start_ns),
			     fxt_function_names_in(function, category));
	return true;
}

static inline bool fxt_function_enter_quick(struct fxt_thread *thread, uintptr_t frame, const uintptr_t *site,
					    uintptr_t address, uintptr_t call_site)
{
	const struct fxt_function *function = fxt_function_first(address);

	if (FXT_UNLIKELY(!thread) || FXT_UNLIKELY(!fxt_function_is(function, address)))
		return false;
	return fxt_function_enter_known(thread, frame, site, address, call_site, function, FXT_BIT_function);
}

/* Says how far the quick way out of a function has come. */
enum fxt_exit {
	FXT_EXIT_DONE,                  /* the function has ended, and its event is in the trace */
	FXT_EXIT_OTHER,                 /* the case is not the common one; nothing has changed */
	FXT_EXIT_NO_ROOM,               /* nothing has changed; *end_ns is a reading of the clock */
	FXT_EXIT_UNUSUAL,               /* nothing but the clock has changed; *end_ns is the end */
};

static inline __attribute__((always_inline)) enum fxt_exit
fxt_function_exit_try(struct fxt_thread *thread, uintptr_t address, uint64_t *end_ns)
{
	uint64_t start_ns, names, *at;
	struct fxt_lane *lane;
	struct fxt_in_progress *entry;

	entry = thread->open - 1;
	if (FXT_UNLIKELY(!fxt_clock_quick(thread, end_ns)))
		return FXT_EXIT_OTHER;
	names = entry->names;
	if (FXT_UNLIKELY(entry->function != address))
		return FXT_EXIT_OTHER;
	lane = thread->lanes;
	if (FXT_UNLIKELY(!fxt_lane_raise_first(thread, FXT_LANE_CALL)))
		return FXT_EXIT_OTHER;
	if (FXT_UNLIKELY(thread->names.quick[fxt_get_event_name(names)] != lane->serial) ||
	    FXT_UNLIKELY(!fxt_lane_has(lane, FXT_FRAME_WORDS))) {
		fxt_lane_lower(lane);
		return FXT_EXIT_NO_ROOM;
	}
	start_ns = entry->start_ns;
	*end_ns = fxt_clock_step(thread, *end_ns);
	if (FXT_UNLIKELY(*end_ns - start_ns >= thread->usual_function_ns)) {
		fxt_lane_lower(lane);
		return FXT_EXIT_UNUSUAL;
	}
	at = fxt_lane_place(lane, FXT_FRAME_WORDS - FXT_INLINE_WORDS);
	at[1] = start_ns;
	at[2] = *end_ns;
	fxt_in_progress_empty_with(thread, entry, fxt_filler(FXT_SLOT_WORDS));
	fxt_lane_commit(lane, at, FXT_FRAME_WORDS - FXT_INLINE_WORDS,
			fxt_complete_header(names, 0) | thread->event_thread);
	fxt_close_lane(lane, 1);
	return FXT_EXIT_DONE;
}

static inline bool fxt_function_exit_quick(struct fxt_thread *thread, uintptr_t address)
{
	uint64_t end_ns;

	if (FXT_UNLIKELY(!thread))
		return false;
	switch (fxt_function_exit_try(thread, address, &end_ns)) {
	case FXT_EXIT_DONE: return true;
	case FXT_EXIT_OTHER: return false;
	case FXT_EXIT_NO_ROOM: return fxt_function_drop(thread, address, end_ns);
	case FXT_EXIT_UNUSUAL: break;
	}
	return fxt_function_end(thread, address, end_ns);
}

/* The next functions call the one of agent/names/ that does the same, with the lock of the function table
 * held.
 *
 * Returns the name of the global variable at `address`, which the code at `place` uses: see
 * fxt_symbol_object_name(). */
const char *fxt_function_object_name(uintptr_t address, uintptr_t place, size_t *bytes, uint32_t *offset);

/* Forgets the files that have been unloaded, and their functions. Returns false if there are none. See
 * fxt_symbols_unloaded(). */
bool fxt_functions_unloaded(void);

/* Does the same where functions are recorded. Called after each dlclose. */
void fxt_functions_after_unload(void);

/* Returns the kind of the code at `address`: see fxt_allocator_code(). */
enum fxt_code_kind fxt_function_code(uintptr_t address);

/* Says in *file which file the code at `address` lies in. Returns false if that cannot be looked up now. */
bool fxt_function_file(uintptr_t address, struct fxt_code_file *file);

/* Returns whether the address lies in a file that is loaded, as far as that is known. */
bool fxt_function_is_mapped(uintptr_t address);

#endif
