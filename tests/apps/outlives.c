/* Forks some times; each process but the last exits at once. The last one waits, with no call that a trace
 * could have, until the file GATE has a line; then it calls access() COUNT times and exits.
 *
 * usage: outlives FORKS GATE COUNT STATUS */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unseen.h"

int main(int argc, char **argv)
{
	long forks, count, i, gate;
	char path[64], byte;

	if (argc != 5)
		return 2;
	forks = strtol(argv[1], NULL, 10);
	count = strtol(argv[3], NULL, 10);
	for (i = 0; i < forks; i++) {
		if (fork())
			_exit((int)strtol(argv[4], NULL, 10));
		setsid();
	}
	gate = unseen(SYS_openat, AT_FDCWD, argv[2], O_RDONLY, 0);
	if (gate < 0 || unseen(SYS_read, gate, &byte, 1) != 1)
		return 1;
	for (i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "/nowhere/%ld", i);
		if (access(path, F_OK) == 0)
			return 1;
	}
	return 0;
}
