/* Two threads or processes talk through something, and know how often one got what the other wrote. Prints
 * the arrows that its trace has, "cause -> effect count".
 *
 *	streams KIND COUNT threads	pipe, fifo, pair, unix, tcp, event, and with messages datagram,
 *					seqpacket (pairs) and connection: COUNT questions and answers
 *	streams KIND COUNT fork		the one who answers is a forked child
 *	streams KIND COUNT exec		the one who answers has executed this program anew
 *	streams amid COUNT		reads begin within a write
 *	streams writers COUNT		writes overlap, and are not told apart
 *	streams readers COUNT		reads overlap, and are not told apart
 *	streams slept COUNT		each read sleeps before what it gets is written
 *	streams order COUNT		there are more writes at once than are remembered; each is read alone
 *	streams received COUNT		the end of a pipe is sent through a socket
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"

static const char *kind, *program;
static long count;

static bool is(const char *name)
{
	return !strcmp(kind, name);
}

/* -- One message, by the calls that this kind is about ----------------------------------------- */

static char buffer[1 << 18];

/* Messages have many lengths, so that one read in other pieces than it was written is noticed. */
static size_t length(long i)
{
	return (size_t)(1 + i % 1000);
}

static void put(int fd, long i)
{
	struct iovec vector[2] = {{buffer, 1}, {buffer, length(i) - 1}};
	struct msghdr message = {.msg_iov = vector, .msg_iovlen = 2};

	if (is("event"))
		need(!eventfd_write(fd, length(i)));
	else if (is("pair"))
		need(writev(fd, vector, 2) == (ssize_t)length(i));
	else if (is("unix") || is("connection"))
		need(sendmsg(fd, &message, 0) == (ssize_t)length(i));
	else if (is("tcp") || is("seqpacket"))
		need(send(fd, buffer, length(i), 0) == (ssize_t)length(i));
	else
		need(write(fd, buffer, length(i)) == (ssize_t)length(i));
}

static void get(int fd, long i)
{
	static char into[2000];
	struct iovec vector[2] = {{into, 1}, {into + 1, sizeof(into) - 1}};
	struct msghdr message = {.msg_iov = vector, .msg_iovlen = 2};
	eventfd_t value;

	if (is("event"))
		need(!eventfd_read(fd, &value) && value == length(i));
	else if (is("pair"))
		need(readv(fd, vector, 2) == (ssize_t)length(i));
	else if (is("unix") || is("connection"))
		need(recvmsg(fd, &message, 0) == (ssize_t)length(i));
	else if (is("tcp") || is("seqpacket"))
		need(recv(fd, into, sizeof(into), 0) == (ssize_t)length(i));
	else
		need(read(fd, into, sizeof(into)) == (ssize_t)length(i));
}

static const char *names(void)
{
	return is("event") ? "eventfd_write -> eventfd_read" : is("pair") ? "writev -> readv" :
	       is("unix") || is("connection") ? "sendmsg -> recvmsg" :
	       is("tcp") || is("seqpacket") ? "send -> recv" : "write -> read";
}

/* -- Questions and answers --------------------------------------------------------------------- */

struct ends {
	int in, out;
};

static void ask(struct ends ends)
{
	long i;

	for (i = 0; i < count; i++) {
		put(ends.out, 2 * i);
		get(ends.in, 2 * i + 1);
	}
}

static void answer(struct ends ends)
{
	long i;

	for (i = 0; i < count; i++) {
		get(ends.in, 2 * i);
		put(ends.out, 2 * i + 1);
	}
}

static struct sockaddr_un unix_address(void)
{
	return (struct sockaddr_un){.sun_family = AF_UNIX, .sun_path = "streams.socket"};
}

/* Makes what has to exist before the two meet. Returns the socket that listens, or -1. */
static int begin(struct ends *asks, struct ends *answers)
{
	int there[2], back[2], listener = -1;
	struct sockaddr_un address = unix_address();

	if (is("pipe")) {
		need(!pipe(there) && !pipe2(back, 0));
		*asks = (struct ends){back[0], there[1]};
		*answers = (struct ends){there[0], back[1]};
	} else if (is("pair") || is("datagram") || is("seqpacket")) {
		need(!socketpair(AF_UNIX,
				 is("pair")	  ? SOCK_STREAM
				 : is("datagram") ? SOCK_DGRAM
						  : SOCK_SEQPACKET,
				 0, there));
		*asks = (struct ends){there[0], there[0]};
		*answers = (struct ends){there[1], there[1]};
	} else if (is("event")) {
		there[0] = eventfd(0, 0);
		back[0] = eventfd(0, 0);
		need(there[0] >= 0 && back[0] >= 0);
		*asks = (struct ends){back[0], there[0]};
		*answers = (struct ends){there[0], back[0]};
	} else if (is("fifo")) {
		need(!mkfifo("streams.there", 0600) && !mkfifo("streams.back", 0600));
	} else if (is("unix") || is("connection")) {
		listener = socket(AF_UNIX, is("unix") ? SOCK_STREAM : SOCK_SEQPACKET, 0);
		need(!bind(listener, (struct sockaddr *)&address, sizeof(address)) && !listen(listener, 1));
	} else {
		listener = socket(AF_INET, SOCK_STREAM, 0);
		need(!listen(listener, 1));
	}
	return listener;
}

