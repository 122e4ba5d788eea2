/* Uses streams in ways that leave unknown what becomes of the bytes or messages. Prints the arrows that its
 * trace has, "cause -> effect count": those for what is known before such a use, and none after it.
 *
 *	streams_odd library COUNT	bytes that the C library reads and writes for its streams
 *	streams_odd unseen COUNT	system calls by their numbers, and a pipe that becomes one of packets
 *	streams_odd messages COUNT	messages that are cut, empty, printed, filtered or for others
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "need.h"

enum { LITTLE = 10 };

static char buffer[LITTLE];
static int pipe_ends[2];
static long count;

static void library(void)
{
	char into[LITTLE + 1];
	FILE *in, *out;
	long i;

	need(!pipe(pipe_ends));
	for (i = 0; i < count; i++)
		need(write(pipe_ends[1], buffer, LITTLE) == LITTLE &&
		     read(pipe_ends[0], into, LITTLE) == LITTLE);
	/* dprintf() writes without a FILE of the program's. */
	for (i = 0; i < count; i++) {
		need(dprintf(pipe_ends[1], "%05d%05d", 1, 2) == LITTLE &&
		     write(pipe_ends[1], buffer, LITTLE) == LITTLE);
		need(read(pipe_ends[0], into, LITTLE) == LITTLE);
		need(read(pipe_ends[0], into, LITTLE) == LITTLE);
	}
	out = fdopen(pipe_ends[1], "w");
	need(out != NULL);
	for (i = 0; i < count; i++) {
		need(fputs("0123456789", out) >= 0 && !fflush(out) &&
		     read(pipe_ends[0], into, LITTLE) == LITTLE);
		need(write(pipe_ends[1], buffer, LITTLE) == LITTLE &&
		     read(pipe_ends[0], into, LITTLE) == LITTLE);
	}
	/* popen() makes the pipe itself. */
	in = popen("echo 012345678", "r");
	need(in && read(fileno(in), into, LITTLE) == LITTLE && !pclose(in));
	/* Does the same by the FILEs that are there from the beginning. */
	need(!pipe(pipe_ends) && dup2(pipe_ends[0], 0) == 0);
	in = stdin;
	for (i = 0; i < count; i++) {
		need(write(pipe_ends[1], buffer, LITTLE) == LITTLE && read(0, into, LITTLE) == LITTLE);
		if (i == 0)
			need(write(pipe_ends[1], buffer, LITTLE) == LITTLE &&
			     fread(into, 1, LITTLE, in) == LITTLE);
	}
	printf("dprintf -> read %ld\nwrite -> read %ld\n", count, 2 * count + 1);
}

/* What syscall() does is known as if a function had done it. After O_DIRECT, what was known before would be
	 * wrong. */
static void unseen(void)
{
	char into[2 * LITTLE];
	int way, other;
	long i;

	for (i = 0; i < count; i++) {
		for (way = 0; way < 4; way++) {
			need(!pipe(pipe_ends));
			need(write(pipe_ends[1], buffer, LITTLE) == LITTLE &&
			     read(pipe_ends[0], into, LITTLE) == LITTLE);
			other = -1;
			if (way == 0)
				need(syscall(SYS_write, pipe_ends[1], buffer, LITTLE) == LITTLE);
			else if (way == 1)
				need((other = (int)syscall(SYS_dup, pipe_ends[1])) >= 0 &&
				     write(other, buffer, LITTLE) == LITTLE);
			else if (way == 2)
				need(write(pipe_ends[1], buffer, LITTLE) == LITTLE &&
				     syscall(SYS_read, pipe_ends[0], into, LITTLE) == LITTLE);
			else
				need(!fcntl(pipe_ends[1], F_SETFL, O_DIRECT) &&
				     write(pipe_ends[1], buffer, LITTLE) == LITTLE &&
				     read(pipe_ends[0], into, 1) == 1);
			need(write(pipe_ends[1], buffer, LITTLE) == LITTLE &&
			     read(pipe_ends[0], into, LITTLE) == LITTLE);
			need(other < 0 || !close(other));
			need(!close(pipe_ends[0]) && !close(pipe_ends[1]));
		}
		/* The number of a duplicate becomes another file's. */
		need(!pipe(pipe_ends) && (other = open("/dev/null", O_RDWR)) >= 0);
		need((way = dup(pipe_ends[1])) >= 0 && syscall(SYS_dup3, other, way, 0) == way);
		need(write(way, buffer, LITTLE) == LITTLE);
		need(write(pipe_ends[1], buffer, LITTLE) == LITTLE &&
		     read(pipe_ends[0], into, 2 * LITTLE) == LITTLE);
		need(!close(pipe_ends[0]) && !close(pipe_ends[1]) && !close(other) && !close(way));
	}
	printf("write -> read %ld\n", 9 * count);
}

/* -- Messages ---------------------------------------------------------------------------------- */

