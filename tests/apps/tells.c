/* Threads make calls numbered 1, 2, 3, ... and write into a shared file, after each call, how many they have
 * made. So whoever has the file knows what has to be in the trace, whenever the program or its manager is
 * killed.
 *
 *	tells FILE THREADS CHILDREN SHORT REST
 *	tells FILE CALLS		makes so many calls, and ends
 *
 * A numbered call is truncate("/nowhere", number). CHILDREN forked processes do the same as the first one.
 * With SHORT not 0 one thread of each process makes, every SHORT calls, a child that makes a few calls and
 * ends: normally, at once, or by executing true; as another user, if this one may, or as a daemon. Or this
 * program is executed, by the child of a fork or of a vfork, and makes them. Threads make calls in bursts of
 * random lengths, and rest in between for random times of REST microseconds at most (random.h). All this
 * goes on until standard input ends. A number in the file has OTHER_USER added if the process has changed its
 * user.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "need.h"
#include "random.h"

enum { MOST = 1 << 16, BURST = 400, SHORT_CALLS = 300, ENDS = 7, THREADS_MOST = 1000, NOBODY = 65534 };

static const uint64_t OTHER_USER = UINT64_C(1) << 32;

/* The file: how many entries there are, and an entry for each thread. */
struct told {
	_Atomic uint64_t count;
	struct entry {
		uint32_t pid, tid;
		_Atomic uint64_t calls;
	} list[MOST];
};

static struct told *told;
static unsigned long short_after, rest_us;
static unsigned long process;
static atomic_bool ending;
static uint64_t added;
static char *program, *path;

static struct entry *begin(void)
{
	uint64_t number = atomic_fetch_add(&told->count, 1);

	need(number < MOST);
	told->list[number].tid = (uint32_t)gettid();
	told->list[number].pid = (uint32_t)getpid();
	return &told->list[number];
}

static void call(struct entry *entry, unsigned long number)
{
	need(truncate("/nowhere", (off_t)number) == -1);
	atomic_store_explicit(&entry->calls, number + added, memory_order_release);
}

/* Executes this program, which makes so many calls. */
static void live_anew(unsigned long calls, bool shares_memory)
{
	char number[16], *argv[] = {program, path, number, NULL};
	pid_t child;

	snprintf(number, sizeof(number), "%lu", calls);
	child = shares_memory ? vfork() : fork();
	need(child >= 0);
	if (!child) {
		execv(program, argv);
		_exit(1);
	}
	need(waitpid(child, NULL, 0) == child);
}

static void live_shortly(void)
{
	static char *const argv[] = {(char *)"true", NULL};
	unsigned long calls = 1 + random_below(SHORT_CALLS), way = random_below(ENDS), i;
	struct entry *entry;
	pid_t child;

	if (way >= 5) {
		live_anew(calls, way == 6);
		return;
	}
	child = fork();
	need(child >= 0);
	if (child) {
		need(waitpid(child, NULL, 0) == child);
		return;
	}
	if (way == 3 && setgid(NOBODY) == 0) {
		need(setuid(NOBODY) == 0);
		added = OTHER_USER;
	}
	if (way == 4) {
		/* The daemon is nobody's child when it makes its calls. */
		need(setsid() > 0);
		child = fork();
		need(child >= 0);
		if (child)
			_exit(0);
	}
	entry = begin();
	for (i = 1; i <= calls; i++)
		call(entry, i);
	if (way == 0)
		exit(0);
	if (way == 1)
		execvp(argv[0], argv);
	_exit(0);
}

static void *work(void *argument)
{
	unsigned long thread = (uintptr_t)argument, left, i = 0;
	struct entry *entry = begin();
	struct timespec rest = {0};

	random_seed(1 + process * THREADS_MOST + thread);
	while (!atomic_load_explicit(&ending, memory_order_relaxed)) {
		for (left = 1 + random_below(BURST); left; left--) {
			call(entry, ++i);
			if (short_after && !thread && i % short_after == 0)
				live_shortly();
		}
		rest.tv_nsec = (long)random_below(rest_us + 1) * 1000;
		nanosleep(&rest, NULL);
	}
	return NULL;
}

static struct told *open_told(void)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	void *memory;

	need(fd >= 0 && ftruncate(fd, sizeof(*told)) == 0);
	memory = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(memory != MAP_FAILED);
	close(fd);
	return memory;
}

int main(int argc, char **argv)
{
	unsigned long threads, children, i;
	pthread_t *thread;
	char byte;

	need(argc == 3 || argc == 6);
	program = argv[0];
	path = argv[1];
	told = open_told();
	if (argc == 3) {
		struct entry *entry = begin();

		for (i = 0; i < strtoul(argv[2], NULL, 10);)
			call(entry, ++i);
		return 0;
	}
	threads = strtoul(argv[2], NULL, 10);
	children = strtoul(argv[3], NULL, 10);
	short_after = strtoul(argv[4], NULL, 10);
	rest_us = strtoul(argv[5], NULL, 10);
	thread = calloc(threads, sizeof(*thread));
	need(thread && threads && threads < THREADS_MOST);
	for (i = 0; i < children; i++) {
		pid_t child = fork();

		need(child >= 0);
		if (!child) {
			process = i + 1;
			break;
		}
	}
	for (i = 0; i < threads; i++)
		need(pthread_create(&thread[i], NULL, work, (void *)i) == 0);
	need(read(STDIN_FILENO, &byte, 1) == 0);
	atomic_store(&ending, true);
	for (i = 0; i < threads; i++)
		need(pthread_join(thread[i], NULL) == 0);
	while (wait(NULL) > 0)
		;
	free(thread);
	return 0;
}
