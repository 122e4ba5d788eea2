/* See return_thunk.h. Return addresses are kept in a hash table, which threads read and fill without a lock.
 * A word is set once. */
#include "return_thunk.h"

#include "writer/place.h"

#if defined(__x86_64__)

/* Searches would become long in a fuller table. */
enum { MOST = FXT_RETURN_THUNKS / 4 * 3 };

FXT_LARGE struct fxt_return_place fxt_return_places[FXT_RETURN_THUNKS];

static atomic_uint count;

uintptr_t fxt_return_thunk(uintptr_t place)
{
	unsigned i = fxt_return_thunk_first(place);
	uintptr_t there;

	for (;; i = (i + 1) % FXT_RETURN_THUNKS) {
		_Atomic uintptr_t *word = &fxt_return_places[i].address;

		there = atomic_load_explicit(word, memory_order_relaxed);
		if (!there) {
			if (atomic_load_explicit(&count, memory_order_relaxed) >= MOST)
				return 0;
			if (!atomic_compare_exchange_strong_explicit(word, &there, place,
								     memory_order_relaxed,
								     memory_order_relaxed) &&
			    there != place)
				continue;
			if (!there)
				atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
			there = place;
		}
		if (there == place)
			return fxt_return_thunk_at(i);
	}
}

#endif
