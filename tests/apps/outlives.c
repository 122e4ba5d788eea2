/* Forks some times; each process but the last exits at once. The last one waits, with no call that a trace
 * could have, until the file GATE has a line (with `-` it does not wait); then it calls access() COUNT times
 * and exits. With `leaves` its first thread ends before that, and another one does so.
 *
 * usage: outlives FORKS GATE COUNT STATUS [leaves] */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unseen.h"

static void *go_on(void *arguments)
{
	char **argv = arguments, path[64], byte;
	long count = strtol(argv[3], NULL, 10), i, gate;

	if (strcmp(argv[2], "-") != 0) {
		gate = unseen(SYS_openat, AT_FDCWD, argv[2], O_RDONLY, 0);
		if (gate < 0 || unseen(SYS_read, gate, &byte, 1) != 1)
			exit(1);
	}
	for (i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "/nowhere/%ld", i);
		if (access(path, F_OK) == 0)
			exit(1);
	}
	exit(0);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	long forks, i;

	if (argc < 5)
		return 2;
	forks = strtol(argv[1], NULL, 10);
	for (i = 0; i < forks; i++) {
		if (fork())
			_exit((int)strtol(argv[4], NULL, 10));
		setsid();
	}
	if (argc == 5)
		go_on(argv);
	if (pthread_create(&thread, NULL, go_on, argv))
		return 1;
	pthread_exit(NULL);
}
