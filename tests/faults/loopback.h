/* A TCP socket of the loopback device, for the programs of tests/faults that have a peer. */
#ifndef FXT_TESTS_FAULTS_LOOPBACK_H
#define FXT_TESTS_FAULTS_LOOPBACK_H

#include "beside.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* Returns a listening socket, and its address. */
static inline int listen_locally(int backlog, struct sockaddr_in *address)
{
	socklen_t bytes = sizeof *address;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	must(fd >= 0 && bind(fd, (struct sockaddr *)address, bytes) == 0, "bind");
	must(listen(fd, backlog) == 0, "listen");
	must(getsockname(fd, (struct sockaddr *)address, &bytes) == 0, "getsockname");
	return fd;
}

static inline int connect_to(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	must(fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) == 0, "connect");
	return fd;
}

#endif
