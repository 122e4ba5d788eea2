/* Prints invoices by a program of its own for each. The fault: it does nothing while that program works. */
#include "beside.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

void print_invoice(void)
{
	char *command[] = { "sleep", "0.3", NULL };
	pid_t child;

	must(posix_spawnp(&child, command[0], NULL, NULL, command, environ) == 0, "posix_spawnp");
	must(waitpid(child, NULL, 0) == child, "waitpid"); /* FAULT */
}

int main(void)
{
	work(20000);
	for (int i = 0; i < 2; i++)
		print_invoice();
	work(20000);
	return 0;
}
