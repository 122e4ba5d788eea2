/* This program takes descriptors by calls of every kind, in random order, until the process has no number
 * left, and makes marks while it has them all. Each number has to be the lowest that is free: programs take
 * the highest one for a sign that there are no more. Some numbers were taken out of turn before.
 *
 *	host_all_numbers MARKS [singly]		the seed of the order is FXT_SEED
 *
 * With `singly` no call takes more than one number, so it gets every number in turn, as a program does that
 * duplicates one descriptor until that fails.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include "host.h"
#include "random.h"

enum { MOST = 1 << 16, STREAMS = 200 };

static int numbers[MOST], count;
static FILE *streams[STREAMS];
static DIR *directories[STREAMS];
static int stream_count, directory_count, listener, messages[2];
static bool is_taken[MOST];
static int lowest, out_of_turn;

static bool took(int fd)
{
	if (fd < 0)
		return false;
	while (is_taken[lowest])
		lowest++;
	out_of_turn += fd != lowest;
	is_taken[fd] = true;
	return true;
}

/* Each of these takes a number or two, and returns whether it did. */
static bool keep(int fd)
{
	if (fd >= 0)
		numbers[count++] = fd;
	return took(fd);
}

/* Takes some numbers by their names. The agent's are not among those that are taken before. */
static void take_some(int limit)
{
	int times = (int)random_below(40), fd, i;

	for (fd = 0; fd < limit; fd++)
		is_taken[fd] = fcntl(fd, F_GETFD) >= 0;
	for (i = 0; i < times; i++) {
		int least = (int)random_below((uint64_t)limit - 2), wanted = least;

		while (wanted < limit && is_taken[wanted])
			wanted++;
		fd = random_below(2) ? dup2(0, wanted) : fcntl(0, F_DUPFD, least);
		if (wanted == limit)
			continue;
		need(fd >= 0);
		out_of_turn += fd != wanted;
		is_taken[fd] = true;
		numbers[count++] = fd;
	}
}

static bool by_open(void) { return keep(open("/dev/zero", O_RDONLY)); }
static bool by_openat(void) { return keep(openat(AT_FDCWD, "/dev/zero", O_RDONLY)); }
static bool by_creat(void) { return keep(creat("/dev/zero", 0600)); }
static bool by_dup(void) { return keep(dup(0)); }
static bool by_fcntl(void) { return keep(fcntl(0, F_DUPFD, 3)); }
static bool by_fcntl_cloexec(void) { return keep(fcntl(0, F_DUPFD_CLOEXEC, 3)); }
static bool by_socket(void) { return keep(socket(AF_UNIX, SOCK_STREAM, 0)); }
static bool by_epoll(void) { return keep(epoll_create1(0)); }
static bool by_eventfd(void) { return keep(eventfd(0, 0)); }
static bool by_timerfd(void) { return keep(timerfd_create(CLOCK_MONOTONIC, 0)); }
static bool by_memfd(void) { return keep(memfd_create("all", 0)); }
static bool by_number(void) { return keep((int)syscall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY, 0)); }
static bool by_dup_number(void) { return keep((int)syscall(SYS_dup, 0)); }

static bool by_signalfd(void)
{
	sigset_t none;

	sigemptyset(&none);
	return keep(signalfd(-1, &none, 0));
}

static bool by_accept(void)
{
	struct sockaddr_storage address;
	socklen_t bytes = sizeof(address);

	/* Nobody connects; a number is needed before that is known. */
	return keep(accept4(listener, (struct sockaddr *)&address, &bytes, 0));
}

static bool by_fopen(void)
{
	if (stream_count == STREAMS)
		return by_open();
	streams[stream_count] = fopen("/dev/zero", "r");
	return streams[stream_count] && took(fileno(streams[stream_count])) && ++stream_count;
}

static bool by_opendir(void)
{
	if (directory_count == STREAMS)
		return by_open();
	directories[directory_count] = opendir("/");
	return directories[directory_count] && took(dirfd(directories[directory_count])) && ++directory_count;
}

static bool by_pair(int failed, const int *pair)
{
	return failed ? false : keep(pair[0]) && keep(pair[1]);
}

static bool by_pipe(void)
{
	int pair[2];

	return by_pair(pipe(pair), pair);
}

static bool by_pipe2(void)
{
	int pair[2];

	return by_pair(pipe2(pair, O_CLOEXEC), pair);
}

static bool by_socketpair(void)
{
	int pair[2];

	return by_pair(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), pair);
}

/* Sends some descriptors to itself, which come by one message: all of them, or as many as there are numbers.
 */
static bool by_message(void)
{
	enum { MOST_SENT = 40 };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(MOST_SENT * sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	int sent = 1 + (int)random_below(MOST_SENT), i, came;
	struct iovec byte = {&came, 1};
	struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control};

	message.msg_controllen = CMSG_SPACE(sent * sizeof(int));
	control.header.cmsg_len = CMSG_LEN(sent * sizeof(int));
	memset(CMSG_DATA(&control.header), 0, sent * sizeof(int));      /* standard input */
	need(sendmsg(messages[0], &message, 0) == 1);
	message.msg_controllen = sizeof(control);
	need((random_below(2) ? recvmsg(messages[1], &message, 0)
			      : syscall(SYS_recvmsg, messages[1], &message, 0)) == 1);
	came = message.msg_controllen ? (int)((control.header.cmsg_len - CMSG_LEN(0)) / sizeof(int)) : 0;
	for (i = 0; i < came; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(&control.header) + i * sizeof(fd), sizeof(fd));
		keep(fd);
	}
	errno = EMFILE;
	return came == sent;
}

static bool (*const singles[])(void) = {
	by_open,    by_openat,  by_creat,   by_dup,    by_fcntl,      by_fcntl_cloexec, by_socket, by_epoll,
	by_eventfd, by_timerfd, by_memfd,   by_number, by_dup_number, by_signalfd,      by_fopen,  by_opendir,
};
static bool (*const pairs[])(void) = {by_pipe, by_pipe2, by_socketpair, by_message};

enum { SINGLES = sizeof(singles) / sizeof(*singles), PAIRS = sizeof(pairs) / sizeof(*pairs) };

int main(int argc, char **argv)
{
	unsigned long times = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	bool singly = argc > 2 && !strcmp(argv[2], "singly");
	const struct sockaddr nameless = {.sa_family = AF_UNIX};
	struct rlimit limit;
	int i;

	random_seed(0);
	need(!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur <= MOST);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	need(!socketpair(AF_UNIX, SOCK_DGRAM, 0, messages));
	/* The kernel chooses a name. */
	need(listener >= 0 && !bind(listener, &nameless, sizeof(sa_family_t)) && !listen(listener, 1));
	mark_times(times);
	take_some((int)limit.rlim_cur);
	while (singly || random_below(8) ? singles[random_below(SINGLES)]() : pairs[random_below(PAIRS)]())
		;
	/* A pair may have left one. */
	need(errno == EMFILE);
	while (singles[random_below(SINGLES)]())
		;
	need(errno == EMFILE && !by_accept() && errno == EMFILE && !by_pipe() && errno == EMFILE);
	printf("%d of %d numbers, %d out of turn\n", count + stream_count + directory_count,
	       (int)limit.rlim_cur, out_of_turn);
	/* The trace is written to while nothing is left. */
	mark_times(times);
	for (i = 0; i < count; i++)
		close(numbers[i]);
	mark_times(times);
	print_marks();
	return 0;
}
