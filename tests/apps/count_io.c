/* This program makes a known number of calls on descriptors, streams, sockets and clocks, and prints how many
 * (counts.h).
 *
 *	count_io THREADS ROUNDS		works in the current directory, which stays empty
 *
 * Sizes are volatile, so a build with _FORTIFY_SOURCE (count_io_fortified.c) calls the checking variants.
 */
#define CALLS(X)                                                                                        \
	X(io, open) X(io, unlink) X(io, openat) X(io, creat) X(io, close) X(io, read) X(io, write)      \
	X(io, pread) X(io, pwrite) X(io, readv) X(io, writev) X(io, preadv) X(io, pwritev)              \
	X(io, lseek) X(io, ftruncate) X(io, truncate) X(io, fsync) X(io, fdatasync) X(io, fstat)        \
	X(io, pipe) X(io, pipe2) X(io, dup) X(io, dup2) X(io, dup3) X(io, fcntl) X(io, ioctl)           \
	X(io, sendfile) X(io, splice) X(io, tee) X(io, fopen) X(io, fdopen) X(io, freopen)              \
	X(io, fclose) X(io, fread) X(io, fwrite) X(io, fgets) X(io, fputs) X(io, fgetc) X(io, fputc)    \
	X(io, ungetc) X(io, getdelim) X(io, fprintf) X(io, fscanf) X(io, fseek) X(io, ftell)            \
	X(io, rewind) X(io, fflush) X(io, setvbuf) X(io, dprintf) X(net, socket) X(net, socketpair)     \
	X(net, bind) X(net, listen) X(net, accept) X(net, accept4) X(net, connect) X(net, shutdown)     \
	X(net, getsockname) X(net, setsockopt) X(net, getsockopt) X(net, send) X(net, recv)             \
	X(net, sendto) X(net, recvfrom) X(net, sendmsg) X(net, recvmsg) X(net, poll) X(net, ppoll)      \
	X(net, select) X(net, pselect) X(net, epoll_create1) X(net, epoll_ctl) X(net, epoll_wait)       \
	X(net, epoll_pwait) X(time, nanosleep) X(time, clock_nanosleep) X(time, usleep) X(time, sleep)

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>

#include "counts.h"

static long rounds;
static volatile size_t five = 5;

enum { OFFSET_BITS = 40 };      /* bits of an offset that every file system has room for */

/* -- Descriptors -------------------------------------------------------------------------------- */

static void use_vectors(int fd)
{
	char a[5] = "abcd", b[5] = "efgh";
	struct iovec vector[2] = {{a, 5}, {b, five}};

	NEED(CALL(writev, fd, vector, 2) == 10);
	NEED(CALL(pwritev, fd, vector, 2, 10) == 10);
	NEED(CALL(preadv, fd, vector, 2, 10) == 10);
	NEED(CALL(lseek, fd, 0, SEEK_SET) == 0);
	NEED(CALL(readv, fd, vector, 2) == 10);
}

static void use_duplicates(int fd)
{
	int first = CALL(dup, fd), second;

	NEED(first >= 0);
	second = CALL(fcntl, fd, F_DUPFD_CLOEXEC, 3);
	NEED(second >= 0);
	NEED(CALL(dup2, fd, first) == first);
	NEED(CALL(dup3, fd, second, O_CLOEXEC) == second);
	NEED(CALL(close, first) == 0);
	NEED(CALL(close, second) == 0);
	NEED(CALL(fcntl, fd, F_GETFD) == 0);
}

/* Makes calls with offsets that take one word of a record or two, and with negative ones. */
static void use_offsets(int fd)
{
	char bytes[MIDDLE_MOST];
	off_t to = (off_t)random_number(OFFSET_BITS),
	      behind = (off_t)sizeof(bytes) + (off_t)random_number(OFFSET_BITS);
	size_t count = random_length(sizeof(bytes));

	memset(bytes, 'b', sizeof(bytes));
	NEED(CALL(lseek, fd, to, SEEK_SET) == to);
	NEED(CALL(lseek, fd, random_negative(), SEEK_SET) == -1 && errno == EINVAL);
	NEED(CALL(pread, fd, bytes, count, behind) == 0);
	NEED(CALL(pread, fd, bytes, count, random_negative()) == -1 && errno == EINVAL);
	NEED(CALL(pwrite, fd, bytes, count, random_negative()) == -1 && errno == EINVAL);
	NEED(CALL(ftruncate, fd, random_negative()) == -1 && errno == EINVAL);
	NEED(CALL(pwrite, fd, bytes, count, 0) == (ssize_t)count);
	NEED(CALL(pread, fd, bytes, sizeof(bytes), 0) == (ssize_t)(count > 20 ? count : 20));
	NEED(CALL(lseek, fd, 0, SEEK_SET) == 0);
}

