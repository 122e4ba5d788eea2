/* Leaves calls in progress by longjmp, and makes calls afterwards. It is compiled with
 * -finstrument-functions.
 *
 *	jumps read		jumps out of a read that waits, from a signal handler, several times
 *	jumps functions		jumps out of instrumented functions, from different depths, in a loop
 *	jumps deep DEPTH	does not jump: calls nest deeper than a trace shows, and each allocates
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "need.h"

enum { TIMES = 5 };

static sigjmp_buf back;
static int ends[2];

static void jump(int number)
{
	siglongjmp(back, number);
}

static void wait_in_read(void)
{
	char byte;

	need(read(ends[0], &byte, 1) == 1);
}

static void work_between(void)
{
	void *volatile block = malloc(20001);
	char byte = 0;

	free(block);
	need(write(ends[1], &byte, 1) == 1);
	need(read(ends[0], &byte, 1) == 1);
}

static void read_and_jump(void)
{
	struct sigaction action = {.sa_handler = jump};
	volatile int i;

	need(pipe(ends) == 0 && sigaction(SIGALRM, &action, NULL) == 0);
	for (i = 0; i < TIMES; i++) {
		if (!sigsetjmp(back, 1)) {
			/* The signal comes before, in or after the entry of read(): each has to be right. */
			ualarm(1000, 0);
			wait_in_read();
		}
		work_between();
	}
}

static void dig(int depth)
{
	if (!depth)
		siglongjmp(back, 1);
	dig(depth - 1);
	work_between();
}

static void jump_from_functions(void)
{
	volatile int i;

	need(pipe(ends) == 0);
	for (i = 0; i < TIMES; i++) {
		if (!sigsetjmp(back, 1))
			dig(i + 1);
		work_between();
	}
}

__attribute__((noinline)) static void recurse(int depth)
{
	void *volatile block;

	if (depth)
		recurse(depth - 1);
	block = malloc(20000 + (size_t)depth);
	free(block);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "read"))
		read_and_jump();
	else if (!strcmp(what, "functions"))
		jump_from_functions();
	else if (!strcmp(what, "deep"))
		recurse(argc > 2 ? atoi(argv[2]) - 1 : 0);
	else
		return 2;
	return 0;
}
