/* See connection.h. */
#include "connection.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "writer/apart.h"
#include "writer/provider.h"
#include "writer/sys.h"

#define VARIABLE "FXT_RUN="

enum { ANSWER_SECONDS = 1 };

static char key[FXT_RUN_NAME_BYTES + FXT_RUN_SECRET_BYTES];
static bool has_key, is_run;

void fxt_run_key_read(char **environment)
{
	for (; *environment && strncmp(*environment, VARIABLE, strlen(VARIABLE)); environment++)
		;
	is_run = *environment;
	has_key = *environment && strlen(*environment + strlen(VARIABLE)) == sizeof(key);
	if (has_key)
		memcpy(key, *environment + strlen(VARIABLE), sizeof(key));
}

bool fxt_run_is_run(void)
{
	return is_run;
}

bool fxt_run_has_key(void)
{
	return has_key;
}

static int send_key(int fd, uint32_t wish, const char *line, size_t bytes)
{
	struct fxt_packet packet = {FXT_PROVIDER_KEY, 0, wish, 0};
	struct iovec data[] = {{&packet, sizeof(packet)}, {key + FXT_RUN_NAME_BYTES, FXT_RUN_SECRET_BYTES},
			       {(void *)(uintptr_t)line, bytes}};
	struct msghdr header = {.msg_iov = data, .msg_iovlen = 3};
	long sent = FXT_SYSCALL3(SYS_sendmsg, fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);

	return sent < 0 ? (int)sent : 0;
}

static int connect_and_send(int fd, uint32_t wish, const char *line, size_t bytes)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int error;

	/* The name of an abstract socket begins with a NUL. */
	memcpy(address.sun_path + 1, key, FXT_RUN_NAME_BYTES);
	error = (int)FXT_SYSCALL3(SYS_connect, fd, &address,
				  offsetof(struct sockaddr_un, sun_path) + 1 + FXT_RUN_NAME_BYTES);
	return error ? error : send_key(fd, wish, line, bytes);
}

int fxt_run_connect(int fd)
{
	return connect_and_send(fd, FXT_KEY_JOINS, NULL, 0);
}

static int open_socket(void)
{
	return (int)FXT_SYSCALL3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int fxt_run_shared(void)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct fxt_packet packet;
	struct iovec data = {&packet, sizeof(packet)};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				.msg_controllen = sizeof(control)};
	struct timespec left = {ANSWER_SECONDS, 0};
	struct pollfd poll = {.events = POLLIN};
	int found = -ENOENT;
	long bytes;

	if (!has_key || (poll.fd = open_socket()) < 0)
		return found;
	if (!connect_and_send(poll.fd, FXT_KEY_SHARED, NULL, 0) &&
	    FXT_SYSCALL5(SYS_ppoll, &poll, 1, &left, NULL, 0) == 1) {
		bytes = FXT_SYSCALL3(SYS_recvmsg, poll.fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (bytes >= (long)sizeof(packet) && header.msg_controllen >= CMSG_LEN(sizeof(int)) &&
		    control.header.cmsg_type == SCM_RIGHTS)
			memcpy(&found, CMSG_DATA(&control.header), sizeof(int));
	}
	fxt_sys_close(poll.fd);
	return found;
}

struct saying {
	const char *line;
	size_t bytes;
};

static long say(void *argument)
{
	const struct saying *saying = argument;
	int fd = open_socket();

	if (fd < 0)
		return fd;
	connect_and_send(fd, FXT_KEY_SAYS, saying->line, saying->bytes);
	fxt_sys_close(fd);
	return 0;
}

void fxt_run_say(const char *line, size_t bytes)
{
	struct saying saying = {line, bytes};

	fxt_apart(say, &saying);
}