/* Gets the ends of a FIFO or of an accepted connection, for which the other is needed. */
static void meet(struct ends *ends, int listener)
{
	if (is("fifo")) {
		ends->out = open("streams.there", O_WRONLY);
		ends->in = open("streams.back", O_RDONLY);
		need(ends->out >= 0 && ends->in >= 0);
	} else if (listener >= 0) {
		ends->in = ends->out = accept(listener, NULL, NULL);
		need(ends->in >= 0);
	}
}

static void come(struct ends *ends, int port)
{
	struct sockaddr_un address = unix_address();
	struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (is("fifo")) {
		ends->in = open("streams.there", O_RDONLY);
		ends->out = open("streams.back", O_WRONLY);
	} else if (is("unix") || is("connection")) {
		ends->in = ends->out = socket(AF_UNIX, is("unix") ? SOCK_STREAM : SOCK_SEQPACKET, 0);
		need(!connect(ends->in, (struct sockaddr *)&address, sizeof(address)));
	} else if (is("tcp")) {
		ends->in = ends->out = socket(AF_INET, SOCK_STREAM, 0);
		need(!connect(ends->in, (struct sockaddr *)&there, sizeof(there)));
	}
	need(ends->in >= 0 && ends->out >= 0);
}

static struct ends answerer;
static int port;

static void *answering(void *unused)
{
	come(&answerer, port);
	answer(answerer);
	return unused;
}

static void execute(void)
{
	char numbers[4][16];
	char *arguments[] = {(char *)program, (char *)kind, numbers[0], "child",
			     numbers[1],      numbers[2],   numbers[3], NULL};

	snprintf(numbers[0], sizeof(numbers[0]), "%ld", count);
	snprintf(numbers[1], sizeof(numbers[1]), "%d", answerer.in);
	snprintf(numbers[2], sizeof(numbers[2]), "%d", answerer.out);
	snprintf(numbers[3], sizeof(numbers[3]), "%d", port);
	execv(program, arguments);
	abort();
}

static void talk(const char *with)
{
	struct sockaddr_in address = {0};
	socklen_t bytes = sizeof(address);
	struct ends asks = {-1, -1};
	int listener = begin(&asks, &answerer), status;
	pthread_t thread;
	pid_t child = 0;

	if (is("tcp")) {
		need(!getsockname(listener, (struct sockaddr *)&address, &bytes));
		port = ntohs(address.sin_port);
	}
	if (!strcmp(with, "threads")) {
		need(!pthread_create(&thread, NULL, answering, NULL));
	} else {
		child = fork();
		if (!child && !strcmp(with, "exec"))
			execute();
		if (!child) {
			answering(NULL);
			exit(0);
		}
	}
	meet(&asks, listener);
	ask(asks);
	if (child)
		need(waitpid(child, &status, 0) == child && !status);
	else
		need(!pthread_join(thread, NULL));
	unlink("streams.there");
	unlink("streams.back");
	unlink("streams.socket");
	printf("%s %ld\n", names(), 2 * count);
}

/* -- What is not known ------------------------------------------------------------------------- */

static int pipe_ends[2];

static void read_all(size_t bytes)
{
	static char into[1 << 12];
	ssize_t some;

	for (; bytes; bytes -= (size_t)some) {
		some = read(pipe_ends[0], into, bytes < sizeof(into) ? bytes : sizeof(into));
		need(some > 0);
	}
}

static void amid(void)
{
	char into[10];
	long i;

	for (i = 0; i < count; i++) {
		need(write(pipe_ends[1], buffer, 10) == 10);
		need(write(pipe_ends[1], buffer, 10) == 10);
		/* The reads get bytes of the first write, then of both, then the rest of the second. */
		need(read(pipe_ends[0], into, 7) == 7);
		need(read(pipe_ends[0], into, 7) == 7);
		need(read(pipe_ends[0], into, 10) == 6);
	}
	printf("write -> read %ld\n", count);
}

static void order(void)
{
	enum { AT_ONCE = 40, REMEMBERED = 12 };
	char into[10];
	long i, j;

	for (i = 0; i < count; i++) {
		for (j = 0; j < AT_ONCE; j++)
			need(write(pipe_ends[1], buffer, 3) == 3);
		for (j = 0; j < AT_ONCE; j++)
			need(read(pipe_ends[0], into, 3) == 3);
	}
	printf("write -> read %ld\n", count * REMEMBERED);
}

/* Threads that are in the same system call at once; wait_for() waits until they are. */
static atomic_int tids[2];

