/* This program makes a known number of calls of sockets, names of hosts, and descriptors that are waited for
 * with poll, and prints how many (counts.h). It leaves to count_io.c the calls that are made there.
 *
 *	count_net ROUNDS
 *
 * No server is asked for a name. What the files of /etc say differs from system to system, so calls that read
 * them are only counted.
 */
#define CALLS(X)                                                                                        \
	X(net, socketpair) X(net, getpeername) X(net, sendmmsg) X(net, recvmmsg) X(net, sockatmark)     \
	X(net, isfdtype) X(net, bindresvport) X(net, getaddrinfo) X(net, getnameinfo)                   \
	X(net, gethostbyname) X(net, gethostbyname2) X(net, gethostbyaddr) X(net, gethostbyname_r)      \
	X(net, gethostbyname2_r) X(net, gethostbyaddr_r) X(net, getnetbyname) X(net, getnetbyaddr)      \
	X(net, getservbyname) X(net, getservbyport) X(net, getservbyname_r) X(net, getservbyport_r)     \
	X(net, getprotobyname) X(net, getprotobynumber) X(net, getaddrinfo_a) X(net, gai_suspend)       \
	X(net, gai_cancel) X(net, gai_error) X(net, epoll_create) X(net, epoll_pwait2)                  \
	X(net, eventfd) X(net, eventfd_read) X(net, eventfd_write) X(net, timerfd_create)               \
	X(net, timerfd_settime) X(net, timerfd_gettime) X(net, signalfd) X(net, inotify_init)           \
	X(net, inotify_init1) X(net, inotify_add_watch) X(net, inotify_rm_watch) X(net, fanotify_init)  \
	X(net, fanotify_mark)

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>

#include "counts.h"

/* Closes descriptors. close() is of another category, so it is neither counted nor traced. */
static void close_all(const int *fds, int count)
{
	while (count--)
		unseen(SYS_close, fds[count]);
}

static void use_sockets(void)
{
	char text[MIDDLE_MOST] = "";
	struct iovec vector = {text, random_length(sizeof(text))};
	struct mmsghdr message = {.msg_hdr = {.msg_iov = &vector, .msg_iovlen = 1}};
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	int pair[2];

	NEED(CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	NEED(CALL(getpeername, pair[0], (struct sockaddr *)&address, &length) == 0);
	NEED(CALL(sendmmsg, pair[0], &message, 1, 0) == 1);
	NEED(CALL(recvmmsg, pair[1], &message, 1, 0, NULL) == 1);
	NEED(CALL(sockatmark, -1) == -1 && errno == EBADF);
	NEED(CALL(isfdtype, pair[0], S_IFSOCK) == 1);
	NEED(CALL(bindresvport, -1, NULL) == -1);
	close_all(pair, 2);
}

/* Returns a name of 127.0.0.1 of random length. Its first number is octal, so any number of zeros may stand
 * before it. */
static char *loopback_name(void)
{
	static const char loopback[] = "0177.0.0.1";
	char *name = random_new_room();
	size_t zeros = random_length(MIDDLE_MOST);

	memset(name, '0', zeros);
	memcpy(name + zeros, loopback, sizeof(loopback));
	return name;
}

static void use_addresses(void)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *found;
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct gaicb request = {.ar_name = loopback_name(), .ar_request = &hints}, *requests[] = {&request};
	const struct gaicb *waited[] = {&request};
	char host[100], expected[100], service[10];

	snprintf(service, sizeof(service), "%llu", (unsigned long long)random_below(UINT16_MAX + 1));
	NEED(CALL(getaddrinfo, loopback_name(), service, &hints, &found) == 0);
	freeaddrinfo(found);
	address.sin_addr.s_addr = (uint32_t)random_number(32);
	inet_ntop(AF_INET, &address.sin_addr, expected, sizeof(expected));
	NEED(CALL(getaddrinfo, random_word(MIDDLE_MOST), NULL, &hints, &found) == EAI_NONAME);
	NEED(CALL(getnameinfo, (struct sockaddr *)&address, sizeof(address), host, sizeof(host), NULL, 0,
		  NI_NUMERICHOST) == 0 && !strcmp(host, expected));
	NEED(CALL(getaddrinfo_a, GAI_WAIT, requests, 1, NULL) == 0);
	NEED(CALL(gai_error, &request) == 0);
	CALL(gai_suspend, waited, 1, NULL);
	CALL(gai_cancel, &request);
	freeaddrinfo(request.ar_result);
}

