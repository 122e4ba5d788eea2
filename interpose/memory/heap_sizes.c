/* See heap_sizes.h. Called by start.c.
 *
 * The size of a block is what malloc_usable_size() would say. It is known only of a block that came from the
 * allocator of that function: if an allocator has no such function the C library's is found, which would look
 * for its own header in front of the block. So both have to be in one object. Each function is looked at by
 * itself: with jemalloc preloaded, __libc_malloc() is still the C library's. A sanitizer is left alone: if it
 * is asked for the size of a block that is not there, it reports that, and never gets to see the wrong
 * free().
 *
 * Asking glibc would have the same effect: its malloc_usable_size() goes on to the next block, whatever the
 * size in front of this one says, and crashes where free() would have found that this is no block, and said
 * so. So glibc is not asked: size_of_glibc_block() reads the word that free() reads first. Within valgrind
 * there is no such word, and reading it would be a fault of the program's; but valgrind's
 * malloc_usable_size() says 0 of what is no block.
 */
#include "heap_sizes.h"

#include <gnu/libc-version.h>
#include <string.h>
#include <sys/auxv.h>

#include "writer/decimal.h"

typedef size_t size_of(void *block);
static _Atomic(size_of *) found_size_of;        /* every search finds the same */

/* Returns the size of a block of glibc's. In front of the block is the size of the chunk, as glibc calls it:
 * the block is all of that but the word itself, or all but two words if the chunk is a mapping of its own. */
static size_t size_of_glibc_block(void *block)
{
	enum { IS_MMAPPED = 2, FLAGS = 7, ALIGNMENT = 16 };
	size_t word;

	/* free() aborts then, whether or not it has looked in front of the block. */
	if ((uintptr_t)block % ALIGNMENT)
		return 0;
	memcpy(&word, (char *)block - sizeof(word), sizeof(word));
	return (word & ~(size_t)FLAGS) - sizeof(word) - (word & IS_MMAPPED ? sizeof(word) : 0);
}

/* Returns whether this glibc's blocks are known to be like that. They are from the first version without
 * hooks, behind which another allocator may be, to the last version whose source was read. With aarch64's
 * memory tagging they are different. */
static bool is_known_glibc(void)
{
	const char *version = gnu_get_libc_version();
	const char *at = version + 2;
	/* strtoul() reads the thread's locale, which the C library does not have yet while the loader binds
	 * the program's functions. */
	uint64_t minor = strncmp(version, "2.", 2) == 0 ? fxt_decimal_at(&at) : 0;

#ifdef __aarch64__
	if (getauxval(AT_HWCAP2) & 1ul << 18 /* HWCAP2_MTE */)
		return false;
#endif
	return minor >= 34 && minor <= 42;
}

/* Returns whether a tool of valgrind's that checks the heap runs the program. Such a tool puts its own
 * functions into the place of the C library's, at the same addresses. The name is valgrind's spelling of
 * malloc() in libc.so*. */
static bool is_replaced_in_place(void)
{
	return fxt_is_anywhere("_vgr10010ZU_libcZdsoZa_malloc");
}

static size_of *how_to_size(const void *allocator, const struct fxt_real *heap)
{
	if (allocator == fxt_next_owner("gnu_get_libc_version", NULL) && is_known_glibc() &&
	    !is_replaced_in_place())
		return size_of_glibc_block;
	for (; heap->name; heap++)
		if (!strcmp(heap->name, "malloc_usable_size"))
			return (size_of *)__atomic_load_n(heap->pointer, __ATOMIC_RELAXED);
	return NULL;
}

/* Returns whether the allocator is libc_malloc_debug, which ends the program if it is asked for the size of a
 * block that was damaged, in other words than free() does. */
static bool is_checker(const void *allocator)
{
	return allocator != fxt_next_owner("gnu_get_libc_version", NULL) &&
	       allocator == fxt_next_owner("mcheck_check_all", FXT_BASE_VERSION);
}

uint32_t fxt_heap_sizable(const struct fxt_real *heap)
{
	static const char *const needed[] = {"malloc", "calloc", "realloc", "free"};
	const void *allocator = fxt_next_owner("malloc_usable_size", NULL);
	uint32_t sizable = 0, i;

	for (i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!allocator || fxt_next_owner(needed[i], NULL) != allocator)
			return 0;
	if (fxt_next_owner("__sanitizer_get_ownership", NULL) || is_checker(allocator))
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

	if (!(config->categories & FXT_CAT_malloc) ||
	    (!(config->categories & FXT_CAT_counter) && !config->heap_track_bytes &&
	     !config->heap_sample_bytes))
		return;
	fxt_heap.size_of = atomic_load_explicit(&found_size_of, memory_order_relaxed);
	if (config->heap_track_bytes)
		fxt_heap.track_bytes = config->heap_track_bytes;
	__atomic_store_n(&fxt_heap.sized, sizable, __ATOMIC_RELEASE);
}
