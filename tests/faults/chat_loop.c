/* A loop serves many clients by epoll. The fault: a client's name is looked up by a slow command in the
 * loop itself, and all others wait meanwhile. */
#include "beside.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

void look_up_name(void)
{
	char name[32];
	FILE *command = popen("sleep 0.15; echo name", "r");

	must(command && fgets(name, sizeof name, command), "popen"); /* FAULT */
	pclose(command);
}

void serve_client(int fd)
{
	char line[16];

	must(read(fd, line, sizeof line) > 0, "line");
	if (line[0] == '?')
		look_up_name();
	work(20);
	must(write(fd, line, sizeof line) > 0, "answer");
}

void talk(int fd, bool is_new)
{
	char line[16] = "hello";

	for (int i = 0; i < 100; i++) {
		line[0] = is_new && i % 30 == 3 ? '?' : 'h';
		if (write(fd, line, sizeof line) < 0 || read(fd, line, sizeof line) <= 0)
			break;
		work(20);
	}
	_exit(0);
}

int main(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int loop = epoll_create1(0), open_count = 3;

	for (int i = 0; i < 3; i++) {
		int ends[2];

		must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
		if (fork() == 0) {
			close(ends[0]);
			talk(ends[1], i == 0);
		}
		close(ends[1]);
		event.data.fd = ends[0];
		epoll_ctl(loop, EPOLL_CTL_ADD, ends[0], &event);
	}
	while (open_count > 0) {
		must(epoll_wait(loop, &event, 1, -1) == 1, "epoll_wait");
		if (event.events & EPOLLHUP)
			epoll_ctl(loop, EPOLL_CTL_DEL, event.data.fd, NULL), close(event.data.fd),
				open_count--;
		else
			serve_client(event.data.fd);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
