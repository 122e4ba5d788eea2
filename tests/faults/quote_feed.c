/* Asks a peer for prices by UDP and takes the last known one if there is no answer. The fault: the peer
 * never answers, and each question waits for all of its limit. */
#include "loopback.h"

#include <poll.h>

int question, peer;

int ask_price(int item)
{
	struct pollfd answer = { .fd = question, .events = POLLIN };
	int price = 100 + item;

	must(send(question, &item, sizeof item, 0) == sizeof item, "send");
	if (poll(&answer, 1, 60) == 1) /* FAULT */
		must(recv(question, &price, sizeof price, 0) == sizeof price, "recv");
	return price;
}

int main(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof address;
	long sum = 0;

	peer = socket(AF_INET, SOCK_DGRAM, 0);
	question = socket(AF_INET, SOCK_DGRAM, 0);
	must(bind(peer, (struct sockaddr *)&address, bytes) == 0, "bind");
	must(getsockname(peer, (struct sockaddr *)&address, &bytes) == 0, "getsockname");
	must(connect(question, (struct sockaddr *)&address, bytes) == 0, "connect");
	for (int item = 0; item < 12; item++) {
		work(500);
		sum += ask_price(item);
	}
	printf("%ld\n", sum);
	return 0;
}
