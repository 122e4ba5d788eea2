/* Collects what a child writes into a pipe. The fault: a second child, which stays, has inherited the
 * writing end, so the end of the file never comes. */
#include "beside.h"

#include <sys/wait.h>

pid_t start_monitor(int quit)
{
	pid_t child = fork(); /* FAULT */
	char byte;

	if (child == 0) {
		(void)!read(quit, &byte, 1);
		_exit(0);
	}
	return child;
}

size_t collect(int pipe_fd)
{
	char bytes[4096];
	size_t all = 0;
	ssize_t n;

	while ((n = read(pipe_fd, bytes, sizeof bytes)) > 0)
		all += (size_t)n;
	return all;
}

int main(void)
{
	int output[2], quit[2];
	char text[10000] = "";

	must(pipe(output) == 0 && pipe(quit) == 0, "pipe");
	work(1000);
	start_monitor(quit[0]);
	if (fork() == 0) {
		work(2000);
		must(write(output[1], text, sizeof text) == sizeof text, "write");
		_exit(0);
	}
	close(output[1]);
	ready();
	printf("%zu bytes\n", collect(output[0]));
	close(quit[1]);
	return 0;
}
