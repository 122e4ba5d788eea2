/* Uses each kind of descriptor, makes requests, and prints the lifetimes of them: see lifetimes.c. */
#include <aio.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lifetimes.h"

char data[1000];

/* -- Files and their duplicates ------------------------------------------------------------------- */

static void use_files(void)
{
	int file = opened("one"), other = opened("two"), copy;
	char path[] = "madeXXXXXX";
	off_t start = 0;

	need(write(file, data, 100) == 100);
	need(pread(file, data, 60, 0) == 60);
	need(sendfile(other, file, &start, 30) == 30);
	copy = dup(file);
	need(copy >= 0 && pwrite(copy, data, 7, 0) == 7);
	closed(file);
	SAY_TEXT("io:file open one 90/100");
	closed(copy);
	SAY("io:file dup %d 0/7", file);
	need(close(copy) == -1 && errno == EBADF);
	need(close(-1) == -1);
	closed(other);
	SAY_TEXT("io:file open two 0/30");
	file = mkstemp(path);
	need(file >= 0);
	closed(file);
	SAY("io:file mkstemp %s 0/0", path);
	need(open("missing/path", O_RDONLY) == -1);
	file = openat(AT_FDCWD, "one", O_RDONLY);
	closed(file);
	SAY_TEXT("io:file openat one 0/0");
	file = creat("three", 0600);
	closed(file);
	SAY_TEXT("io:file creat three 0/0");
	file = memfd_create("memory", 0);
	closed(file);
	SAY_TEXT("io:memory memfd_create memory 0/0");
}

/* A lifetime ends when another descriptor takes its number. A duplicate to the same number changes
 * nothing, and neither does a call that fails. */
static void use_duplicates(void)
{
	int file = opened("one"), other = opened("two"), high;

	need(write(other, data, 5) == 5);
	need(dup2(file, file) == file);
	need(dup2(-1, other) == -1 && errno == EBADF);
	need(dup2(file, other) == other);
	SAY_TEXT("io:file open two 0/5");
	need(write(other, data, 3) == 3);
	need(dup3(file, other, O_CLOEXEC) == other);
	SAY("io:file dup2 %d 0/3", file);
	high = fcntl(file, F_DUPFD_CLOEXEC, 700);
	need(high >= 700);
	closed(high);
	SAY("io:file fcntl %d 0/0", file);
	need(fcntl(file, F_GETFD) == FD_CLOEXEC);
	closed(other);
	SAY("io:file dup3 %d 0/0", file);
	closed(file);
	SAY_TEXT("io:file open one 0/0");
}

static void use_ranges(void)
{
	int i, first = -1, fd;

	for (i = 0; i < 5; i++) {
		fd = opened("one");
		first = first < 0 ? fd : first;
	}
	need(write(first + 1, data, 9) == 9);
	need(close_range((unsigned)first + 4, (unsigned)first, 0) == -1);
	need(close_range((unsigned)first, (unsigned)first + 4, CLOSE_RANGE_CLOEXEC) == 0);
	need(close_range((unsigned)first, (unsigned)first + 2, 0) == 0);
	for (i = 0; i < 3; i++)
		SAY("io:file open one 0/%d", i == 1 ? 9 : 0);
	closefrom(first);
	SAY_TEXT("io:file open one 0/0");
	SAY_TEXT("io:file open one 0/0");
}

/* -- Streams and directories ------------------------------------------------------------------------ */

static FILE *reopened(const char *path, FILE *stream)
{
	return freopen(path, "r+", stream);
}

static void use_streams(void)
{
	FILE *stream = fopen("one", "w+");
	int fd = opened("two");
	char line[20], *text = NULL;
	size_t bytes;

	need(stream && fputs("a line\n", stream) >= 0 && fclose(stream) == 0);
	SAY_TEXT("io:file fopen one -");
	stream = fdopen(fd, "r");
	need(stream && fclose(stream) == 0);
	SAY_TEXT("io:file open two -");
	stream = fopen("one", "r");
	need(stream != NULL);
	stream = reopened("two", stream);
	SAY_TEXT("io:file fopen one -");
	need(stream != NULL);
	need(!reopened("missing/path", stream));
	SAY_TEXT("io:file freopen two -");
	stream = tmpfile();
	need(stream && fclose(stream) == 0);
	SAY_TEXT("io:file tmpfile . -");
	stream = open_memstream(&text, &bytes);
	need(stream && fclose(stream) == 0);
	free(text);
	stream = popen("echo said", "r");
	need(stream && fgets(line, sizeof(line), stream) && pclose(stream) == 0);
	SAY_TEXT("io:pipe popen echo_said -");
}

