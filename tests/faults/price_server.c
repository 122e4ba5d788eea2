/* A loop answers the threads of a program by poll(). The fault: it computes a price by itself when it is
 * asked for one, and all others wait meanwhile. */
#include "beside.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

enum { CLIENTS = 4 };

void compute_price(void)
{
	work(40000); /* FAULT */
}

void answer(int fd)
{
	char line[16];

	must(read(fd, line, sizeof line) > 0, "line");
	if (line[0] == '?')
		compute_price();
	must(write(fd, line, sizeof line) > 0, "answer");
}

void *ask(void *end)
{
	int fd = *(int *)end;
	char line[16] = "hello";

	for (int i = 0; i < 60; i++) {
		line[0] = fd % CLIENTS == 0 && i % 10 == 5 ? '?' : 'h';
		if (write(fd, line, sizeof line) < 0 || read(fd, line, sizeof line) <= 0)
			break;
		work(20);
	}
	close(fd);
	return NULL;
}

int main(void)
{
	struct pollfd fds[CLIENTS];
	int ends[CLIENTS][2], open_count = CLIENTS;
	pthread_t threads[CLIENTS];

	for (int i = 0; i < CLIENTS; i++) {
		must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]) == 0, "socketpair");
		fds[i] = (struct pollfd){ .fd = ends[i][0], .events = POLLIN };
		pthread_create(&threads[i], NULL, ask, &ends[i][1]);
	}
	while (open_count > 0) {
		must(poll(fds, CLIENTS, -1) > 0, "poll");
		for (int i = 0; i < CLIENTS; i++) {
			if (fds[i].revents & POLLHUP) {
				close(fds[i].fd);
				fds[i].fd = -1;
				open_count--;
			} else if (fds[i].revents & POLLIN) {
				answer(fds[i].fd);
			}
		}
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
