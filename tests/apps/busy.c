/* In this program four threads do a little of everything until they are killed. The tests kill it, and copy
 * its trace, at any moment.
 *
 *	busy [ROUNDS]		says "ready" when all threads run; for ever without ROUNDS
 *
 * It is compiled with -finstrument-functions, so every thread has calls in progress at every moment. Paths
 * have random lengths and offsets random sizes (random.h), so records of every size are cut off.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "need.h"
#include "random.h"

enum { THREADS = 4, NEST = 7, LARGE_BYTES = 100000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t ready;
static int pipe_ends[2], null;
static long rounds;
static unsigned turn;
static unsigned long sum;
static char nowhere[PATH_MAX];

static void contend(void)
{
	int i;

	for (i = 0; i < 5; i++) {
		pthread_mutex_lock(&mutex);
		sum++;
		pthread_mutex_unlock(&mutex);
	}
}

static void allocate(void)
{
	void *blocks[8];
	int i;

	for (i = 0; i < 8; i++) {
		blocks[i] = malloc(random_length(LARGE_BYTES / 2));
		need(blocks[i]);
	}
	for (i = 0; i < 8; i++)
		free(blocks[i]);
}

static void nest(int depth)
{
	allocate();
	need(access(path_nowhere(nowhere, random_length(PATH_MOST)), F_OK) == -1);
	if (depth)
		nest(depth - 1);
	else
		contend();
}

/* The threads take turns in pairs: each waits for the other's condition most of the time. */
static void take_turns(unsigned thread)
{
	pthread_mutex_lock(&turn_mutex);
	while (turn % 2 != thread % 2)
		pthread_cond_wait(&turn_cond, &turn_mutex);
	turn++;
	pthread_cond_broadcast(&turn_cond);
	pthread_mutex_unlock(&turn_mutex);
}

static void move_bytes(unsigned thread)
{
	char bytes[64] = "";

	need(write(null, bytes, sizeof(bytes)) == sizeof(bytes));
	need(lseek(null, (off_t)random_number(62), SEEK_SET) >= 0);
	if (thread % 2)
		need(write(pipe_ends[1], bytes, sizeof(bytes)) == sizeof(bytes));
	else
		need(read(pipe_ends[0], bytes, sizeof(bytes)) > 0);
}

static void *work(void *argument)
{
	unsigned thread = (unsigned)(size_t)argument;
	long i;

	random_seed(1 + thread);
	pthread_barrier_wait(&ready);
	for (i = 0; !rounds || i < rounds; i++) {
		/* These lifetimes end many events later. */
		void *block = malloc(LARGE_BYTES);
		int fd = dup(null);

		need(block && fd >= 0);
		nest(NEST);
		move_bytes(thread);
		free(block);
		need(close(fd) == 0);
		if (thread < 2)
			take_turns(thread);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	size_t i;

	rounds = argc > 1 ? atol(argv[1]) : 0;
	random_seed(0);
	path_nowhere_fill(nowhere);
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	need(null >= 0 && pipe(pipe_ends) == 0);
	need(pthread_barrier_init(&ready, NULL, THREADS + 1) == 0);
	for (i = 0; i < THREADS; i++)
		need(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
	pthread_barrier_wait(&ready);
	need(write(1, "ready\n", 6) == 6);
	for (i = 0; i < THREADS; i++)
		need(pthread_join(threads[i], NULL) == 0);
	return 0;
}
