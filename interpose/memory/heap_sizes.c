/* See heap_sizes.h. Called by start.c.
 *
 * The size of a block is what malloc_usable_size() would say, and is known only of a block that came from the same allocator: one that has no such
 * function is given the C library's, which would look for its own header in front of the block. So both have to be in one object,
 * for each function by itself: with jemalloc preloaded __libc_malloc() is still the C library's. A sanitizer is left alone: it
 * takes a size asked of a block that is not there for a fault, before it gets to see the wrong free().
 *
 * Nor does glibc get to see it where it is asked: malloc_usable_size() goes on to the next block, whatever the size in front of
 * this one says, and crashes where free() would have found that this is no block, and said so. So its blocks are looked at and
 * not asked for: size_of_glibc_block() reads the word that free() reads first. Within valgrind there is no such word, and reading it is
 * a fault of the program's; its malloc_usable_size() says 0 of what is no block.
 */
#include "heap_sizes.h"

#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* Until it is known how: a thread may see that there are sizes before it sees this. */
static size_t no_size(void *block)
{
	(void)block;
	return 0;
}

struct fxt_heap fxt_heap = {.track_bytes = SIZE_MAX, .size_of = no_size};

typedef size_t size_of(void *block);
static _Atomic(size_of *) found_size_of;        /* whoever searches finds the same */

/* In front of a block is its size as a chunk, of which it can use all but that word; of one that is a mapping of its own all but two. */
static size_t size_of_glibc_block(void *block)
{
	enum { IS_MMAPPED = 2, FLAGS = 7, ALIGNMENT = 16 };
	size_t word;

	/* free() aborts, having looked in front of it or not. */
	if ((uintptr_t)block % ALIGNMENT)
		return 0;
	memcpy(&word, (char *)block - sizeof(word), sizeof(word));
	return (word & ~(size_t)FLAGS) - sizeof(word) - (word & IS_MMAPPED ? sizeof(word) : 0);
}

/* The versions of which that is known to be so: the first without hooks, which may be another allocator, to the last whose source
 * was read. With memory tagging, of aarch64, blocks are other. */
static bool is_known_glibc(void)
{
	const char *version = gnu_get_libc_version();
	unsigned long minor = strncmp(version, "2.", 2) == 0 ? strtoul(version + 2, NULL, 10) : 0;

#ifdef __aarch64__
	if (getauxval(AT_HWCAP2) & 1ul << 18 /* HWCAP2_MTE */)
		return false;
#endif
	return minor >= 34 && minor <= 42;
}

/* Valgrind's tools that look after the heap put their own functions into the place of the C library's, which keep its addresses. The name
 * is that of malloc() in libc.so* in their spelling. */
static bool is_replaced_in_place(void)
{
	return fxt_is_anywhere("_vgr10010ZU_libcZdsoZa_malloc");
}

static size_of *how_to_size(const void *allocator, const struct fxt_real *heap)
{
	if (allocator == fxt_next_owner("gnu_get_libc_version", NULL) && is_known_glibc() && !is_replaced_in_place())
		return size_of_glibc_block;
	for (; heap->name; heap++)
		if (!strcmp(heap->name, "malloc_usable_size"))
			return (size_of *)__atomic_load_n(heap->pointer, __ATOMIC_RELAXED);
	return NULL;
}

uint32_t fxt_heap_sizable(const struct fxt_real *heap)
{
	static const char *const needed[] = {"malloc", "calloc", "realloc", "free"};
	const void *allocator = fxt_next_owner("malloc_usable_size", NULL);
	uint32_t sizable = 0, i;

	for (i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!allocator || fxt_next_owner(needed[i], NULL) != allocator)
			return 0;
	if (fxt_next_owner("__sanitizer_get_ownership", NULL))
		return 0;
	atomic_store_explicit(&found_size_of, how_to_size(allocator, heap), memory_order_relaxed);
	for (i = 0; heap[i].name; i++)
		if (fxt_next_owner(heap[i].name, heap[i].version) == allocator)
			sizable |= UINT32_C(1) << i;
	return sizable;
}

void fxt_heap_start(uint32_t sizable)
{
	const struct fxt_config *config = &fxt_agent.config;

	if (!(config->categories & FXT_CAT_malloc) || (!(config->categories & FXT_CAT_counter) && !config->heap_track_bytes))
		return;
	fxt_heap.size_of = atomic_load_explicit(&found_size_of, memory_order_relaxed);
	if (config->heap_track_bytes)
		fxt_heap.track_bytes = config->heap_track_bytes;
	__atomic_store_n(&fxt_heap.sized, sizable, __ATOMIC_RELEASE);
}
