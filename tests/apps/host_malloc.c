/* Allocates in every way there is, and prints whether that went as it should. With -DOWN_MALLOC the program
 * defines the allocator itself; linked with another allocator it uses that one. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>

#include "host.h"

#ifdef OWN_MALLOC

/* This allocator never gives anything back; a test needs no more. It is exported, as every allocator is, so
 * the calls of other libraries come here too. */
static char heap[64 << 20] __attribute__((aligned(4096)));
static atomic_size_t heap_used;

static void *take(size_t alignment, size_t bytes)
{
	size_t from, at;

	alignment = alignment < 16 ? 16 : alignment;
	from = atomic_load(&heap_used);
	do {
		at = (from + 16 + alignment - 1) / alignment * alignment;
		if (bytes > sizeof(heap) || at + bytes > sizeof(heap)) {
			errno = ENOMEM;
			return NULL;
		}
	} while (!atomic_compare_exchange_weak(&heap_used, &from, at + bytes));
	((size_t *)(heap + at))[-1] = bytes;
	return heap + at;
}

/* noipa: otherwise gcc knows that the block is what was asked for, and that nothing can be in front of it. */
static __attribute__((noipa)) size_t size_of(const void *ptr)
{
	return ((const size_t *)ptr)[-1];
}

void *malloc(size_t size)
{
	return take(0, size);
}

void free(void *ptr)
{
	(void)ptr;
}

void *calloc(size_t nmemb, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(nmemb, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return take(0, bytes);
}

void *realloc(void *ptr, size_t size)
{
	void *moved = take(0, size);

	if (moved && ptr)
		memcpy(moved, ptr, size_of(ptr) < size ? size_of(ptr) : size);
	return moved;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return take(alignment, size);
}

void *memalign(size_t alignment, size_t size)
{
	return take(alignment, size);
}

int posix_memalign(void **memptr, size_t alignment, size_t size)
{
	*memptr = take(alignment, size);
	return *memptr ? 0 : ENOMEM;
}

size_t malloc_usable_size(void *ptr)
{
	return ptr ? size_of(ptr) : 0;
}

#endif

static void try(const char *what, void *block, size_t size, size_t alignment)
{
	if (block)
		memset(block, 1, size);
	printf("%s: %d, aligned %d\n", what, block != NULL, block && (uintptr_t)block % alignment == 0);
	free(block);
}

static void *run(void *argument)
{
	int i;

	for (i = 0; i < 1000; i++)
		allocate(20001);
	mark();
	return argument;
}

int main(void)
{
	volatile size_t huge = SIZE_MAX / 2;
	void *block;
	pthread_t threads[3];
	int i;

	try("malloc", malloc(20001), 20001, 16);
	try("calloc", calloc(100, 200), 20000, 16);
	try("reallocarray", reallocarray(NULL, 100, 200), 20000, 16);
	try("aligned_alloc", aligned_alloc(64, 20032), 20032, 64);
	try("memalign", memalign(4096, 20001), 20001, 4096);
	need(!posix_memalign(&block, 256, 20001));
	try("posix_memalign", block, 20001, 256);
	block = malloc(20001);
	memset(block, 7, 20001);
	block = realloc(block, 100000);
	printf("realloc kept %d\n", ((char *)block)[20000] == 7);
	printf("usable %d\n", malloc_usable_size(block) >= 100000);
	free(block);
	errno = 0;
	block = malloc(huge);
	printf("huge: %d, errno %d\n", block != NULL, errno);
	for (i = 0; i < 3; i++)
		need(!pthread_create(&threads[i], NULL, run, NULL));
	for (i = 0; i < 3; i++)
		need(!pthread_join(threads[i], NULL));
	fflush(stdout);
	print_marks();
	return 0;
}
