/* Asks a clock on the same machine for the time, through a socket that gives up after a while. The fault: the
 * clock answers one question in ten, and nobody notes it. */
#include "beside.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

int take_time(int clock_fd, long *now)
{
	return recv(clock_fd, now, sizeof *now, 0) == sizeof *now; /* FAULT */
}

int main(void)
{
	struct timeval limit = { .tv_usec = 40000 };
	int ends[2], known = 0;
	long now = 0;

	must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
	must(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0, "setsockopt");
	if (fork() == 0) {
		close(ends[0]);
		for (int n = 0; recv(ends[1], &now, sizeof now, 0) > 0 && now >= 0; n++)
			if (n % 10 == 0)
				send(ends[1], &now, sizeof now, 0);
		_exit(0);
	}
	for (int i = 0; i < 20; i++) {
		now = i;
		work(300);
		must(send(ends[0], &now, sizeof now, 0) == sizeof now, "send");
		known += take_time(ends[0], &now);
	}
	now = -1;
	must(send(ends[0], &now, sizeof now, 0) == sizeof now, "send");
	wait(NULL);
	printf("%d times known\n", known);
	return 0;
}
