/* This program keeps many blocks at a time, and other blocks come and go between them. Each thread gets
 * BLOCKS blocks of LEAST to MOST bytes, of which it frees none.
 *
 * usage: crowds THREADS BLOCKS LEAST MOST [only|killed|forks]
 *
 * With one of these words no other block is asked for once the first of these was. The program is `killed`
 * when it has them all, or `forks`, and its child gets BLOCKS more. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"
#include "random.h"

enum { MOST_THREADS = 64 };

static void **kept;
static size_t blocks, least, most;
static bool has_others = true;
static pthread_barrier_t together;

static __attribute__((noinline, noclone)) void keep(size_t number)
{
	size_t i, from = number * blocks;

	for (i = 0; i < blocks; i++) {
		/* The compiler does not see that nobody reads these. */
		void *volatile brief = has_others ? malloc(16 + random_below(1000)) : NULL;

		kept[from + i] = malloc(least + random_below(most - least + 1));
		need(kept[from + i]);
		free(brief);
	}
}

static void *keep_in_thread(void *number)
{
	random_seed((uintptr_t)number);
	pthread_barrier_wait(&together);
	keep((uintptr_t)number);
	return NULL;
}

static void keep_in_child(void)
{
	pid_t child = fork();
	int status;

	need(child >= 0);
	if (!child) {
		keep(0);
		_exit(0);
	}
	need(waitpid(child, &status, 0) == child && !status);
}

int main(int argc, char **argv)
{
	pthread_t list[MOST_THREADS];
	const char *end = argc == 6 ? argv[5] : "";
	size_t threads, i;

	need(argc == 5 || argc == 6);
	threads = strtoul(argv[1], NULL, 10);
	blocks = strtoul(argv[2], NULL, 10);
	least = strtoul(argv[3], NULL, 10);
	most = strtoul(argv[4], NULL, 10);
	has_others = argc == 5;
	need(threads > 0 && threads <= MOST_THREADS && most >= least);
	random_seed(0);
	kept = calloc(threads * blocks + 1, sizeof(*kept));
	need(kept);
	pthread_barrier_init(&together, NULL, (unsigned)threads);
	for (i = 1; i < threads; i++)
		need(!pthread_create(&list[i], NULL, keep_in_thread, (void *)(uintptr_t)i));
	pthread_barrier_wait(&together);
	keep(0);
	for (i = 1; i < threads; i++)
		need(!pthread_join(list[i], NULL));
	if (!strcmp(end, "killed"))
		kill(getpid(), SIGKILL);
	if (!strcmp(end, "forks"))
		keep_in_child();
	return 0;
}
