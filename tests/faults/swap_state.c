/* Two processes send each other their state through a socket, once it has grown. The fault: both send all of
 * theirs before they receive, and the socket takes no more from either. */
#include "beside.h"

#include <sys/socket.h>
#include <sys/wait.h>

void send_state(int peer, const char *state, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = send(peer, state, bytes, 0); /* FAULT */

		must(n > 0, "send");
		state += n;
		bytes -= (size_t)n;
	}
}

void swap_states(int peer, char *state, size_t bytes)
{
	send_state(peer, state, bytes);
	for (ssize_t n; bytes > 0; bytes -= (size_t)n) {
		n = recv(peer, state, bytes, 0);
		must(n > 0, "recv");
	}
}

int main(void)
{
	static char state[4 << 20];
	int ends[2];
	pid_t other;

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
	other = fork();
	close(ends[other == 0]);
	for (size_t bytes = 1000; bytes <= 10000; bytes += 1000) {
		work(200);
		swap_states(ends[other != 0], state, bytes);
	}
	if (other)
		ready();
	swap_states(ends[other != 0], state, sizeof state);
	return other && wait(NULL) < 0;
}