static void use_files(long thread)
{
	char name[40], buffer[64];
	struct stat status;
	int fd, other;

	snprintf(name, sizeof(name), "data.%ld", thread);
	fd = CALL(open, path_to(name), O_RDWR | O_CREAT | O_EXCL, 0600);
	NEED(fd >= 0);
	NEED(CALL(open, path_to(name), O_RDWR | O_CREAT | O_EXCL, 0600) == -1 && errno == EEXIST);
	NEED(CALL(write, fd, "hello", five) == 5);
	NEED(CALL(pwrite, fd, "world", five, 5) == 5);
	NEED(CALL(pread, fd, buffer, five, 5) == 5 && !memcmp(buffer, "world", 5));
	NEED(CALL(lseek, fd, 0, SEEK_SET) == 0);
	NEED(CALL(read, fd, buffer, five) == 5 && !memcmp(buffer, "hello", 5));
	use_vectors(fd);
	use_offsets(fd);
	use_duplicates(fd);
	NEED(CALL(ftruncate, fd, 4) == 0);
	NEED(CALL(fsync, fd) == 0);
	NEED(CALL(fdatasync, fd) == 0);
	NEED(CALL(fstat, fd, &status) == 0 && status.st_size == 4);
	NEED(CALL(fstat, -1, &status) == -1 && errno == EBADF);
	NEED(CALL(ioctl, fd, FIONREAD, &other) == 0);
	NEED(CALL(close, fd) == 0);
	NEED(CALL(close, -1) == -1 && errno == EBADF);
	NEED(CALL(truncate, path_to(name), random_negative()) == -1 && errno == EINVAL);
	NEED(CALL(truncate, path_to(name), 5) == 0);
	fd = CALL(openat, AT_FDCWD, path_to(name), O_RDONLY);
	NEED(fd >= 0);
	other = CALL(creat, path_to(name), 0600);
	NEED(other >= 0);
	NEED(CALL(sendfile, other, fd, NULL, five) == 0);
	NEED(CALL(close, other) == 0);
	NEED(CALL(close, fd) == 0);
	NEED(CALL(unlink, path_to(name)) == 0);
}

static void use_pipes(void)
{
	char buffer[64];
	int first[2], second[2];

	NEED(CALL(pipe, first) == 0);
	NEED(CALL(pipe2, second, O_CLOEXEC | O_NONBLOCK) == 0);
	NEED(CALL(read, second[0], buffer, five) == -1 && errno == EAGAIN);
	NEED(CALL(write, first[1], "12345", five) == 5);
	NEED(CALL(tee, first[0], second[1], 5, 0) == 5);
	NEED(CALL(read, second[0], buffer, five) == 5);
	NEED(CALL(splice, first[0], NULL, second[1], NULL, five, 0) == 5);
	NEED(CALL(read, second[0], buffer, five) == 5);
	NEED(CALL(close, first[0]) == 0 && CALL(close, first[1]) == 0);
	NEED(CALL(close, second[0]) == 0 && CALL(close, second[1]) == 0);
}

/* -- Streams ------------------------------------------------------------------------------------ */

static void use_stream(FILE *file)
{
	char buffer[64], text[MIDDLE_MOST + 1], own[512], *line = NULL;
	size_t room = 0;
	int number = 0, bytes;

	NEED(file);
	NEED(CALL(setvbuf, file, own, _IOFBF, random_length(sizeof(own))) == 0);
	bytes = (int)strlen(random_text(text, MIDDLE_MOST));
	NEED(CALL(fputs, "17 lines\nand words\n", file) >= 0);
	NEED(CALL(fwrite, "bytes", 1, five, file) == 5);
	NEED(CALL(fputc, '\n', file) == '\n');
	NEED(CALL(fprintf, file, "%d and %s\n", 4, text) == bytes + 7);
	NEED(CALL(fflush, file) == 0);
	NEED(CALL(ftell, file) == bytes + 32);
	CALL(rewind, file);
	NEED(CALL(fscanf, file, "%d", &number) == 1 && number == 17);
	NEED(CALL(fgetc, file) == ' ');
	NEED(CALL(ungetc, 'x', file) == 'x');
	NEED(CALL(fgets, buffer, (int)five * 10, file) == buffer && !strcmp(buffer, "xlines\n"));
	NEED(CALL(getdelim, &line, &room, '\n', file) == 10);
	free(line);
	NEED(CALL(fread, buffer, 1, five, file) == 5 && !memcmp(buffer, "bytes", 5));
	NEED(CALL(fseek, file, random_negative(), SEEK_SET) == -1 && errno == EINVAL);
	bytes = (int)random_length(INT_MAX);
	NEED(CALL(fseek, file, bytes, SEEK_SET) == 0 && CALL(ftell, file) == bytes);
	NEED(CALL(fseek, file, 0, SEEK_SET) == 0);
	NEED(CALL(fclose, file) == 0);
}

