/* What a thread that waits for ever is known by. */
#ifndef ASLEEP_H
#define ASLEEP_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* Whether a thread of this process sleeps in a lock, a semaphore or the like. 0 is a thread that has not said its number yet. */
static inline bool is_in_futex(int tid)
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
	return atoi(text) == SYS_futex && strncmp(text, "running", 7) != 0;
}

#endif
