/* Makes calls of which some are lost, for a known reason, and prints how many there were.
 *
 *	losses depth N		a function that calls itself, N deep
 *	losses many N		functions, called N times in all by the main thread, and then by another
 *	losses threads N	N threads that have recorded and live on, then 100 000 allocations of one
 *
 * It prints the number of the function's calls. For threads it does not know it, because making them
 * allocates too.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unseen.h"

#define UNTOLD __attribute__((no_instrument_function))

enum { ALLOCATIONS = 100000, STACK_BYTES = 64 << 10 };

static long depth;
static volatile long reached;
static pthread_barrier_t turn;

/* Writes without a stream, because a stream allocates. */
UNTOLD static void say(long calls)
{
	char text[24];
	int bytes = snprintf(text, sizeof(text), "%ld\n", calls);

	if (unseen(SYS_write, STDOUT_FILENO, text, bytes) != bytes)
		abort();
}

UNTOLD static void allocate(void)
{
	void *volatile block = calloc(1, 0);

	free(block);
}

__attribute__((noinline, noclone)) static void deeper(long left)
{
	reached++;
	if (left > 1)
		deeper(left - 1);
	reached--;
}

__attribute__((noinline, noclone)) static void one(void)
{
	reached++;
}

__attribute__((noinline, noclone)) static void other(void)
{
	reached--;
}

UNTOLD static void *call(void *calls)
{
	long i;

	/* The second function is met for the first time when there may be no room any more. */
	for (i = 0; i < (long)calls; i++)
		(i < (long)calls / 2 ? one : other)();
	return NULL;
}

UNTOLD static void call_twice(long calls)
{
	pthread_t thread;

	call((void *)(calls / 2));
	if (pthread_create(&thread, NULL, call, (void *)(calls - calls / 2)) || pthread_join(thread, NULL))
		abort();
}

UNTOLD static void *live(void *unused)
{
	allocate();
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	return unused;
}

UNTOLD static void live_together(long count)
{
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	pthread_attr_t attributes;
	long i;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_barrier_init(&turn, NULL, (unsigned)count + 1);
	for (i = 0; i < count; i++)
		if (pthread_create(&threads[i], &attributes, live, NULL))
			abort();
	pthread_barrier_wait(&turn);
	for (i = 0; i < ALLOCATIONS; i++)
		allocate();
	pthread_barrier_wait(&turn);
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

UNTOLD int main(int argc, char **argv)
{
	depth = argc > 2 ? atol(argv[2]) : 1;
	if (argc < 2 || depth < 1)
		return 2;
	if (!strcmp(argv[1], "depth")) {
		deeper(depth);
		say(depth);
	} else if (!strcmp(argv[1], "many")) {
		call_twice(depth);
		say(depth);
	} else {
		live_together(depth);
	}
	return 0;
}