static void use_streams(long thread)
{
	char name[40], text[MIDDLE_MOST + 1];
	FILE *file;
	int fd;

	snprintf(name, sizeof(name), "stream.%ld", thread);
	NEED(CALL(fopen, path_to("no such directory/file"), "r") == NULL && errno == ENOENT);
	use_stream(CALL(fopen, path_to(name), "w+"));
	fd = CALL(open, path_to(name), O_RDWR | O_TRUNC);
	NEED(fd >= 0);
	NEED(CALL(dprintf, fd, "%s", random_text(text, MIDDLE_MOST)) == (int)strlen(text));
	NEED(CALL(ftruncate, fd, 0) == 0);
	NEED(CALL(lseek, fd, 0, SEEK_SET) == 0);
	use_stream(CALL(fdopen, fd, "r+"));
	file = CALL(fopen, path_to(name), "r");
	NEED(file);
	file = CALL(freopen, path_to(name), "w+", file);
	use_stream(file);
	NEED(CALL(unlink, path_to(name)) == 0);
}

/* -- Sockets ------------------------------------------------------------------------------------ */

static void use_connection(int a, int b)
{
	char buffer[MIDDLE_MOST] = "";
	size_t bytes = random_length(sizeof(buffer));
	struct iovec vector = {buffer, bytes};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

	NEED(CALL(send, a, buffer, bytes, 0) == (ssize_t)bytes);
	NEED(CALL(recv, b, buffer, bytes, MSG_WAITALL) == (ssize_t)bytes);
	NEED(CALL(sendmsg, a, &message, 0) == (ssize_t)bytes);
	NEED(CALL(recvmsg, b, &message, MSG_WAITALL) == (ssize_t)bytes);
	NEED(CALL(sendto, a, "third", five, 0, NULL, 0) == 5);
	NEED(CALL(recvfrom, b, buffer, five, MSG_WAITALL, NULL, NULL) == 5);
	NEED(CALL(shutdown, a, SHUT_WR) == 0);
	NEED(CALL(recv, b, buffer, five, 0) == 0);
	NEED(CALL(close, a) == 0 && CALL(close, b) == 0);
}

/* Returns the address of a socket at a path of random length, for which the address has room. */
static struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s",
		 path_within(path, sizeof(address.sun_path) - 1));
	return address;
}

static void use_socket_paths(long thread)
{
	char name[40];
	struct sockaddr_un address, peer;
	socklen_t length = sizeof(peer);
	int listener = CALL(socket, AF_UNIX, SOCK_STREAM, 0), client, server;

	snprintf(name, sizeof(name), "socket.%ld", thread);
	address = address_of(name);
	NEED(CALL(bind, listener, (struct sockaddr *)&address, sizeof(address)) == 0);
	NEED(CALL(listen, listener, 1) == 0);
	NEED(CALL(getsockname, listener, (struct sockaddr *)&peer, &length) == 0);
	NEED(!strcmp(peer.sun_path, address.sun_path));
	client = CALL(socket, AF_UNIX, SOCK_STREAM, 0);
	address = address_of("none");
	NEED(CALL(connect, client, (struct sockaddr *)&address, sizeof(address)) == -1 && errno == ENOENT);
	address = address_of(name);
	NEED(CALL(connect, client, (struct sockaddr *)&address, sizeof(address)) == 0);
	length = sizeof(peer);
	server = CALL(accept, listener, (struct sockaddr *)&peer, &length);
	NEED(server >= 0);
	use_connection(client, server);
	client = CALL(socket, AF_UNIX, SOCK_DGRAM, 0);
	address = address_of("none");
	NEED(CALL(sendto, client, name, random_length(sizeof(name)), 0, (struct sockaddr *)&address,
		  sizeof(address)) == -1);
	NEED(CALL(close, client) == 0 && CALL(close, listener) == 0 && CALL(unlink, path_to(name)) == 0);
}

