/* Asks a server for its health before each round of work. The fault: nobody listens at that port, and it
 * asks again and again, each time with a pause that grows. */
#include "loopback.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

struct sockaddr_in server;

bool is_healthy(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), error = 0;
	socklen_t bytes = sizeof error;
	struct pollfd poller = { .fd = fd, .events = POLLOUT };
	bool is_up = connect(fd, (struct sockaddr *)&server, sizeof server) == 0; /* FAULT */

	if (!is_up && errno == EINPROGRESS) {
		poll(&poller, 1, 500);
		is_up = getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == 0;
	}
	close(fd);
	return is_up;
}

int main(void)
{
	int port = listen_locally(1, &server);

	close(port);
	for (int round = 0; round < 12; round++) {
		work(500);
		for (int attempt = 0; attempt < 4 && !is_healthy(); attempt++)
			usleep(2000U << attempt);
	}
	return 0;
}
