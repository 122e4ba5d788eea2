/* This program uses the processor in functions that it knows: for MS milliseconds of processor time in each
 * of its threads, three quarters of it in hot() and one in mild(), which deep() calls by way of itself. In
 * between it sleeps NAPS times. With `signal` the first thread does all of that in the handler of a signal,
 * with `alternate` on another stack; with `wait` it waits for its standard input to end before that.
 *
 * usage: burns THREADS MS NAPS [signal | alternate | wait] */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "need.h"

enum { MOST_THREADS = 16, DEPTH = 40, STACK_BYTES = 256 << 10 };

#define APART __attribute__((noinline, noclone))

static long milliseconds, naps;
static volatile uint64_t sink;

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Neither has a frame pointer, and the loop is longer than the asking for the time. */
APART static void hot(double until)
{
	while (used() < until)
		for (unsigned i = 0; i < 100000; i++)
			sink += i * UINT64_C(0x9e3779b97f4a7c15);
}

APART static void mild(double until)
{
	while (used() < until)
		for (unsigned i = 0; i < 100000; i++)
			sink ^= i * UINT64_C(0xbf58476d1ce4e5b9);
}

APART static void deep(unsigned level, double from, double until)
{
	if (level) {
		deep(level - 1, from, until);
	} else {
		hot(from + (until - from) * 0.75);
		mild(until);
	}
	/* This keeps calls from being the last thing here, which would leave no frame. */
	sink++;
}

static void *burn(void *unused)
{
	double from = used(), each = (double)milliseconds / (double)(naps + 1);
	long i;

	for (i = 0; i <= naps; i++) {
		if (i)
			usleep(1000);
		deep(DEPTH, from + each * (double)i, from + each * (double)(i + 1));
	}
	return unused;
}

static void handle(int number)
{
	(void)number;
	burn(NULL);
	sink++;
}

static void burn_in_handler(int flags)
{
	stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
	struct sigaction action = {.sa_handler = handle, .sa_flags = flags};

	need(stack.ss_sp && !sigaltstack(&stack, NULL) && !sigaction(SIGUSR1, &action, NULL));
	raise(SIGUSR1);
}

int main(int argc, char **argv)
{
	pthread_t list[MOST_THREADS];
	int threads, i;
	char one;

	need(argc > 3);
	threads = atoi(argv[1]);
	milliseconds = atol(argv[2]);
	naps = atol(argv[3]);
	need(threads > 0 && threads <= MOST_THREADS);
	if (argc > 4 && strcmp(argv[4], "wait") == 0)
		while (read(STDIN_FILENO, &one, 1) == 1)
			;
	for (i = 1; i < threads; i++)
		need(!pthread_create(&list[i], NULL, burn, NULL));
	if (argc > 4 && strcmp(argv[4], "signal") == 0)
		burn_in_handler(0);
	else if (argc > 4 && strcmp(argv[4], "alternate") == 0)
		burn_in_handler(SA_ONSTACK);
	else
		burn(NULL);
	for (i = 1; i < threads; i++)
		need(!pthread_join(list[i], NULL));
	puts("burnt");
	return 0;
}
