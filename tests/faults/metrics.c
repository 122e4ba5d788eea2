/* Sends figures to a server. The fault: it has closed the socket, and sends into the closed number again
 * and again. */
#include "loopback.h"

int metrics;

bool send_metric(int value)
{
	return send(metrics, &value, sizeof value, MSG_NOSIGNAL) == sizeof value; /* FAULT */
}

void stop_metrics(void)
{
	close(metrics);
}

int main(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof address;
	int server = socket(AF_INET, SOCK_DGRAM, 0), sent = 0;

	metrics = socket(AF_INET, SOCK_DGRAM, 0);
	must(bind(server, (struct sockaddr *)&address, bytes) == 0, "bind");
	must(getsockname(server, (struct sockaddr *)&address, &bytes) == 0, "getsockname");
	must(connect(metrics, (struct sockaddr *)&address, bytes) == 0, "connect");
	for (int value = 0; value < 8000; value++) {
		if (value == 50)
			stop_metrics();
		work(10);
		for (int attempt = 0; attempt < 3 && !send_metric(value); attempt++)
			;
		sent++;
	}
	printf("%d\n", sent);
	return 0;
}
