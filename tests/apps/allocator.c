/* This program has a heap of its own, which asks the C library for pages and a lock. The heap is used while
 * the agent looks for the functions that it stands in for, too, because a search that fails allocates. The
 * program prints "own blocks" if its blocks came from this heap. */
#include <pthread.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK = 1 << 20 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *at, *end;
static unsigned long blocks;

/* Returns a block, in front of which its size stands. No memory is used again. */
void *malloc(size_t size)
{
	size_t *block = NULL;

	size = (size + 2 * alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
	pthread_mutex_lock(&mutex);
	if (size > (size_t)(end - at) && size <= CHUNK) {
		at = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		end = at == MAP_FAILED ? at : at + CHUNK;
	}
	if (size <= (size_t)(end - at)) {
		block = (size_t *)at;
		at += size + alignof(max_align_t);
		*block = size;
		block = (size_t *)((char *)block + alignof(max_align_t));
		blocks++;
	}
	pthread_mutex_unlock(&mutex);
	return block;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t size)
{
	void *block = malloc(count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

void *realloc(void *old, size_t size)
{
	void *block = malloc(size);
	size_t old_size = old ? *(size_t *)((char *)old - alignof(max_align_t)) : 0;

	return block && old ? memcpy(block, old, old_size < size ? old_size : size) : block;
}

int main(void)
{
	int i;

	for (i = 0; i < 1000; i++) {
		char *volatile block = malloc(100);

		if (!block)
			return 1;
		block[99] = 1;
	}
	/* One of these needs new pages, however many were left. */
	for (i = 0; i < 2; i++) {
		char *volatile block = malloc(CHUNK / 2 + 1);

		if (!block)
			return 1;
	}
	puts(blocks >= 1000 ? "own blocks" : "foreign blocks");
	return 0;
}
