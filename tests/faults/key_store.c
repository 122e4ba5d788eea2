/* Stores keys in a server and waits for each answer. The fault: head and body of a request are two writes,
 * so the second one waits for the acknowledgement of the first, which the server delays. */
#include "loopback.h"

#include <sys/wait.h>

bool take(int fd, char *bytes, size_t count)
{
	for (ssize_t n; count > 0; bytes += n, count -= (size_t)n)
		if ((n = read(fd, bytes, count)) <= 0)
			return false;
	return true;
}

void serve(int listener)
{
	char request[68];
	int fd = accept(listener, NULL, NULL);

	while (take(fd, request, sizeof request)) {
		work(20);
		must(write(fd, "ok", 2) == 2, "answer");
	}
	_exit(0);
}

void store_key(int fd, int key)
{
	char body[64] = "", answer[2];

	must(write(fd, &key, sizeof key) == sizeof key, "head");
	must(write(fd, body, sizeof body) == sizeof body, "body");
	must(take(fd, answer, sizeof answer), "answer"); /* FAULT */
}

int main(void)
{
	struct sockaddr_in address;
	int listener = listen_locally(5, &address), fd;

	if (fork() == 0)
		serve(listener);
	fd = connect_to(&address);
	for (int key = 0; key < 20; key++) {
		work(50);
		store_key(fd, key);
	}
	close(fd);
	wait(NULL);
	return 0;
}
