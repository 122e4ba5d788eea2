/* Threads make calls numbered 1, 2, 3, ... and tell on standard output how far they have come. So whoever
 * reads that knows what has to be in the trace, whenever the program is cut off.
 *
 *	progress THREADS EVERY [CHILDREN]
 *
 * A report (struct report) is written at every EVERY-th call. With CHILDREN as many children do the same,
 * and one thread of each process forks a short one at every 64th report. This goes on until standard input
 * ends. Then each thread reports its last call, the process saves a snapshot, by the signal that is meant
 * for it, and all end.
 *
 * A numbered call is calloc(number, 0) or, for one in PATH_CALLS, truncate() of a path of random length
 * (random.h) to that many bytes. So the trace is cut off in records of every size.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask_for_snapshot.h"
#include "need.h"
#include "random.h"

/* Random arguments follow from the numbers of process and thread. A process has fewer threads than this. */
enum { SHORT_LIFE = 64, PATH_CALLS = 4, THREADS_MOST = 1000 };

/* Half of what PIPE_BUF promises is far more than this: each write is whole. */
struct report {
	uint32_t pid, tid;
	uint32_t call, is_last;
};

static unsigned long every;
static bool forks;
static unsigned long process;
static char nowhere[PATH_MAX];
static atomic_bool ending;
static pthread_barrier_t ended;

static void report(unsigned long call, bool is_last)
{
	struct report report = {(uint32_t)getpid(), (uint32_t)gettid(), (uint32_t)call, is_last};

	need(write(STDOUT_FILENO, &report, sizeof(report)) == sizeof(report));
}

static void count(unsigned long call)
{
	void *volatile block;

	if (random_below(PATH_CALLS) == 0) {
		need(truncate(path_nowhere(nowhere, random_length(PATH_MOST)), (off_t)call) == -1);
		return;
	}
	block = calloc(call, 0);
	free(block);
}

static void live_shortly(void)
{
	unsigned long i;
	pid_t child = fork();

	need(child >= 0);
	if (child) {
		need(waitpid(child, NULL, 0) == child);
		return;
	}
	for (i = 1; i <= every; i++)
		count(i);
	report(every, true);
	_exit(0);
}

static void *work(void *argument)
{
	unsigned long thread = (uintptr_t)argument, i;

	random_seed(1 + process * THREADS_MOST + thread);
	for (i = 1; !atomic_load_explicit(&ending, memory_order_relaxed); i++) {
		count(i);
		if (i % every)
			continue;
		report(i, false);
		if (forks && !thread && i / every % SHORT_LIFE == 0)
			live_shortly();
	}
	report(i - 1, true);
	pthread_barrier_wait(&ended);
	pthread_barrier_wait(&ended);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, children, i;
	pthread_t *thread = calloc(threads, sizeof(*thread));
	char byte;

	every = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	children = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	need(thread && threads && threads < THREADS_MOST && every);
	random_seed(0);
	path_nowhere_fill(nowhere);
	forks = children != 0;
	for (i = 0; i < children; i++) {
		pid_t child = fork();

		need(child >= 0);
		if (!child) {
			process = i + 1;
			break;
		}
	}
	need(pthread_barrier_init(&ended, NULL, (unsigned)threads + 1) == 0);
	for (i = 0; i < threads; i++)
		need(pthread_create(&thread[i], NULL, work, (void *)i) == 0);
	need(read(STDIN_FILENO, &byte, 1) == 0);
	atomic_store(&ending, true);
	pthread_barrier_wait(&ended);
	ask_for_snapshot();
	pthread_barrier_wait(&ended);
	for (i = 0; i < threads; i++)
		need(pthread_join(thread[i], NULL) == 0);
	while (wait(NULL) > 0)
		;
	free(thread);
	return 0;
}
