/* A process ends in some way, and has children: see main(). The sizes of allocations tell in which of them
 * a call was made. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"

enum { CHILDREN = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void allocate(size_t size, int times)
{
	while (times--) {
		void *volatile block = malloc(size);

		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		free(block);
	}
}

/* Forks children. Each has a file of its own, and the parent goes on in its own: sizes are 20000 in the
 * parent, and 20001 and more in the children. */
static int forks(void)
{
	int status;
	pid_t child;
	long i;

	allocate(20000, 10);
	for (i = 1; i <= CHILDREN; i++) {
		child = fork();
		need(child >= 0);
		if (!child) {
			allocate(20000 + (size_t)i, 100);
			if (i % 2)
				exit((int)i);
			_exit((int)i);
		}
		need(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == i);
		allocate(20000, 10);
	}
	allocate(20000, 10);
	return 0;
}

static void *keep_busy(void *argument)
{
	for (;;)
		allocate(20100, 1);
	return argument;
}

/* Forks while other threads allocate and lock. */
static int forks_threaded(void)
{
	pthread_t thread;
	int status, i;
	pid_t child;

	for (i = 0; i < 2; i++)
		need(pthread_create(&thread, NULL, keep_busy, NULL) == 0);
	for (i = 0; i < CHILDREN * 5; i++) {
		child = fork();
		need(child >= 0);
		if (!child) {
			/* No lock: another thread may have held it when this one was made. */
			void *volatile block = malloc(20200);

			free(block);
			_exit(3);
		}
		need(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const struct rlimit no_core = {0, 0};

	if (!strcmp(what, "fork"))
		return forks();
	if (!strcmp(what, "fork-threaded"))
		return forks_threaded();
	if (!strcmp(what, "after-exec")) {
		allocate(20001, 10);
		return 4;
	}
	allocate(20000, 10);
	if (!strcmp(what, "exec"))
		execl(argv[0], argv[0], "after-exec", (char *)NULL);
	if (!strcmp(what, "_exit"))
		_exit(6);
	if (!strcmp(what, "quick_exit"))
		quick_exit(6);
	if (!strcmp(what, "abort")) {
		setrlimit(RLIMIT_CORE, &no_core);
		abort();
	}
	return 2;
}
