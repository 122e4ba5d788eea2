/* See connection.h. The thread that records first in a process makes the connection. writer/buffer_managed.c
 * uses it from then on. */
#include "connection.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/base/category_list.h"
#include "writer/apart.h"

enum { ANSWER_SECONDS = 1, HIGH_DESCRIPTOR = 1000 };

/* A message, in both directions. It is not on the stack, because a signal handler may have to make the
 * buffer; file_lock guards it. The last byte is for a NUL. */
static struct {
	struct fxt_packet packet;
	char text[FXT_PROVIDER_MESSAGE_BYTES - sizeof(struct fxt_packet) + 1];
} message;

/* Returns a socket with a high number that is connected to the manager, or a negative errno. */
static int open_connection(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(fxt_agent.config.manager);
	int fd = (int)FXT_SYSCALL3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error;

	if (fd < 0)
		return fd;
	fd = fxt_file_move_high(fd);
	memcpy(address.sun_path, fxt_agent.config.manager, length + 1);
	error = fd < HIGH_DESCRIPTOR
			? -EMFILE
			: (int)FXT_SYSCALL3(SYS_connect, fd, &address,
					    offsetof(struct sockaddr_un, sun_path) + length + 1);
	if (!error)
		return fd;
	fxt_sys_close(fd);
	return error;
}

/* Sends the message, with `bytes` bytes of text, and a descriptor unless that is -1. Returns 0 or a negative
 * errno. */
static int send_message(int connection, size_t bytes, int descriptor)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {{.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct iovec data = {&message, sizeof(message.packet) + bytes};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
	long sent;

	if (descriptor >= 0) {
		memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(int));
		header.msg_control = &control;
		header.msg_controllen = sizeof(control);
	}
	sent = FXT_SYSCALL3(SYS_sendmsg, connection, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
	return sent < 0 ? (int)sent : 0;
}

/* Waits for a message, which has to be `request`. Its text ends with a NUL then. Returns 0 or a negative
 * errno. Signals are blocked, so nothing interrupts the wait. */
static int receive(int connection, enum fxt_manager_request request)
{
	static const struct timespec most = {ANSWER_SECONDS, 0};
	struct pollfd poll = {connection, POLLIN, 0};
	struct timespec left = most;
	long bytes = FXT_SYSCALL5(SYS_ppoll, &poll, 1, &left, NULL, 0);

	if (bytes <= 0)
		return bytes ? (int)bytes : -ETIMEDOUT;
	bytes = FXT_SYSCALL6(SYS_recvfrom, connection, &message, sizeof(message) - 1, MSG_DONTWAIT, NULL,
			     NULL);
	if (bytes < (long)sizeof(message.packet))
		return bytes < 0 ? (int)bytes : -ECONNRESET;
	message.text[(size_t)bytes - sizeof(message.packet)] = '\0';
	return message.packet.request == request ? 0 : -EPROTO;
}

/* The manager may know categories that this agent does not have. */
static void pass_over(const char *name, size_t bytes)
{
	(void)name, (void)bytes;
}

/* Takes over what the manager wants. Returns 0 or a negative errno. */
static int initialize(struct fxt_buffer_config *config)
{
	if (message.packet.data32 > FXT_BUFFERING_STREAMING ||
	    message.packet.data64 < FXT_BUFFER_MIN_BYTES ||
	    message.packet.data64 / FXT_CHUNK_BYTES > FXT_RING_MAX_CHUNKS)
		return -EPROTO;
	fxt_agent.config.mode = config->mode = (enum fxt_mode)message.packet.data32;
	fxt_agent.config.buffer_bytes = config->bytes = message.packet.data64;
	if (message.text[0])
		fxt_agent.config.categories = fxt_category_list(message.text, pass_over);
	return 0;
}

static void set_message(enum fxt_manager_request request, uint32_t data32, uint64_t data64)
{
	message.packet = (struct fxt_packet){(uint16_t)request, 0, data32, data64};
}

/* Registers, and makes the buffer as the manager wants it. Returns the descriptor of the buffer's memory,
 * or a negative errno. */
static int register_here(struct fxt_buffer *buffer, struct fxt_buffer_config *config, int connection)
{
	size_t bytes = strlen(fxt_agent.program);
	int error;

	static_assert(sizeof(fxt_agent.program) <= FXT_PROVIDER_NAME_BYTES, "the name fits");
	set_message(FXT_PROVIDER_REGISTER, FXT_PROVIDER_VERSION, fxt_agent.koid);
	memcpy(message.text, fxt_agent.program, bytes);
	error = send_message(connection, bytes, -1);
	if (!error)
		error = receive(connection, FXT_MANAGER_INITIALIZE);
	if (!error)
		error = initialize(config);
	return error ? error : fxt_buffer_create_managed(buffer, config, connection);
}

/* Hands the memory over and waits until the trace is started. Returns 0 or a negative errno. */
static int start(struct fxt_buffer *buffer, int memory)
{
	int error;

	set_message(FXT_PROVIDER_INITIALIZED, 0, buffer->managed->total_size);
	error = send_message(buffer->fd, 0, memory);
	if (!error)
		error = receive(buffer->fd, FXT_MANAGER_START);
	if (error)
		return error;
	if (message.text[0])
		fxt_agent.config.categories |= fxt_category_list(message.text, pass_over);
	set_message(FXT_PROVIDER_STARTED, FXT_PROVIDER_VERSION, 0);
	return send_message(buffer->fd, 0, -1);
}

int fxt_connection_make_buffer(struct fxt_buffer *buffer, struct fxt_buffer_config *config)
{
	int connection, memory, error;

	/* Other threads would see the sockets for a moment. */
	if (!fxt_opens_here())
		return -EBUSY;
	connection = open_connection();
	if (connection < 0)
		return connection;
	memory = register_here(buffer, config, connection);
	if (memory < 0) {
		fxt_sys_close(connection);
		return memory;
	}
	error = start(buffer, memory);
	fxt_sys_close(memory);
	if (error)
		fxt_buffer_forget(buffer);
	return error;
}