static void use_directories(void)
{
	DIR *directory = opendir(".");
	int fd = open(".", O_RDONLY | O_DIRECTORY);

	need(directory && readdir(directory) && closedir(directory) == 0);
	SAY_TEXT("io:directory opendir . -");
	directory = fdopendir(fd);
	need(directory && closedir(directory) == 0);
	SAY_TEXT("io:file open . 0/0");
	need(!opendir("missing"));
}

/* -- Requests --------------------------------------------------------------------------------------- */

static void finish(const struct aiocb *block)
{
	while (aio_error(block) == EINPROGRESS)
		aio_suspend(&block, 1, NULL);
}

static ssize_t result_of(struct aiocb *block)
{
	finish(block);
	return aio_return(block);
}

static void use_requests(void)
{
	int fd = opened("one");
	struct aiocb write = {
		.aio_fildes = fd, .aio_buf = data, .aio_nbytes = 50, .aio_lio_opcode = LIO_WRITE};
	struct aiocb read = {.aio_fildes = fd,
			     .aio_buf = data,
			     .aio_nbytes = 40,
			     .aio_offset = 30,
			     .aio_lio_opcode = LIO_READ};
	struct aiocb nothing = {.aio_fildes = -1, .aio_lio_opcode = LIO_NOP}, bad = read;
	struct aiocb *list[] = {&write, NULL, &nothing, &read};

	need(aio_write(&write) == 0 && result_of(&write) == 50);
	SAY_TEXT("io:aio_write request 0+50 50");
	need(aio_read(&read) == 0 && result_of(&read) == 20);
	SAY_TEXT("io:aio_read request 30+40 20");
	need(aio_fsync(O_SYNC, &write) == 0 && result_of(&write) == 0);
	SAY_TEXT("io:aio_fsync request . 0");
	need(lio_listio(LIO_WAIT, list, 4, NULL) == 0 && result_of(&read) == 20);
	SAY_TEXT("io:aio_read request 30+40 20");
	SAY_TEXT("io:aio_write request 0+50 left");
	/* The call refuses the first; the second fails later, because its descriptor is not open. */
	bad.aio_reqprio = -1;
	need(aio_read(&bad) == -1 && errno == EINVAL);
	SAY("io:aio_read request 30+40 -1 errno %d", EINVAL);
	bad = (struct aiocb){.aio_fildes = 999, .aio_buf = data, .aio_nbytes = 1};
	need(aio_read(&bad) == 0 && result_of(&bad) == -1);
	SAY_TEXT("io:aio_read request 0+1 -1");
	need(lio_listio(99, list, 4, NULL) == -1 && errno == EINVAL);
	/* The block is used again, though nobody has taken the result of its request before. */
	need(aio_write(&write) == 0);
	SAY_TEXT("io:aio_write request 0+50 -");
	finish(&write);
	closed(fd);
	SAY_TEXT("io:file open one -");
}

/* -- Pipes, sockets, and what is waited for -------------------------------------------------------- */

static void use_pairs(void)
{
	int ends[2], file = opened("one");

	need(pipe(ends) == 0 && write(ends[1], data, 11) == 11 && read(ends[0], data, 4) == 4);
	need(splice(ends[0], NULL, file, NULL, 100, 0) == 7);
	closed(file);
	SAY_TEXT("io:file open one 0/7");
	closed(ends[0]);
	SAY_TEXT("io:pipe pipe . 11/0");
	closed(ends[1]);
	SAY_TEXT("io:pipe pipe . 0/11");
	need(pipe2(ends, O_CLOEXEC) == 0);
	closed(ends[0]);
	closed(ends[1]);
	SAY("io:pipe pipe2 %d 0/0", O_CLOEXEC);
	SAY("io:pipe pipe2 %d 0/0", O_CLOEXEC);
	need(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && send(ends[0], data, 13, 0) == 13);
	need(recv(ends[1], data, 100, 0) == 13);
	closed(ends[0]);
	closed(ends[1]);
	SAY("net:socket socketpair %d 0/13", AF_UNIX);
	SAY("net:socket socketpair %d 13/0", AF_UNIX);
}

/* Uses a message queue, where there are any. */
static void use_queue(void)
{
	char name[40];
	mqd_t queue;

	snprintf(name, sizeof(name), "/lifetimes.%d", (int)getpid());
	queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, NULL);
	if (queue == -1)
		return;
	need(mq_send(queue, data, 3, 0) == 0 && mq_close(queue) == 0 && mq_unlink(name) == 0);
	SAY("io:queue mq_open %s -", name);
}

