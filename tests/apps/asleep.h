/* With these functions a program to trace finds out, from /proc, whether one of its threads waits. */
#ifndef ASLEEP_H
#define ASLEEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "unseen.h"

/* Returns whether a thread of this process sleeps in the system call. `tid` is 0 if the thread has not said
 * its id yet. */
static inline bool is_in_call(int tid, long call)
{
	char path[64], text[256] = "";
	FILE *file;

	if (!tid)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	file = fopen(path, "re");
	if (!file)
		abort();
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return atoi(text) == call && strncmp(text, "running", 7) != 0;
}

/* Gives the processor up, because there may be fewer processors than threads, or other work for them. The
 * call is not traced. */
__attribute__((unused)) static void let_others_run(void)
{
	unseen(SYS_sched_yield);
}

/* Returns how often a thread has gone to sleep so far, or 0 if it does not sleep now or blocks a signal. */
__attribute__((unused)) static unsigned long slept(int tid)
{
	char path[64], text[4096], *state, *blocked, *switches;
	FILE *file;
	size_t bytes;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	file = fopen(path, "re");
	if (!file)
		abort();
	bytes = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[bytes] = '\0';
	state = strstr(text, "\nState:\t");
	blocked = strstr(text, "\nSigBlk:\t");
	switches = strstr(text, "\nvoluntary_ctxt_switches:\t");
	if (!state || !blocked || !switches)
		abort();
	if (state[8] != 'S' || strtoull(blocked + 9, NULL, 16))
		return 0;
	return strtoul(switches + 26, NULL, 10);
}

/* Returns when a thread sleeps in the kernel with no signal blocked. Then it waits for a lock of the program:
 * where it waits for one of the tracer, signals are blocked. The kernel does not tell state and counts of one
 * moment, so the thread must have slept all the while between two readings. */
__attribute__((unused)) static void wait_until_asleep(int tid)
{
	unsigned long before, now = 0;

	do {
		before = now;
		let_others_run();
		now = slept(tid);
	} while (!now || now != before);
}

/* Returns when a thread, once it has told its id, sleeps in the system call, and not for the tracer: see
 * wait_until_asleep(). */
__attribute__((unused)) static void wait_until_in(long call, atomic_int *tid)
{
	unsigned long before, now = 0;
	int id;

	do {
		let_others_run();
		id = atomic_load(tid);
		before = now;
		now = is_in_call(id, call) ? slept(id) : 0;
	} while (!now || now != before);
}

#endif
