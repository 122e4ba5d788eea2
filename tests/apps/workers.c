/* A server that forks its workers ahead: all are alive when the first makes a call. Standard input steers it,
 * and an end of file there lets it go on.
 *
 *	workers COUNT ROUNDS
 *
 * It prints "alive" and the workers' process ids, and waits for a line. Each worker makes ROUNDS marks then,
 * in which it never sleeps. When all have done so it prints "done", and waits for another line before they
 * end. */
#include "host.h"

static int ready[2], go[2], end[2];

static void meet(int from)
{
	char byte;

	need(write(ready[1], "x", 1) == 1);
	need(read(from, &byte, 1) == 0);
}

static void work(unsigned long rounds)
{
	need(!close(go[1]) && !close(end[1]));
	meet(go[0]);
	mark_times(rounds);
	meet(end[0]);
	_exit(0);
}

static void await(unsigned count)
{
	char byte;

	while (count--)
		need(read(ready[0], &byte, 1) == 1);
}

static void hear(void)
{
	char line[100];

	need(read(STDIN_FILENO, line, sizeof(line)) >= 0);
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 1, i;
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	int status, bad = 0;

	need(!pipe(ready) && !pipe(go) && !pipe(end));
	dprintf(1, "alive");
	for (i = 0; i < count; i++) {
		pid_t pid = fork();

		need(pid >= 0);
		if (!pid)
			work(rounds);
		dprintf(1, " %d", (int)pid);
	}
	await(count);
	dprintf(1, "\n");
	hear();
	need(!close(go[1]));
	await(count);
	dprintf(1, "done\n");
	hear();
	need(!close(end[1]));
	for (i = 0; i < count; i++)
		bad += wait(&status) < 0 || status != 0;
	dprintf(1, "%u workers, %d died, marks %lu\n", count, bad, atomic_load(marks));
	return bad != 0;
}