static void use_sockets(long round)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr *any = (struct sockaddr *)&address;
	socklen_t length = sizeof(address), bytes = sizeof(int);
	int listener = CALL(socket, AF_INET, SOCK_STREAM, 0), pair[2], client, server, one = 1;

	NEED(listener >= 0);
	NEED(CALL(setsockopt, listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0);
	NEED(CALL(getsockopt, listener, SOL_SOCKET, SO_REUSEADDR, &one, &bytes) == 0 && one);
	NEED(CALL(bind, listener, any, sizeof(address)) == 0);
	NEED(CALL(listen, listener, 1) == 0);
	NEED(CALL(getsockname, listener, any, &length) == 0);
	client = CALL(socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	NEED(CALL(connect, client, any, sizeof(address)) == 0);
	server = round % 2 ? CALL(accept, listener, NULL, NULL)
			   : CALL(accept4, listener, NULL, NULL, SOCK_CLOEXEC);
	NEED(server >= 0);
	use_connection(client, server);
	NEED(CALL(close, listener) == 0);
	NEED(CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	use_connection(pair[0], pair[1]);
}

static void use_polling(void)
{
	struct timespec now = {0, 0};
	struct timeval at_once = {0, 0};
	struct epoll_event event = {.events = EPOLLIN};
	struct pollfd poll_for;
	int ends[2], set;
	fd_set fds;

	NEED(CALL(pipe, ends) == 0);
	NEED(CALL(write, ends[1], "x", 1) == 1);
	poll_for = (struct pollfd){ends[0], POLLIN, 0};
	NEED(CALL(poll, &poll_for, five / 5, -1) == 1);
	NEED(CALL(ppoll, &poll_for, five / 5, &now, NULL) == 1);
	FD_ZERO(&fds);
	FD_SET(ends[0], &fds);
	NEED(CALL(select, ends[0] + 1, &fds, NULL, NULL, &at_once) == 1);
	NEED(CALL(pselect, ends[0] + 1, &fds, NULL, NULL, &now, NULL) == 1);
	set = CALL(epoll_create1, EPOLL_CLOEXEC);
	NEED(set >= 0);
	NEED(CALL(epoll_ctl, set, EPOLL_CTL_ADD, ends[0], &event) == 0);
	NEED(CALL(epoll_ctl, set, EPOLL_CTL_ADD, ends[0], &event) == -1 && errno == EEXIST);
	NEED(CALL(epoll_wait, set, &event, 1, -1) == 1);
	NEED(CALL(epoll_pwait, set, &event, 1, -1, NULL) == 1);
	NEED(CALL(close, set) == 0 && CALL(close, ends[0]) == 0 && CALL(close, ends[1]) == 0);
}

static void use_clocks(void)
{
	struct timespec little = {0, 1000}, wrong = {(time_t)random_number(32), 1000000000},
			past = {(time_t)random_number(10), (long)random_below(1000000000)};

	NEED(CALL(nanosleep, &little, NULL) == 0);
	NEED(CALL(nanosleep, &wrong, NULL) == -1 && errno == EINVAL);
	NEED(CALL(clock_nanosleep, CLOCK_MONOTONIC, 0, &little, NULL) == 0);
	NEED(CALL(clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &past, NULL) == 0);
	wrong = (struct timespec){random_negative(), 0};
	NEED(CALL(nanosleep, &wrong, NULL) == -1 && errno == EINVAL);
	NEED(CALL(usleep, (unsigned)random_number(6)) == 0);
	NEED(CALL(sleep, 0) == 0);
}

/* -- All of it ---------------------------------------------------------------------------------- */

static void *use_all(void *thread)
{
	long i;

	random_seed(1 + (uint64_t)(uintptr_t)thread);
	for (i = 0; i < rounds; i++) {
		use_files((long)thread);
		use_pipes();
		use_streams((long)thread);
		use_sockets(i);
		use_socket_paths((long)thread);
		use_polling();
		use_clocks();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	rounds = argc > 2 ? atol(argv[2]) : 1;
	random_seed(0);
	run_threads(argc > 1 ? atoi(argv[1]) : 1, use_all, create_thread, join_thread);
	print_counts();
	return 0;
}
