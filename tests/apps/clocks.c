/* In this program two processes of two threads each call access() with the path /BEFORE/AFTER-THE-LAST: what
 * they read from the clock before this call, and after the last one. So whoever reads the trace knows between
 * which two times each call was. Between calls the threads sleep or work, at random, so that a tracer's own
 * clock is tested in every state.
 *
 *	clocks SECONDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

static uint64_t until_ns;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *work(void *number)
{
	uint64_t before_ns, after_ns = 0;
	volatile unsigned round;
	char path[64];

	random_seed((uintptr_t)number);
	while ((before_ns = now_ns()) < until_ns) {
		snprintf(path, sizeof(path), "/%llu/%llu", (unsigned long long)before_ns,
			 (unsigned long long)after_ns);
		if (!access(path, F_OK))
			abort();
		after_ns = now_ns();
		switch (random_below(8)) {
		case 0:
			nanosleep(&(struct timespec){0, (long)random_below(30 * 1000 * 1000)}, NULL);
			break;
		case 1:
		case 2:
			nanosleep(&(struct timespec){0, (long)random_below(1000 * 1000)}, NULL);
			break;
		default:
			for (round = 0; round < 2000; round++)
				;
		}
	}
	return NULL;
}

int main(int count, char **argument)
{
	pthread_t thread;
	uintptr_t first = 1;
	pid_t child;

	random_seed(0);
	until_ns = now_ns() + (uint64_t)(strtod(count > 1 ? argument[1] : "1", NULL) * 1e9);
	child = fork();
	if (!child)
		first = 3;
	if (child < 0 || pthread_create(&thread, NULL, work, (void *)(first + 1)))
		return 1;
	work((void *)first);
	pthread_join(thread, NULL);
	if (child)
		waitpid(child, NULL, 0);
	return 0;
}
