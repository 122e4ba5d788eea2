/* See heap.h. Called by start.c.
 *
 * The size of a block is asked of malloc_usable_size(), and only of a block that came from the same allocator: one that has no such
 * function is given the C library's, which would look for its own header in front of the block. So both have to be in one object,
 * for each function by itself: with jemalloc preloaded __libc_malloc() is still the C library's. A sanitizer is left alone: it
 * takes a size asked of a block that is not there for a fault, before it gets to see the wrong free().
 */
#include "heap.h"

struct fxt_heap fxt_heap = {0, SIZE_MAX};

uint32_t fxt_heap_sizable(const struct fxt_next *next, const struct fxt_real *heap)
{
	static const char *const needed[] = {"malloc", "calloc", "realloc", "free"};
	const void *allocator = fxt_next_owner(next, "malloc_usable_size");
	uint32_t sizable = 0, i;

	for (i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!allocator || fxt_next_owner(next, needed[i]) != allocator)
			return 0;
	if (fxt_next_owner(next, "__sanitizer_get_ownership"))
		return 0;
	for (i = 0; heap[i].name; i++)
		if (fxt_next_owner(next, heap[i].name) == allocator)
			sizable |= UINT32_C(1) << i;
	return sizable;
}

void fxt_heap_start(uint32_t sizable)
{
	const struct fxt_config *config = &fxt_agent.config;

	if (!(config->categories & FXT_CAT_malloc) || (!(config->categories & FXT_CAT_counter) && !config->heap_track_bytes))
		return;
	if (config->heap_track_bytes)
		fxt_heap.track_bytes = config->heap_track_bytes;
	__atomic_store_n(&fxt_heap.sized, sizable, __ATOMIC_RELEASE);
}
