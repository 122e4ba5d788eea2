/* The programs that count their own calls share this file: one counter a function, and the list that is
 * printed in the end.
 *
 * A program defines CALLS(X), a list of X(category, function), before it includes this file. CALL(function,
 * arguments) counts and calls. print_counts() writes a line `category:function count` for each function by a
 * raw system call, which is not traced: the lists of the program and of its trace must be the same. Arguments
 * have random lengths, from random.h, so main() calls random_seed(0) before anything else.
 */
#ifndef COUNTS_H
#define COUNTS_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "random.h"
#include "unseen.h"

#define PLAIN __attribute__((no_instrument_function))

/* Only the program's allocations have sizes in this range, so they are told from the C library's. */
enum { SIZE_FIRST = 20000, SIZE_LAST = 20999 };

/* Returns a size in this range. */
PLAIN static inline size_t random_size(void)
{
	return SIZE_FIRST + random_below(SIZE_LAST + 1 - SIZE_FIRST);
}

#define COUNT_INDEX(category, function) COUNT_##function,
enum { CALLS(COUNT_INDEX) COUNT_CALLS };

#define COUNT_NAME(category, function) #category ":" #function,
static const char *const count_names[] = {CALLS(COUNT_NAME)};
static atomic_ulong counts[COUNT_CALLS];

#define COUNT(function) ((void)atomic_fetch_add_explicit(&counts[COUNT_##function], 1, memory_order_relaxed))
#define CALL(function, ...) (COUNT(function), function(__VA_ARGS__))
#define NEED(x) ((x) ? (void)0 : needed(#x, __LINE__))

PLAIN static void say(int fd, const char *text, size_t bytes)
{
	if (unseen(SYS_write, fd, text, bytes) != (long)bytes)
		_exit(3);
}

PLAIN static void needed(const char *what, int line)
{
	char text[500];

	say(2, text,
	    (size_t)snprintf(text, sizeof(text), "line %d: not so: %s (errno %d), FXT_SEED=%llu\n", line,
			     what, errno, (unsigned long long)random_seed_value));
	_exit(2);
}

PLAIN static void print_counts(void)
{
	char line[100];
	int i;

	for (i = 0; i < COUNT_CALLS; i++)
		if (counts[i])
			say(1, line,
			    (size_t)snprintf(line, sizeof(line), "%s %lu\n", count_names[i], counts[i]));
}

/* Makes all calls of a program so often, and prints how many there were. */
__attribute__((unused)) PLAIN static void run_rounds(long rounds, void (*use_all)(void))
{
	while (rounds-- > 0)
		use_all();
	print_counts();
}

/* This function and the next are for run_threads(), in a program that does not count these calls. */
__attribute__((unused)) PLAIN static int create_thread(pthread_t *thread, void *(*body)(void *),
						       void *argument)
{
	return pthread_create(thread, NULL, body, argument);
}

__attribute__((unused)) PLAIN static int join_thread(pthread_t thread)
{
	return pthread_join(thread, NULL);
}

/* Runs `body` in so many threads. `create` and `join` make the calls for it, which the program may count. */
__attribute__((unused)) PLAIN static void run_threads(int threads, void *(*body)(void *),
			      int (*create)(pthread_t *, void *(*)(void *), void *), int (*join)(pthread_t))
{
	pthread_t list[64];
	long i;

	NEED(threads <= 64);
	for (i = 0; i < threads; i++)
		NEED(create(&list[i], body, (void *)i) == 0);
	for (i = 0; i < threads; i++)
		NEED(join(list[i]) == 0);
}

#endif
