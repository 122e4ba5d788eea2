/* See heap.h. Called by start.c.
 *
 * The size of a block is asked of malloc_usable_size(), and only of a block that came from the same allocator: one that has no such
 * function is given the C library's, which would look for its own header in front of the block. So both have to be in one object,
 * for each function by itself: with jemalloc preloaded __libc_malloc() is still the C library's. A sanitizer is left alone: it
 * takes a size asked of a block that is not there for a fault, before it gets to see the wrong free().
 */
#include "heap.h"

#include <link.h>
#include <string.h>

struct fxt_heap fxt_heap = {0, SIZE_MAX};

/* The part of the memory that one object takes. */
struct range {
	uintptr_t of, low, high;
};

static int find_range(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct range *range = context;
	uintptr_t low = UINTPTR_MAX, high = 0;
	unsigned i;

	(void)bytes;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD)
			continue;
		if (info->dlpi_addr + segment->p_vaddr < low)
			low = info->dlpi_addr + segment->p_vaddr;
		if (info->dlpi_addr + segment->p_vaddr + segment->p_memsz > high)
			high = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;
	}
	if (range->of < low || range->of >= high)
		return 0;
	range->low = low;
	range->high = high;
	return 1;
}

/* What each of them leads to; the last of a name counts, of which there is one. */
static uintptr_t address_of(const struct fxt_real *heap, const char *name)
{
	for (; heap->name; heap++)
		if (!strcmp(heap->name, name))
			return (uintptr_t)*heap->pointer;
	return 0;
}

void fxt_heap_start(const struct fxt_real *heap)
{
	static const char *const needed[] = {"malloc", "calloc", "realloc", "free"};
	struct range range = {address_of(heap, "malloc_usable_size"), 0, 0};
	uint32_t sized = 0, i;

	if (!(fxt_agent.config.categories & FXT_CAT_malloc) ||
	    (!(fxt_agent.config.categories & FXT_CAT_counter) && !fxt_agent.config.heap_track_bytes) ||
	    !dl_iterate_phdr(find_range, &range))
		return;
	for (i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (address_of(heap, needed[i]) - range.low >= range.high - range.low)
			return;
	for (i = 0; heap[i].name; i++)
		if ((uintptr_t)*heap[i].pointer - range.low < range.high - range.low)
			sized |= UINT32_C(1) << i;
	if (fxt_agent.config.heap_track_bytes)
		fxt_heap.track_bytes = fxt_agent.config.heap_track_bytes;
	__atomic_store_n(&fxt_heap.sized, sized, __ATOMIC_RELEASE);
}
