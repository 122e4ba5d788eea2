/* This program has many call stacks. Its function calls itself at two places, down to some depth, and takes
 * and frees a block at each end: 2 to the power of DEPTH stacks, no two of which are alike.
 *
 * usage: branches DEPTH */
#include <stdlib.h>

#include "need.h"

static volatile unsigned long ends;

/* What follows a call keeps it from being a jump. */
static __attribute__((noinline, noclone)) void branch(unsigned depth)
{
	void *volatile block;

	if (!depth) {
		block = malloc(1);
		free(block);
		ends++;
		return;
	}
	branch(depth - 1);
	ends += 0;
	branch(depth - 1);
	ends += 0;
}

int main(int argc, char **argv)
{
	need(argc == 2 && atoi(argv[1]) < 30);
	branch((unsigned)atoi(argv[1]));
	need(ends == 1ul << atoi(argv[1]));
	return 0;
}
