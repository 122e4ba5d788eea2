/* What a thread that waits is known by. */
#ifndef ASLEEP_H
#define ASLEEP_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "unseen.h"

/* Whether a thread of this process sleeps in this system call. 0 is a thread that has not said its number yet. */
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

/* Whether it sleeps in a lock, a semaphore or the like. */
static inline bool is_in_futex(int tid)
{
	return is_in_call(tid, SYS_futex);
}

/* There may be fewer processors than threads, and other work for them. Not by a call that is traced. */
__attribute__((unused)) static void let_others_run(void)
{
	unseen(SYS_sched_yield);
}

/* How often a thread has gone to sleep so far, if it sleeps now and would let a signal through; 0: not so. */
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

/* Until a thread sleeps in the kernel, which is where it waits for a lock of ours: for one of the tracer's it would with signals blocked.
 * What is read of it is not of one moment: all the while between two readings it must have slept. */
__attribute__((unused)) static void wait_until_asleep(int tid)
{
	unsigned long before, now = 0;

	do {
		before = now;
		let_others_run();
		now = slept(tid);
	} while (!now || now != before);
}

#endif
