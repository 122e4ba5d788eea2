/* This program has an allocator with a lock, whose first work under that lock makes one call that the agent
 * stands in for. A constructor of a library, which comes before the agent's, allocates. So the agent starts
 * within the allocator, and whoever allocates there waits for ever. CALL says which call is made. With
 * LIBRARY this file is that library. The call that allocates there first is pthread_atfork(), which has a
 * lock of its own. */
#ifdef LIBRARY
#include <libintl.h>
#include <pthread.h>

/* The C library has room for some 48 handlers. For more it allocates, under the lock that it has for them. */
enum { HANDLERS = 60 };

static void nothing(void)
{
}

__attribute__((constructor)) static void allocate_first(void)
{
	int i;

	for (i = 0; i < HANDLERS; i++)
		pthread_atfork(nothing, nothing, nothing);
	bindtextdomain("host_locked", "/usr/share/locale");
}
#else
#include <stdint.h>
#include <sys/syscall.h>

#include "host.h"

enum { POOL_BYTES = 16 << 20, HEADER_BYTES = 16 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_flag is_locked = ATOMIC_FLAG_INIT;
static bool has_begun;
static char pool[POOL_BYTES] __attribute__((aligned(HEADER_BYTES)));
static size_t used;

void *malloc(size_t size)
{
	char *block;

	while (atomic_flag_test_and_set(&is_locked))
		;
	if (!has_begun) {
		has_begun = true;
		CALL;
		(void)mutex;
	}
	block = pool + used + HEADER_BYTES;
	used += HEADER_BYTES + (size + HEADER_BYTES - 1) / HEADER_BYTES * HEADER_BYTES;
	if (used > POOL_BYTES)
		abort();
	*(size_t *)(void *)(block - HEADER_BYTES) = size;
	atomic_flag_clear(&is_locked);
	return block;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size);    /* all zeros, because no memory is used again */
}

void *realloc(void *block, size_t size)
{
	size_t *bytes = (size_t *)(void *)((char *)block - HEADER_BYTES);
	void *moved = malloc(size);

	return block ? memcpy(moved, block, *bytes < size ? *bytes : size) : moved;
}

int main(void)
{
	allocate(100);
	mark_times(10);
	print_marks();
	return 0;
}
#endif
