/* Has a child sort names, which come back through a pipe. The fault: it does not close its own writing end of
 * that pipe, and waits for an end of file that it keeps from coming itself. */
#include "beside.h"

#include <sys/wait.h>

size_t read_sorted(int from)
{
	char bytes[512];
	size_t all = 0;
	ssize_t n;

	while ((n = read(from, bytes, sizeof bytes)) > 0) /* FAULT */
		all += (size_t)n;
	return all;
}

int main(void)
{
	int names[2], sorted[2];

	must(pipe(names) == 0 && pipe(sorted) == 0, "pipe");
	if (fork() == 0) {
		dup2(names[0], 0);
		dup2(sorted[1], 1);
		close(names[0]), close(names[1]), close(sorted[0]), close(sorted[1]);
		execlp("sort", "sort", (char *)NULL);
		_exit(98);
	}
	close(names[0]);
	for (int i = 0; i < 1000; i++)
		dprintf(names[1], "name %d\n", i * 7919 % 1000);
	close(names[1]);
	ready();
	printf("%zu bytes\n", read_sorted(sorted[0]));
	wait(NULL);
	return 0;
}
