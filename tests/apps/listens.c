/* Binds and listens on sockets whose addresses the kernel chooses, and moves bytes between them. Prints the
 * names that the report has to give them, "ADDRESS READS". Fails if errno is not as it was.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "random.h"

enum { ODD = 12345 };

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_un un;
};

static void need(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

/* Returns a socket that has its address from bind() if `is_bound`, or else from listen() alone. */
static int socket_at(int family, int type, int is_bound, int listens, union address *own, socklen_t *bytes)
{
	union address address = {.in = {.sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
	socklen_t given = family == AF_UNIX ? sizeof(sa_family_t) : sizeof(address.in);
	int fd = socket(family, type, 0);

	address.any.sa_family = (sa_family_t)family;
	errno = ODD;
	need(fd >= 0 && (!is_bound || bind(fd, &address.any, given) == 0), "bind");
	need(!listens || listen(fd, 5) == 0, "listen");
	need(errno == ODD, "errno");
	*bytes = sizeof(*own);
	/* This call is unseen, because the trace would have the address from it otherwise. */
	need(unseen(SYS_getsockname, fd, own, bytes) == 0, "getsockname");
	return fd;
}

static void tell(const union address *own, socklen_t bytes, int reads)
{
	char text[INET_ADDRSTRLEN];

	if (own->any.sa_family == AF_UNIX) {
		printf("unix:@%.*s %d\n", (int)bytes - (int)sizeof(sa_family_t) - 1, own->un.sun_path + 1,
		       reads);
		return;
	}
	printf("%s:%d %d\n", inet_ntop(AF_INET, &own->in.sin_addr, text, sizeof(text)),
	       ntohs(own->in.sin_port), reads);
}

/* Sends a random number of datagrams from one socket to another, which receives them. */
static void receive(int family)
{
	union address own;
	socklen_t bytes;
	int fd = socket_at(family, SOCK_DGRAM, 1, 0, &own, &bytes), from = socket(family, SOCK_DGRAM, 0);
	int reads = 1 + (int)random_below(9);
	char byte = 0;

	for (int i = 0; i < reads; i++) {
		need(sendto(from, &byte, 1, 0, &own.any, bytes) == 1, "sendto");
		need(recv(fd, &byte, 1, 0) == 1, "recv");
	}
	tell(&own, bytes, reads);
	close(from);
	close(fd);
}

/* Accepts a connection, which the report calls "PEER to ADDRESS", and sends bytes over it. */
static void serve(int is_bound)
{
	union address own;
	socklen_t bytes;
	int fd = socket_at(AF_INET, SOCK_STREAM, is_bound, 1, &own, &bytes), reads = 1 + (int)random_below(9),
	    peer, client;
	char byte = 0;

	own.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	client = socket(AF_INET, SOCK_STREAM, 0);
	need(connect(client, &own.any, bytes) == 0, "connect");
	need((peer = accept(fd, NULL, NULL)) >= 0, "accept");
	for (int i = 0; i < reads; i++) {
		need(send(client, &byte, 1, 0) == 1, "send");
		need(recv(peer, &byte, 1, 0) == 1, "recv");
	}
	if (!is_bound)
		own.in.sin_addr.s_addr = htonl(INADDR_ANY);
	printf("accepted on ");
	tell(&own, bytes, reads);
	close(client);
	close(peer);
	close(fd);
}

int main(void)
{
	random_seed(0);
	receive(AF_INET);
	receive(AF_UNIX);
	serve(1);
	serve(0);
	return 0;
}
