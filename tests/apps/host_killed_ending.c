/* Kills children while they end, COUNT of them, at random moments: host_killed_ending COUNT. Each child has
 * recorded something and calls exit(). Prints how many there were. */
#include "host.h"
#include "random.h"

enum { LONGEST_WAIT = 40000 };

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100, i, ends[2];
	volatile uint64_t turns;
	pid_t child;
	char byte;

	random_seed(0);
	for (i = 0; i < count; i++) {
		need(!pipe(ends));
		need((child = fork()) >= 0);
		if (!child) {
			allocate(100);
			need(write(ends[1], "x", 1) == 1);
			exit(0);
		}
		need(read(ends[0], &byte, 1) == 1);
		for (turns = random_below(LONGEST_WAIT) * random_below(50); turns; turns--)
			;
		kill(child, SIGKILL);
		need(waitpid(child, NULL, 0) == child);
		need(!close(ends[0]) && !close(ends[1]));
	}
	printf("%d children\n", count);
	return 0;
}
