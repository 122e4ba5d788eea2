/* Return thunks: how the end of a function is seen that calls a hook only when it is entered (-pg,
 * -fpatchable-function-entry, calls through procedure linkage tables). The hook replaces the address that the
 * function returns to by that of a thunk, which records the end and goes on at the address that was there.
 *
 * Each thunk belongs to one return address, for good. So what a thunk does depends on nothing but the thunk:
 * stacks may be left by longjmp or an exception, copied away and back, shared by coroutines, or inherited by
 * a forked child. The thunks are code of this library (interpose/functions/entries.S), whose unwind table
 * says where each goes on: exceptions, pthread_exit() and debuggers pass through. Only x86_64 has thunks.
 */
#ifndef FXT_RETURN_THUNK_H
#define FXT_RETURN_THUNK_H

#include "return_thunk_count.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)

/* The return address that a thunk stands for; 0: none yet. */
struct fxt_return_place {
	_Alignas(FXT_RETURN_THUNK_BYTES) _Atomic uintptr_t address;
};

/* The unwind table of the thunks relies on places that are as far apart as the thunks. */
extern struct fxt_return_place fxt_return_places[FXT_RETURN_THUNKS] __attribute__((visibility("hidden")));
extern const char fxt_return_thunks[] __attribute__((visibility("hidden")));

static_assert(sizeof(fxt_return_places[0]) == FXT_RETURN_THUNK_BYTES, "one place for each thunk");

static inline bool fxt_is_return_thunk(uintptr_t place)
{
	return place - (uintptr_t)fxt_return_thunks < FXT_RETURN_THUNKS * FXT_RETURN_THUNK_BYTES;
}

/* Returns the address that the code at `place` goes on at: that of a thunk, or `place` itself. */
static inline uintptr_t fxt_return_place(uintptr_t place)
{
	if (!fxt_is_return_thunk(place))
		return place;
	return atomic_load_explicit(&fxt_return_places[(place - (uintptr_t)fxt_return_thunks) /
						       FXT_RETURN_THUNK_BYTES].address,
				    memory_order_relaxed);
}

/* Returns the address of the thunk with this number. */
static inline uintptr_t fxt_return_thunk_at(unsigned i)
{
	return (uintptr_t)fxt_return_thunks + FXT_RETURN_THUNK_CALL_BYTES + i * FXT_RETURN_THUNK_BYTES;
}

/* Returns the number in the list at which the search for a return address begins. */
static inline unsigned fxt_return_thunk_first(uintptr_t place)
{
	return (unsigned)(place * UINT64_C(0x9e3779b97f4a7c15) >> (64 - FXT_RETURN_THUNK_BITS));
}

/* Returns the thunk for a return address, or 0 if there is none yet. Any context. */
static inline uintptr_t fxt_return_thunk_known(uintptr_t place)
{
	unsigned i = fxt_return_thunk_first(place);
	uintptr_t there;

	while ((there = atomic_load_explicit(&fxt_return_places[i].address, memory_order_relaxed)) != 0) {
		if (there == place)
			return fxt_return_thunk_at(i);
		i = (i + 1) % FXT_RETURN_THUNKS;
	}
	return 0;
}

/* Returns the thunk for a return address. Returns 0 if there are none left. Any context. */
uintptr_t fxt_return_thunk(uintptr_t place);

#else

static inline uintptr_t fxt_return_place(uintptr_t place)
{
	return place;
}

#endif

#endif