/* Makes a new pair and sends a message each way. All is known so far: two arrows. */
static void pair_of_messages(int type, int ends[2])
{
	char into[LITTLE];
	int i;

	need(!socketpair(AF_UNIX, type, 0, ends));
	for (i = 0; i < 2; i++)
		need(write(ends[i], buffer, LITTLE) == LITTLE && read(ends[!i], into, LITTLE) == LITTLE);
}

/* Sends a message each way, where one direction or both are not known any more. */
static void say(const int ends[2])
{
	char into[LITTLE];
	int i;

	for (i = 0; i < 2; i++)
		need(write(ends[i], buffer, LITTLE) == LITTLE && read(ends[!i], into, LITTLE) == LITTLE);
}

static void cut(int type)
{
	char into[LITTLE];
	int ends[2];

	pair_of_messages(type, ends);
	need(write(ends[0], buffer, LITTLE) == LITTLE);
	need(write(ends[0], buffer, LITTLE) == LITTLE);
	need(read(ends[1], into, 1) == 1);
	need(recv(ends[1], into, 1, MSG_PEEK) == 1 && recv(ends[1], into, LITTLE, 0) == LITTLE);
	say(ends);
	need(!close(ends[0]) && !close(ends[1]));
}

static void empty(int type)
{
	char into[LITTLE];
	int ends[2];

	pair_of_messages(type, ends);
	need(!send(ends[0], buffer, 0, 0) && !recv(ends[1], into, LITTLE, 0));
	say(ends);
	need(!close(ends[0]) && !close(ends[1]));
}

/* dprintf() may send its text in as many pieces as the C library likes. */
static void printed(int type)
{
	char into[LITTLE];
	int ends[2];

	pair_of_messages(type, ends);
	need(dprintf(ends[0], "%05d%05d", 1, 2) == LITTLE && read(ends[1], into, LITTLE) == LITTLE);
	say(ends);
	need(!close(ends[0]) && !close(ends[1]));
}

/* A filter drops the message, but the sender is told that all was sent. */
static void filtered(int type)
{
	struct sock_filter none = {BPF_RET | BPF_K, 0, 0, 0}, all = {BPF_RET | BPF_K, 0, 0, UINT32_MAX};
	struct sock_fprog program_of[2] = {{1, &none}, {1, &all}};
	int ends[2];

	pair_of_messages(type, ends);
	need(!setsockopt(ends[1], SOL_SOCKET, SO_ATTACH_FILTER, &program_of[0], sizeof(program_of[0])));
	need(write(ends[0], buffer, LITTLE) == LITTLE);
	need(!setsockopt(ends[1], SOL_SOCKET, SO_ATTACH_FILTER, &program_of[1], sizeof(program_of[1])));
	say(ends);
	need(!close(ends[0]) && !close(ends[1]));
}

/* Sends a message to another socket by its address, once with each call. */
static void for_others(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct iovec vector = {buffer, LITTLE};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_name = &address};
	int ends[2], other = socket(AF_UNIX, SOCK_DGRAM, 0), i;
	socklen_t bytes = sizeof(address);
	char into[LITTLE];

	/* The kernel chooses the socket's name. */
	need(!bind(other, (struct sockaddr *)&address, sizeof(sa_family_t)));
	need(!getsockname(other, (struct sockaddr *)&address, &bytes));
	message.msg_namelen = bytes;
	for (i = 0; i < 3; i++) {
		pair_of_messages(SOCK_DGRAM, ends);
		if (i == 0)
			need(sendto(ends[0], buffer, LITTLE, 0, (struct sockaddr *)&address, bytes) ==
			     LITTLE);
		else if (i == 1)
			need(sendmsg(ends[0], &message, 0) == LITTLE);
		else
			need(!connect(ends[0], (struct sockaddr *)&address, bytes) &&
			     write(ends[0], buffer, LITTLE) == LITTLE);
		need(read(other, into, LITTLE) == LITTLE);
		if (i < 2)
			say(ends);
		need(!close(ends[0]) && !close(ends[1]));
	}
	need(!close(other));
}

static void messages(void)
{
	long i;

	for (i = 0; i < count; i++) {
		cut(i % 2 ? SOCK_DGRAM : SOCK_SEQPACKET);
		empty(i % 2 ? SOCK_DGRAM : SOCK_SEQPACKET);
		printed(i % 2 ? SOCK_DGRAM : SOCK_SEQPACKET);
		filtered(i % 2 ? SOCK_DGRAM : SOCK_SEQPACKET);
		for_others();
	}
	/* All arrows of the first are known, and of the second those of the other direction; of the others
	 * those at first. */
	printf("write -> read %ld\nwrite -> recv %ld\n", count * (2 + 1 + 2 + 2 + 1 + 2 + 2 + 3 * 2), count);
}

int main(int argc, char **argv)
{
	need(argc == 3);
	count = atol(argv[2]);
	if (!strcmp(argv[1], "unseen"))
		unseen();
	else if (!strcmp(argv[1], "library"))
		library();
	else
		messages();
	return 0;
}
