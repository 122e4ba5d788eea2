/* Has children that record nothing: each is made by clone(), with a random choice of what it shares with its
 * parent, uses the processor for a moment, and makes no call. Others, by fork(), make a call each. It prints
 * how many processes there are, and how many of them recorded nothing.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"
#include "random.h"

enum { MOST = 6, STACK_BYTES = 64 << 10 };

static int spin(void *rounds)
{
	for (volatile long i = 0; i < (long)rounds; i++)
		;
	return 0;
}

int main(void)
{
	static const int shares[] = {0, CLONE_FS, CLONE_FILES, CLONE_VM | CLONE_VFORK};
	static char stacks[MOST][STACK_BYTES] __attribute__((aligned(16)));
	int silent, others;
	uint64_t state;

	random_seed(0);
	state = random_state_of(1);
	silent = 1 + (int)(random_of(&state) % MOST);
	others = (int)(random_of(&state) % 3);
	for (int i = 0; i < silent; i++) {
		int flags = shares[random_of(&state) % (sizeof(shares) / sizeof(*shares))];
		long rounds = (long)(random_of(&state) % 3000000);

		need(clone(spin, stacks[i] + STACK_BYTES, flags | SIGCHLD, (void *)rounds) > 0);
	}
	for (int i = 0; i < others; i++) {
		pid_t child = fork();

		need(child >= 0);
		if (!child)
			_exit(access("/", F_OK));
	}
	while (wait(NULL) > 0)
		;
	printf("%d %d\n", 1 + silent + others, silent);
	return 0;
}
