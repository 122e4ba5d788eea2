/* The host_*.c programs share this file. Each meets one hostile condition after another, prints what it saw,
 * and calls mark() a known number of times: the trace has to hold as many calls of pthread_barrier_init(),
 * which nobody else makes. The count is in memory that children share, so that main() can print the sum of
 * all processes with print_marks(). */
#ifndef HOST_H
#define HOST_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_ulong *marks;

#define need(condition)                                                                 \
	do {                                                                            \
		if (!(condition)) {                                                     \
			dprintf(2, "%s:%d: %s: %m\n", __FILE__, __LINE__, #condition);  \
			abort();                                                        \
		}                                                                       \
	} while (0)

/* Runs before constructors that call mark(). It may run again without harm. */
__attribute__((constructor(101), unused)) static void share_marks(void)
{
	if (!marks)
		marks = mmap(NULL, sizeof(*marks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* Counts one mark. Signal handlers may call it: glibc's function stores a few words and does nothing else. */
__attribute__((unused)) static void mark(void)
{
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, 1);
	atomic_fetch_add(marks, 1);
}

/* Makes a barrier for two threads, which counts as a mark. */
__attribute__((unused)) static void mark_barrier(pthread_barrier_t *barrier)
{
	need(!pthread_barrier_init(barrier, NULL, 2));
	atomic_fetch_add(marks, 1);
}

__attribute__((unused)) static void mark_times(unsigned long times)
{
	while (times--)
		mark();
}

/* Takes and frees a block. gcc does not see through it, so it makes both calls. */
__attribute__((unused)) static void allocate(size_t size)
{
	void *volatile block = malloc(size);

	free(block);
}

/* Prints the text by write(), which also works where stdio's buffer is not flushed any more, or is locked. */
__attribute__((unused)) static void say(const char *text)
{
	need(write(1, text, strlen(text)) == (ssize_t)strlen(text));
}

__attribute__((unused)) static void print_marks(void)
{
	char line[64];

	snprintf(line, sizeof(line), "marks %lu\n", atomic_load(marks));
	say(line);
}

__attribute__((unused)) static void wait_for(pid_t child)
{
	char line[64];
	int status;

	need(child > 0 && waitpid(child, &status, 0) == child);
	snprintf(line, sizeof(line), "child: status %x\n", status);
	say(line);
}

#endif
