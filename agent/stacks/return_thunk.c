/* See return_thunk.h. Return addresses are kept in a hash table, which threads read and fill without a lock.
 * A word is set once. */
#include "return_thunk.h"

#if defined(__x86_64__)

enum {
	/* Searches would become long in a fuller table. */
	MOST = FXT_RETURN_THUNKS / 4 * 3,
	NOBODY = 1,                     /* is in the place of a return address where there is no thunk */
};

_Atomic uintptr_t fxt_return_places[FXT_RETURN_THUNKS];

static atomic_uint count;

/* Returns whether the number is no thunk's: its place has the jump of a group, or comes first. An unwinder
 * looks up the byte in front of a thunk, so there has to be one. */
static bool is_nobodys(unsigned i)
{
	return i % FXT_RETURN_THUNK_GROUP == FXT_RETURN_THUNK_GROUP - 1 || !i;
}

uintptr_t fxt_return_thunk(uintptr_t place)
{
	unsigned i = fxt_return_thunk_first(place);
	uintptr_t there;

	for (;; i = (i + 1) % FXT_RETURN_THUNKS) {
		there = atomic_load_explicit(&fxt_return_places[i], memory_order_relaxed);
		if (!there && is_nobodys(i)) {
			atomic_store_explicit(&fxt_return_places[i], NOBODY, memory_order_relaxed);
			continue;
		}
		if (!there) {
			if (atomic_load_explicit(&count, memory_order_relaxed) >= MOST)
				return 0;
			if (!atomic_compare_exchange_strong_explicit(&fxt_return_places[i], &there, place,
								     memory_order_relaxed,
								     memory_order_relaxed) &&
			    there != place)
				continue;
			if (!there)
				atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
			there = place;
		}
		if (there == place)
			return (uintptr_t)fxt_return_thunks + i * FXT_RETURN_THUNK_BYTES;
	}
}

#endif
