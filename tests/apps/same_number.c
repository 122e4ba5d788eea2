/* Forks COUNT children one after the other that all have the same process number, and prints it.
 *
 *	same_number COUNT
 *
 * The kernel takes the next number behind /proc/sys/kernel/ns_last_pid. Another process may take it first, so
 * the program tries again until COUNT children had one number. The first of these exits with status 1, the
 * second is killed, and the others exit with status 0. The program exits with status 77 if it may not choose
 * numbers.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"

static int last_pid;

/* Has the kernel give `pid` next, unless another process is quicker. */
static void ask_for(pid_t pid)
{
	char text[16];
	int bytes = snprintf(text, sizeof(text), "%d", (int)pid - 1);

	need(pwrite(last_pid, text, (size_t)bytes, 0) == bytes);
}

/* Forks a child whose number has to be `pid` (0: any). Returns its number; it did nothing if that is another
 * one. */
static pid_t child(pid_t pid, long number)
{
	int status;
	pid_t is;

	if (pid)
		ask_for(pid);
	is = fork();
	if (is == 0) {
		if (pid && getpid() != pid)
			_exit(0);
		if (number == 1)
			raise(SIGKILL);
		_exit(number == 0);
	}
	need(is > 0 && waitpid(is, &status, 0) == is);
	return is;
}

int main(int argc, char **argv)
{
	long count, number;
	pid_t pid;

	need(argc == 2);
	count = strtol(argv[1], NULL, 10);
	last_pid = open("/proc/sys/kernel/ns_last_pid", O_RDWR | O_CLOEXEC);
	if (last_pid < 0)
		return 77;
	pid = child(0, 0);
	for (number = 1; number < count; number++)
		while (child(pid, number) != pid)
			;
	printf("%d\n", (int)pid);
	return 0;
}
