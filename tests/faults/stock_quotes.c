/* Asks an exchange for quotes. The fault: a connection is made for each quote. */
#include "beside.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { QUOTES = 2000 };

struct sockaddr_un exchange = {AF_UNIX, "exchange.sock"};

int ask_quote(int stock)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), price = 0;

	must(connect(fd, (struct sockaddr *)&exchange, sizeof exchange) == 0, "connect"); /* FAULT */
	must(write(fd, &stock, sizeof stock) == sizeof stock, "question");
	must(read(fd, &price, sizeof price) == sizeof price, "answer");
	close(fd);
	return price;
}

/* The exchange takes a while to begin, and the first connection waits for that. */
void log_in(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), answer;

	must(connect(fd, (struct sockaddr *)&exchange, sizeof exchange) == 0, "log in");
	must(write(fd, "in", 2) == 2 && read(fd, &answer, sizeof answer) == sizeof answer, "log in");
	close(fd);
}

void serve(int listener)
{
	work(60000);
	for (int i = 0; i <= QUOTES; i++) {
		int client = accept(listener, NULL, NULL), question = 0;

		must(read(client, &question, sizeof question) > 0, "question");
		must(write(client, &question, sizeof question) == sizeof question, "answer");
		close(client);
	}
}

int main(void)
{
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	long sum = 0;

	unlink(exchange.sun_path);
	must(bind(listener, (struct sockaddr *)&exchange, sizeof exchange) == 0 && listen(listener, 5) == 0,
	     "bind");
	if (fork() == 0) {
		serve(listener);
		_exit(0);
	}
	log_in();
	for (int stock = 0; stock < QUOTES; stock++)
		sum += ask_quote(stock);
	wait(NULL);
	unlink(exchange.sun_path);
	printf("%ld\n", sum);
	return 0;
}
