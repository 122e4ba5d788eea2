/* This program waits for ever, in functions that it knows: THREADS threads for a condition, in await_work();
 * one for its standard input, in read_input(); and the first for their ends, in join_all(). So it stays as it
 * is until it is killed, or until its input ends. Then await_work() returns, and it ends.
 *
 * usage: stuck THREADS */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "need.h"

enum { MOST_THREADS = 100 };

#define APART __attribute__((noinline, noclone))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static bool is_over;
static pthread_t threads[MOST_THREADS + 1];

APART static void await_work(void)
{
	need(pthread_mutex_lock(&lock) == 0);
	while (!is_over)
		need(pthread_cond_wait(&has_work, &lock) == 0);
	need(pthread_mutex_unlock(&lock) == 0);
}

static void *work(void *argument)
{
	await_work();
	return argument;
}

APART static void read_input(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

static void *read_and_end(void *argument)
{
	read_input();
	need(pthread_mutex_lock(&lock) == 0);
	is_over = true;
	need(pthread_cond_broadcast(&has_work) == 0);
	need(pthread_mutex_unlock(&lock) == 0);
	return argument;
}

APART static void join_all(long count)
{
	for (long i = 0; i < count; i++)
		need(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char **argv)
{
	long count = argc == 2 ? atol(argv[1]) : 0, i;

	need(count > 0 && count <= MOST_THREADS);
	for (i = 0; i < count; i++)
		need(pthread_create(&threads[i], NULL, work, NULL) == 0);
	need(pthread_create(&threads[count], NULL, read_and_end, NULL) == 0);
	join_all(count + 1);
	return 0;
}
