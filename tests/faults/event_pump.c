/* Waits for the results of a child and draws meanwhile. The fault: there is nothing to draw as a rule, and
 * it asks again and again whether there is a result, without waiting. */
#include "beside.h"

#include <poll.h>
#include <sys/wait.h>

int results;

bool pump_events(void)
{
	struct pollfd fd = { .fd = results, .events = POLLIN };
	char result[64];

	if (poll(&fd, 1, 0) == 0) /* FAULT */
		return true;
	return read(results, result, sizeof result) > 0;
}

int main(void)
{
	int ends[2];

	must(pipe(ends) == 0, "pipe");
	if (fork() == 0) {
		close(ends[0]);
		for (int result = 0; result < 8; result++) {
			work(15000);
			must(write(ends[1], "result", 6) == 6, "result");
		}
		_exit(0);
	}
	close(ends[1]);
	results = ends[0];
	while (pump_events())
		;
	wait(NULL);
	return 0;
}
