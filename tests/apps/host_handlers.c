/* This program forks with fork handlers of a library. The library's constructor registers them before the
 * agent's constructor runs, and calls nothing before that which the agent stands in for. With LIBRARY this
 * file is that library. Each handler marks, in the parent and in the child. */
#ifdef LIBRARY
#include <pthread.h>

enum { FORKS = 3, MARKS = 7 };

static void handle(void);

/* This constructor stands in front of the one in host.h, which has the same priority and calls mmap(). */
__attribute__((constructor(101))) static void begin(void)
{
	pthread_atfork(handle, handle, handle);
}

#include "host.h"

static void handle(void)
{
	mark_times(MARKS);
}

void fork_some(void);

void fork_some(void)
{
	unsigned i;

	for (i = 0; i < FORKS; i++) {
		pid_t child = fork();

		need(child >= 0);
		if (!child) {
			mark();
			exit(0);
		}
		wait_for(child);
	}
	print_marks();
}
#else
void fork_some(void);

int main(void)
{
	fork_some();
	return 0;
}
#endif
