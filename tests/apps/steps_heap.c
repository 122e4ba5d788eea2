/* A heap that a signal handler may use while it interrupts the same heap: a block is a part of one large
 * array, and no memory is used again. libsteps_heap.so lies behind the agent. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { HEAP_BYTES = 64 << 20, HEAD_BYTES = 16 };

static char heap[HEAP_BYTES] __attribute__((aligned(HEAD_BYTES)));
static _Atomic size_t used;

void *malloc(size_t size)
{
	size_t bytes = (size + 2 * HEAD_BYTES - 1) / HEAD_BYTES * HEAD_BYTES, at;

	if (size > HEAP_BYTES / 2)
		return NULL;
	at = atomic_fetch_add(&used, bytes);
	if (at + bytes > HEAP_BYTES)
		return NULL;
	*(size_t *)(heap + at) = size;
	return heap + at + HEAD_BYTES;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t size)
{
	size_t bytes;

	/* The array is zero where it was not used. */
	return __builtin_mul_overflow(count, size, &bytes) ? NULL : malloc(bytes);
}

void *realloc(void *block, size_t size)
{
	void *more = malloc(size);
	size_t before = block ? *(size_t *)((char *)block - HEAD_BYTES) : 0;

	if (more && block)
		memcpy(more, block, before < size ? before : size);
	return more;
}