static void wait_for(int threads, long number)
{
	char path[64], line[64];
	int i, found = 0;
	FILE *file;

	while (found < threads) {
		for (i = found = 0; i < threads; i++) {
			snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", atomic_load(&tids[i]));
			file = fopen(path, "r");
			/* The line begins with "running" or with the number of the system call. */
			found += file && fgets(line, sizeof(line), file) && line[0] < ':' &&
				 atol(line) == number;
			if (file)
				fclose(file);
		}
		usleep(100);
	}
}

/* More than a pipe holds. */
enum { MUCH = 1 << 17, LITTLE = 10 };

static void *write_much(void *tid)
{
	atomic_store((atomic_int *)tid, (int)syscall(SYS_gettid));
	need(write(pipe_ends[1], buffer, MUCH) == MUCH);
	return NULL;
}

static void *read_little(void *tid)
{
	char into[LITTLE];

	atomic_store((atomic_int *)tid, (int)syscall(SYS_gettid));
	need(read(pipe_ends[0], into, LITTLE) == LITTLE);
	return NULL;
}

static void overlap(void *(*transfer)(void *), long number)
{
	pthread_t threads[2];
	char into[LITTLE];
	long i, j;

	for (i = 0; i < count; i++) {
		for (j = 0; j < 2; j++) {
			atomic_store(&tids[j], 0);
			need(!pthread_create(&threads[j], NULL, transfer, &tids[j]));
		}
		wait_for(2, number);
		if (number == SYS_write)
			read_all(2 * MUCH);
		else
			need(write(pipe_ends[1], buffer, 2 * LITTLE) == 2 * LITTLE);
		for (j = 0; j < 2; j++)
			need(!pthread_join(threads[j], NULL));
		/* What comes after them is known again. */
		need(write(pipe_ends[1], buffer, LITTLE) == LITTLE &&
		     read(pipe_ends[0], into, LITTLE) == LITTLE);
	}
	printf("write -> read %ld\n", count);
}

static atomic_long begun;

static void *read_in_turn(void *tid)
{
	char into[LITTLE];
	long i;

	atomic_store((atomic_int *)tid, (int)syscall(SYS_gettid));
	for (i = 0; i < count; i++) {
		atomic_store(&begun, i + 1);
		need(read(pipe_ends[0], into, LITTLE) == LITTLE);
	}
	return NULL;
}

static void slept(void)
{
	pthread_t thread;
	long i;

	need(!pthread_create(&thread, NULL, read_in_turn, &tids[0]));
	for (i = 0; i < count; i++) {
		while (atomic_load(&begun) != i + 1)
			usleep(100);
		wait_for(1, SYS_read);
		need(write(pipe_ends[1], buffer, LITTLE) == LITTLE);
	}
	need(!pthread_join(thread, NULL));
	printf("write -> read %ld\n", count);
}

/* -- An end that comes through a socket -------------------------------------------------------- */

union rights {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static void get_and_read(int socket)
{
	union rights rights;
	char into[LITTLE];
	struct iovec vector = {into, 1};
	struct msghdr message = {.msg_iov = &vector,
				 .msg_iovlen = 1,
				 .msg_control = &rights,
				 .msg_controllen = sizeof(rights)};
	int fd;
	long i;

	need(recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	for (i = 0; i < count; i++)
		need(read(fd, into, LITTLE) == LITTLE && send(socket, buffer, 1, 0) == 1);
}

static void received(void)
{
	union rights rights;
	struct iovec vector = {buffer, 1};
	struct msghdr message = {.msg_iov = &vector,
				 .msg_iovlen = 1,
				 .msg_control = &rights,
				 .msg_controllen = sizeof(rights)};
	int sockets[2], status;
	char into[1];
	long i;
	pid_t child;

	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	child = fork();
	if (!child) {
		get_and_read(sockets[1]);
		exit(0);
	}
	need(!pipe(pipe_ends));
	memset(&rights, 0, sizeof(rights));
	rights.header = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&rights.header), &pipe_ends[0], sizeof(int));
	need(sendmsg(sockets[0], &message, 0) == 1);
	for (i = 0; i < count; i++)
		need(write(pipe_ends[1], buffer, LITTLE) == LITTLE && recv(sockets[0], into, 1, 0) == 1);
	need(waitpid(child, &status, 0) == child && !status);
	printf("send -> recv %ld\nsendmsg -> recvmsg 1\nwrite -> read %ld\n", count, count);
}

int main(int argc, char **argv)
{
	need(argc >= 3);
	program = argv[0];
	kind = argv[1];
	count = atol(argv[2]);
	if (argc == 7) {
		answerer = (struct ends){atoi(argv[4]), atoi(argv[5])};
		port = atoi(argv[6]);
		answering(NULL);
		return 0;
	}
	if (argc == 4) {
		talk(argv[3]);
		return 0;
	}
	if (!is("received"))
		need(!pipe(pipe_ends));
	if (is("amid"))
		amid();
	else if (is("order"))
		order();
	else if (is("writers"))
		overlap(write_much, SYS_write);
	else if (is("readers"))
		overlap(read_little, SYS_read);
	else if (is("slept"))
		slept();
	else
		received();
	return 0;
}
