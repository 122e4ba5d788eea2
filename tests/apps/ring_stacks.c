/* In this program one thread finds stacks, and another one's events name them. First it asks for blocks from
 * so many places that the room for stacks which are never overwritten is taken. Then it makes a thread, gives
 * up a lock for which that waits, and opens descriptors, each from a place of its own. After that it makes so
 * many calls that a ring of a few megabytes forgets what it did before. At last the other thread, which has
 * made few calls, closes half of the descriptors.
 *
 * It prints how many of the descriptors stay open, and how many were closed at the end.
 *
 * usage: ring_stacks DESCRIPTORS CALLS */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "need.h"
#include "random.h"

#define APART __attribute__((noinline, noclone))

enum { PLACES = 3000, DEPTH = 12, BIG = 70000, DESCRIPTORS_MOST = 500, CONTENDED = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *volatile kept;
static int descriptors[DESCRIPTORS_MOST];
static unsigned opened;
static pthread_t thread;
static sem_t is_over;
static volatile unsigned sink;

APART static void second(unsigned path, unsigned depth, void (*last)(void));

/* Calls `last` from a place that `path` says: each of its bits is one of two functions. */
APART static void first(unsigned path, unsigned depth, void (*last)(void))
{
	if (!depth)
		last();
	else if (path & 1)
		first(path >> 1, depth - 1, last);
	else
		second(path >> 1, depth - 1, last);
	sink++;
}

APART static void second(unsigned path, unsigned depth, void (*last)(void))
{
	if (!depth)
		last();
	else if (path & 1)
		first(path >> 1, depth - 1, last);
	else
		second(path >> 1, depth - 1, last);
	sink += 2;
}

static void from_somewhere(void (*last)(void))
{
	first((unsigned)random_below(1 << DEPTH), DEPTH + 1, last);
}

static void ask(void)
{
	kept = malloc(BIG);
	free(kept);
}

static void open_one(void)
{
	descriptors[opened] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	need(descriptors[opened++] >= 0);
}

static void give_up(void)
{
	/* Somebody waits. */
	while (__atomic_load_n(&lock.__data.__lock, __ATOMIC_RELAXED) != CONTENDED)
		sched_yield();
	pthread_mutex_unlock(&lock);
}

static void *run(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	sem_wait(&is_over);
	for (unsigned i = 0; i < opened; i += 2)
		close(descriptors[i]);
	return NULL;
}

static void make_thread(void)
{
	need(pthread_create(&thread, NULL, run, NULL) == 0);
}

int main(int argc, char **argv)
{
	need(argc == 3 && atoi(argv[1]) <= DESCRIPTORS_MOST);
	random_seed(0);
	need(sem_init(&is_over, 0, 0) == 0);
	for (unsigned i = 0; i < PLACES; i++)
		from_somewhere(ask);
	pthread_mutex_lock(&lock);
	from_somewhere(make_thread);
	from_somewhere(give_up);
	for (int i = 0; i < atoi(argv[1]); i++)
		from_somewhere(open_one);
	for (long i = 0; i < atol(argv[2]); i++) {
		kept = malloc(10);
		free(kept);
	}
	sem_post(&is_over);
	pthread_join(thread, NULL);
	printf("%u %u\n", opened / 2, (opened + 1) / 2);
	return 0;
}
