/* This program makes many short calls and few long ones, and says how many. Each thread gets and frees a
 * block PAIRS times, and looks for /nowhere/N after every thousandth pair. With `fork`, a child does the same
 * afterwards. Then the program looks for /nowhere/line for each line of its standard input.
 *
 * usage: spends THREADS PAIRS [fork] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"

enum { MOST_THREADS = 64 };

static long pairs;

static void *spend(void *unused)
{
	char path[64];
	long i;

	for (i = 1; i <= pairs; i++) {
		void *volatile block = malloc(32);

		free(block);
		if (i % 1000)
			continue;
		snprintf(path, sizeof(path), "/nowhere/%ld", i);
		need(access(path, F_OK));
	}
	return unused;
}

static void spend_all(int threads)
{
	pthread_t list[MOST_THREADS];
	int i;

	for (i = 1; i < threads; i++)
		need(!pthread_create(&list[i], NULL, spend, NULL));
	spend(NULL);
	for (i = 1; i < threads; i++)
		need(!pthread_join(list[i], NULL));
}

int main(int argc, char **argv)
{
	char line[64];
	int threads, status;
	pid_t child;

	need(argc > 2);
	threads = atoi(argv[1]);
	pairs = atol(argv[2]);
	need(threads > 0 && threads <= MOST_THREADS && pairs > 0);
	spend_all(threads);
	if (argc > 3) {
		child = fork();
		if (!child) {
			spend_all(threads);
			_exit(0);
		}
		need(waitpid(child, &status, 0) == child && !status);
	}
	while (fgets(line, sizeof(line), stdin))
		need(access("/nowhere/line", F_OK));
	printf("%ld pairs in each thread\n", pairs);
	return 0;
}
