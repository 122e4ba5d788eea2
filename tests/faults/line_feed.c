/* Takes lines from a feed. The fault: it asks the kernel for each of the short lines. */
#include "beside.h"

#include <sys/socket.h>
#include <sys/wait.h>

enum { LINES = 150000 };

/* Waits for the first word of the feed. */
void await_greeting(int feed)
{
	char hello[5];

	must(recv(feed, hello, sizeof hello, MSG_WAITALL) == sizeof hello, "greeting");
}

int next_line(int feed, char *line)
{
	return recv(feed, line, 8, MSG_WAITALL) == 8; /* FAULT */
}

void feed_lines(int out)
{
	static char all[LINES][8];

	for (int i = 0; i < LINES; i++)
		memcpy(all[i], "a line\n", sizeof all[i]);
	work(60000);
	must(write(out, "hello", 5) == 5, "greeting");
	must(write(out, all, sizeof all) == sizeof all, "lines");
}

int main(void)
{
	int ends[2], lines = 0;
	char line[8];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
	if (fork() == 0) {
		close(ends[0]);
		feed_lines(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	await_greeting(ends[0]);
	while (next_line(ends[0], line))
		lines++;
	wait(NULL);
	printf("%d lines\n", lines);
	return 0;
}
