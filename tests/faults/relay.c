/* Serves clients that come and go. The fault: it looks after new clients only, and a connection whose
 * client has gone stays open. */
#include "loopback.h"

#include <sys/wait.h>

void serve_client(int listener)
{
	char request[16];
	int client = accept(listener, NULL, NULL); /* FAULT */

	must(client >= 0 && read(client, request, sizeof request) > 0, "request");
	work(500);
	must(write(client, "done", 4) == 4, "answer");
}

void be_client(const struct sockaddr_in *address)
{
	for (int i = 0; i < 30; i++) {
		char answer[4];
		int server = connect_to(address);

		must(write(server, "hello", 5) == 5, "request");
		must(read(server, answer, 4) == 4, "answer");
		close(server);
	}
	_exit(0);
}

int main(void)
{
	struct sockaddr_in address;
	int listener = listen_locally(8, &address);

	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			be_client(&address);
	for (int i = 0; i < 120; i++)
		serve_client(listener);
	while (wait(NULL) > 0)
		;
	return 0;
}
