/* Adds up a cart. The fault: each item's price is asked for alone, one after the other, of one server. */
#include "loopback.h"

#include <netinet/tcp.h>
#include <sys/wait.h>

long fetch_price(int server, int item)
{
	long price;

	must(send(server, &item, sizeof item, 0) == sizeof item, "send");
	must(recv(server, &price, sizeof price, MSG_WAITALL) == sizeof price, "recv"); /* FAULT */
	return price;
}

int main(void)
{
	struct sockaddr_in address;
	int listener = listen_locally(5, &address), server;
	long sum = 0;

	if (fork() == 0) {
		int client = accept(listener, NULL, NULL), item;

		while (recv(client, &item, sizeof item, MSG_WAITALL) == sizeof item) {
			long price = 100 + item;

			work(300);
			must(send(client, &price, sizeof price, 0) == sizeof price, "answer");
		}
		_exit(0);
	}
	server = connect_to(&address);
	for (int item = 0; item < 500; item++) {
		work(5);
		sum += fetch_price(server, item);
	}
	close(server);
	wait(NULL);
	printf("%ld\n", sum);
	return 0;
}
