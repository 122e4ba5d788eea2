/* A server takes clients in turn. The fault: its backlog has room for one, so of two that come while it
 * works the second waits a second until its system asks again. */
#include "loopback.h"

#include <sys/wait.h>

void visit(const struct sockaddr_in *address, int arrived)
{
	char answer[4];
	int first = connect_to(address), second = socket(AF_INET, SOCK_STREAM, 0);

	must(write(arrived, "1", 1) == 1, "arrived");
	must(connect(second, (const struct sockaddr *)address, sizeof *address) == 0, "connect"); /* FAULT */
	must(read(first, answer, sizeof answer) == sizeof answer, "answer");
	must(read(second, answer, sizeof answer) == sizeof answer, "answer");
	_exit(0);
}

int main(void)
{
	struct sockaddr_in address;
	int listener = listen_locally(0, &address), arrived[2];
	char byte;

	must(pipe(arrived) == 0, "pipe");
	if (fork() == 0)
		visit(&address, arrived[1]);
	must(read(arrived[0], &byte, 1) == 1, "arrived");
	work(60000);
	for (int i = 0; i < 2; i++) {
		int client = accept(listener, NULL, NULL);

		must(client >= 0 && write(client, "done", 4) == 4, "answer");
		close(client);
	}
	wait(NULL);
	return 0;
}