static void use_special(void)
{
	uint64_t one = 1;
	sigset_t set;
	int fd;

	fd = eventfd(0, EFD_CLOEXEC);
	need(write(fd, &one, sizeof(one)) == sizeof(one));
	closed(fd);
	SAY("net:eventfd eventfd %d 0/8", EFD_CLOEXEC);
	closed(epoll_create1(0));
	SAY_TEXT("net:epoll epoll_create1 0 0/0");
	closed(timerfd_create(CLOCK_MONOTONIC, 0));
	SAY("net:timerfd timerfd_create %d 0/0", CLOCK_MONOTONIC);
	closed(inotify_init1(IN_CLOEXEC));
	SAY("net:inotify inotify_init1 %d 0/0", IN_CLOEXEC);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	fd = signalfd(-1, &set, 0);
	sigaddset(&set, SIGUSR2);
	need(signalfd(fd, &set, 0) == fd);
	closed(fd);
	SAY_TEXT("net:signalfd signalfd 0 0/0");
}

static struct sockaddr_in bound(int fd)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);

	need(bind(fd, (struct sockaddr *)&address, length) == 0);
	need(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
	return address;
}

static int port_of(int fd)
{
	struct sockaddr_in address = {0};
	socklen_t length = sizeof(address);

	need(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
	return ntohs(address.sin_port);
}

static void use_connections(void)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), client, server, from, i;
	struct sockaddr_in address = bound(listener), peer;
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	socklen_t length;

	need(listen(listener, 5) == 0);
	for (i = 0; i < 2; i++) {
		client = socket(AF_INET, SOCK_STREAM, 0);
		need(connect(client, (struct sockaddr *)&address, sizeof(address)) == 0);
		from = port_of(client);
		length = sizeof(peer);
		/* The trace has the peer's address, even if the program does not ask for it. */
		server = i ? accept(listener, NULL, NULL)
			   : accept4(listener, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC);
		need(server >= 0 && write(client, data, 17) == 17 && read(server, data, 17) == 17);
		if (i)
			need(shutdown(client, SHUT_RDWR) == 0);
		else
			need(shutdown(client, SHUT_WR) == 0);
		closed(client);
		closed(server);
		SAY("net:connection connect 127.0.0.1:%d 0/17", ntohs(address.sin_port));
		SAY("net:socket socket %d 0/17", AF_INET);
		SAY("net:connection %s 127.0.0.1:%d 17/0", i ? "accept" : "accept4", from);
	}
	closed(listener);
	SAY("net:socket socket %d 0/0", AF_INET);
	/* Nobody listens there any more. */
	client = socket(AF_INET, SOCK_STREAM, 0);
	need(connect(client, (struct sockaddr *)&address, sizeof(address)) == -1);
	closed(client);
	SAY("net:socket socket %d 0/0", AF_INET);
	/* This socket is connected to one address, then to another, then to none. */
	client = socket(AF_INET, SOCK_DGRAM, 0);
	need(connect(client, (struct sockaddr *)&address, sizeof(address)) == 0);
	SAY("net:connection connect 127.0.0.1:%d 0/0", ntohs(address.sin_port));
	address.sin_port = htons(9);
	need(connect(client, (struct sockaddr *)&address, sizeof(address)) == 0);
	SAY_TEXT("net:connection connect 127.0.0.1:9 -");
	need(connect(client, &none, sizeof(none)) == 0);
	closed(client);
	SAY("net:socket socket %d 0/0", AF_INET);
}

/* -- What is left ------------------------------------------------------------------------------------ */

static FILE *left_stream;
static DIR *left_directory;

static void leave(void)
{
	int i, fd = opened("left"), listener = socket(AF_INET, SOCK_STREAM, 0), client;
	struct sockaddr_in address = bound(listener);

	SAY_TEXT("io:file open left left");
	for (i = 0; i < 3; i++) {
		opened("left often");
		SAY_TEXT("io:file open left_often left");
	}
	need(dup(fd) >= 0);
	SAY("io:file dup %d left", fd);
	need(listen(listener, 5) == 0);
	client = socket(AF_INET, SOCK_STREAM, 0);
	need(connect(client, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	     accept(listener, NULL, NULL) >= 0);
	SAY("net:socket socket %d left", AF_INET);
	SAY("net:socket socket %d left", AF_INET);
	SAY("net:connection connect 127.0.0.1:%d left", ntohs(address.sin_port));
	SAY("net:connection accept 127.0.0.1:%d left", port_of(client));
	left_stream = fopen("left", "r");
	left_directory = opendir(".");
	need(left_stream && left_directory);
	SAY_TEXT("io:file fopen left left");
	SAY_TEXT("io:directory opendir . left");
}

void use_all(void)
{
	use_files();
	use_duplicates();
	use_ranges();
	use_streams();
	use_directories();
	use_requests();
	use_pairs();
	use_queue();
	use_special();
	use_connections();
	leave();
}
