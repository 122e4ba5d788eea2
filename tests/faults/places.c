/* Looks places up in a server. The fault: a connection is made for each of them. */
#include "loopback.h"

#include <sys/wait.h>

struct sockaddr_in server;

void look_up(int place)
{
	char answer[4];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	must(connect(fd, (struct sockaddr *)&server, sizeof server) == 0, "connect"); /* FAULT */
	must(write(fd, &place, sizeof place) == sizeof place, "question");
	must(read(fd, answer, sizeof answer) == sizeof answer, "answer");
	close(fd);
}

int main(void)
{
	int listener = listen_locally(5, &server);

	if (fork() == 0) {
		for (int i = 0; i < 300; i++) {
			int client = accept(listener, NULL, NULL), place;

			must(read(client, &place, sizeof place) == sizeof place, "question");
			work(100);
			must(write(client, "here", 4) == 4, "answer");
			close(client);
		}
		_exit(0);
	}
	for (int place = 0; place < 300; place++) {
		work(50);
		look_up(place);
	}
	wait(NULL);
	return 0;
}