static void use_old_names(void)
{
	uint32_t loopback = htonl(INADDR_LOOPBACK);
	struct hostent host, *found;
	struct servent service, *found_service;
	char room[2048];
	int error;

	NEED(CALL(gethostbyname, loopback_name()) && CALL(gethostbyname2, loopback_name(), AF_INET));
	NEED(CALL(gethostbyname_r, loopback_name(), &host, room, sizeof(room), &found, &error) == 0);
	NEED(CALL(gethostbyname2_r, loopback_name(), AF_INET, &host, room, sizeof(room), &found, &error) ==
	     0);
	CALL(gethostbyaddr, &loopback, 1, AF_INET);
	CALL(gethostbyaddr_r, &loopback, 1, AF_INET, &host, room, sizeof(room), &found, &error);
	CALL(getnetbyname, "loopback");
	CALL(getnetbyaddr, 127, AF_INET);
	CALL(getservbyname, random_word(MIDDLE_MOST), random_word(MIDDLE_MOST));
	CALL(getservbyport, (int)random_number(31), random_word(MIDDLE_MOST));
	CALL(getservbyname_r, random_word(MIDDLE_MOST), random_word(MIDDLE_MOST), &service, room,
	     sizeof(room), &found_service);
	CALL(getservbyport_r, htons(80), random_word(MIDDLE_MOST), &service, room, sizeof(room),
	     &found_service);
	CALL(getprotobyname, random_word(MIDDLE_MOST));
	CALL(getprotobynumber, 6);
}

static void use_descriptors(void)
{
	const struct itimerspec at_once = {.it_value = {0, 1}};
	struct itimerspec left;
	struct timespec now = {0, 0};
	struct epoll_event event;
	eventfd_t value, written = random_number(62);
	sigset_t set;
	int fds[5], watch;

	sigemptyset(&set);
	fds[0] = CALL(eventfd, 1, EFD_CLOEXEC);
	NEED(CALL(eventfd_write, fds[0], written) == 0 && CALL(eventfd_read, fds[0], &value) == 0 &&
	     value == written + 1);
	NEED(CALL(eventfd_read, -1, &value) == -1);
	fds[1] = CALL(timerfd_create, CLOCK_MONOTONIC, TFD_CLOEXEC);
	NEED(CALL(timerfd_settime, fds[1], 0, &at_once, NULL) == 0);
	NEED(CALL(timerfd_gettime, fds[1], &left) == 0);
	fds[2] = CALL(signalfd, -1, &set, SFD_CLOEXEC);
	NEED(fds[2] >= 0);
	fds[3] = CALL(inotify_init1, IN_CLOEXEC);
	watch = CALL(inotify_add_watch, fds[3], path_to("."), IN_CREATE);
	NEED(watch >= 0 && CALL(inotify_rm_watch, fds[3], watch) == 0);
	fds[4] = CALL(epoll_create, 1);
	NEED(CALL(epoll_pwait2, fds[4], &event, 1, &now, NULL) == 0);
	close_all(fds, 5);
	fds[0] = CALL(inotify_init);
	NEED(fds[0] >= 0);
	fds[1] = CALL(fanotify_init, FAN_CLOEXEC, 0);
	CALL(fanotify_mark, -1, FAN_MARK_ADD, FAN_OPEN, -1, NULL);
	close_all(fds, 2);
}

static void use_all(void)
{
	use_sockets();
	use_addresses();
	use_old_names();
	use_descriptors();
}

int main(int argc, char **argv)
{
	random_seed(0);
	run_rounds(argc > 1 ? atol(argv[1]) : 1, use_all);
	return 0;
}
