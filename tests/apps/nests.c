/* Calls instrumented functions at random, from within one another, in several threads, until standard input
 * ends: the same frame is that of one function now and of another one a moment later. It is compiled with
 * -finstrument-functions, and what decides is not. It prints a line when all threads are there.
 *
 *	nests THREADS DEPTH
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "need.h"
#include "random.h"

#define PLAIN __attribute__((no_instrument_function))

enum { THREADS_MOST = 64 };

static atomic_bool is_over;

void small(int depth);
void large(int depth);
void twice(int depth);

PLAIN static void some(int depth)
{
	uint64_t count;

	if (atomic_load(&is_over))
		return;
	usleep((useconds_t)(random_below(300)));
	for (count = depth > 0 ? random_below(3) : 0; count; count--) {
		switch (random_below(3)) {
		case 0: small(depth - 1); break;
		case 1: large(depth - 1); break;
		default: twice(depth - 1); break;
		}
	}
}

void small(int depth)
{
	some(depth);
}

void large(int depth)
{
	volatile char room[200];

	room[0] = (char)depth;
	some(depth);
	need(room[0] == (char)depth);
}

void twice(int depth)
{
	some(depth);
	some(depth - 1);
}

static int depth_most;

PLAIN static void *nest(void *argument)
{
	random_seed((uintptr_t)argument);
	while (!atomic_load(&is_over)) {
		small(depth_most);
		twice(depth_most);
		large(depth_most);
	}
	return NULL;
}

PLAIN int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MOST];
	int count, i;
	char byte;

	need(argc == 3);
	count = atoi(argv[1]);
	depth_most = atoi(argv[2]);
	need(count > 0 && count <= THREADS_MOST);
	random_seed(0);
	for (i = 0; i < count; i++)
		need(!pthread_create(&threads[i], NULL, nest, (void *)(uintptr_t)(i + 1)));
	need(write(STDOUT_FILENO, "begun\n", 6) == 6);
	while (read(STDIN_FILENO, &byte, 1) == 1)
		;
	atomic_store(&is_over, true);
	for (i = 0; i < count; i++)
		need(!pthread_join(threads[i], NULL));
	return 0;
}
