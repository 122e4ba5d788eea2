/* Executes `executes_bare end` some times, by an instruction of its own that no wrapper sees:
 *
 *	executes_bare BARE WHOLE [self]
 *
 * BARE children do so with an empty environment, and WHOLE ones with that of the program; they are made by
 * fork() and by vfork() in turn. With `self` the program itself does so with an empty environment in the end.
 * What it executes calls access() once.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"
#include "unseen.h"

extern char **environ;

static void execute(char *program, char **environment)
{
	char *arguments[] = {program, "end", NULL};

	unseen(SYS_execve, program, arguments, environment);
	_exit(1);
}

int main(int argc, char **argv)
{
	char *empty[] = {NULL};
	static long bare, whole, i; /* the children of vfork share the stack */

	if (argc < 3)
		return access("/nowhere", F_OK) == 0;
	bare = strtol(argv[1], NULL, 10);
	whole = strtol(argv[2], NULL, 10);
	for (i = 0; i < bare + whole; i++) {
		pid_t child = i % 2 ? vfork() : fork();
		int status;

		need(child >= 0);
		if (!child)
			execute(argv[0], i < bare ? empty : environ);
		need(waitpid(child, &status, 0) == child && status == 0);
	}
	if (argc > 3)
		execute(argv[0], empty);
	return 0;
}
