/* See connection.h. The thread that records first in a process makes the connection. writer/buffer_managed.c
 * uses it from then on. */
#include "connection.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/base/category_list.h"
#include "agent/base/parts.h"
#include "writer/apart.h"

enum { HIGH_DESCRIPTOR = 1000 };

/* How long a process waits for its manager in all: one that has been executed, before its first call; and one
 * that waits already and is woken, in one of its calls. */
static const struct timespec at_start = {1, 0}, when_woken = {0, 100 * 1000 * 1000};

/* No manager takes a larger memory than this (tools/manager/client_memory.c), with all that is in it. */
static const uint64_t MOST_BYTES = UINT64_C(4) << 30;

/* The header of a memory and the table of its chunks take no more than that (provider.h). */
enum { FRONT_BYTES = 1 << 20 };

/* A message, in both directions. It is not on the stack, because a signal handler may have to make the
 * buffer; file_lock guards it. The last byte is for a NUL. */
static FXT_LARGE struct {
	struct fxt_packet packet;
	char text[FXT_PROVIDER_MESSAGE_BYTES - sizeof(struct fxt_packet) + 1];
} message;

/* The number of this provider's page of gates, and of the manager's session. */
static uint32_t page;
static uint16_t session;
static uint16_t echo;                   /* what another manager has in `reserved`; it comes back */
static uint32_t session_categories;
static uint64_t own_bytes;              /* how large this process would make its memory; 0: no matter yet */
static uint32_t begun_categories;       /* of the last START, before a budget left any out */
/* by which the manager knows this process, and those that it forks, again */
static char token[FXT_PROVIDER_TOKEN_BYTES];
static bool owes_started;               /* START has come, and was not answered yet */
static bool has_session;                /* INITIALIZE has come, and TERMINATE has not */
static bool is_to_start;                /* the manager has announced START, which must not be late */
static struct timespec patience;        /* how long this process still waits for answers */

/* -- Messages ---------------------------------------------------------------------------------- */

/* Room for one descriptor beside a message. */
union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

/* Returns a socket that is connected to the manager, or a negative errno. If it `is_kept`, it has a high
 * number. */
static int open_connection(bool is_kept)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(fxt_agent.config.manager);
	int opened = (int)FXT_SYSCALL3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int fd, error;

	if (opened < 0)
		return opened;
	fd = is_kept ? fxt_file_move_high(opened) : opened;
	memcpy(address.sun_path, fxt_agent.config.manager, length + 1);
	error = is_kept && (fd == opened || fd < HIGH_DESCRIPTOR)
			? -EMFILE
			: (int)FXT_SYSCALL3(SYS_connect, fd, &address,
					    offsetof(struct sockaddr_un, sun_path) + length + 1);
	/* The path leads nowhere for a process of another user or behind another root. */
	if (error && error != -EMFILE && error != -EAGAIN && fxt_run_has_key())
		error = fxt_run_connect(fd);
	if (!error)
		return fd;
	fxt_sys_close(fd);
	return error;
}

/* Sends the message, with `bytes` bytes of text, and a descriptor unless that is -1. Returns 0 or a negative
 * errno. */
static int send_message(int connection, size_t bytes, int descriptor)
{
	union control control = {
		{.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
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

/* Reads a message. If it `waits`, it does so while there is patience left: the system call takes off how long
 * it has taken. The message's text ends with a NUL then. `*descriptor` is one that came along, or -1. Signals
 * are blocked, so nothing interrupts the wait. Returns 0 or a negative errno. */
static int receive(int connection, bool waits, int *descriptor)
{
	struct pollfd poll = {connection, POLLIN, 0};
	struct timespec none = {0, 0};
	union control control;
	struct iovec data = {&message, sizeof(message) - 1};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
	long bytes = FXT_SYSCALL5(SYS_ppoll, &poll, 1, waits ? &patience : &none, NULL, 0);

	*descriptor = -1;
	if (bytes <= 0)
		return bytes ? (int)bytes : -ETIMEDOUT;
	/* Where other threads could see a descriptor, none is accepted. */
	if (fxt_opens_here()) {
		header.msg_control = &control;
		header.msg_controllen = sizeof(control);
	}
	bytes = FXT_SYSCALL3(SYS_recvmsg, connection, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (bytes < (long)sizeof(message.packet))
		return bytes < 0 ? (int)bytes : -ECONNRESET;
	if (header.msg_controllen >= CMSG_LEN(sizeof(int)) && control.header.cmsg_type == SCM_RIGHTS)
		memcpy(descriptor, CMSG_DATA(&control.header), sizeof(int));
	message.text[(size_t)bytes - sizeof(message.packet)] = '\0';
	return 0;
}

static void set_message(enum fxt_manager_request request, uint32_t data32, uint64_t data64)
{
	message.packet = (struct fxt_packet){(uint16_t)request, 0, data32, data64};
}

/* -- What the manager wants -------------------------------------------------------------------- */

/* The manager may know categories that this agent does not have. */
static void pass_over(const char *name, size_t bytes)
{
	(void)name, (void)bytes;
}

/* Takes over what FXT_MANAGER_INITIALIZE says. Returns 0 or a negative errno. */
static int initialize(void)
{
	uint32_t mode = message.packet.data32 & ~(uint32_t)FXT_BUFFERING_WAITS;
	uint64_t bytes = message.packet.data64 & FXT_SESSION_BYTES_MASK;

	if (mode > FXT_BUFFERING_STREAMING)
		return -EPROTO;
	session = (uint16_t)(message.packet.data64 >> FXT_SESSION_SHIFT);
	echo = message.packet.reserved;
	has_session = true;
	fxt_agent.config.mode = (enum fxt_mode)mode;
	fxt_agent.config.waits_for_manager = message.packet.data32 & FXT_BUFFERING_WAITS;
	if (!own_bytes)
		own_bytes = fxt_agent.config.buffer_bytes;
	/* How large the memory shall be is a hint. It may not be larger than files of this process. */
	if (!bytes)
		bytes = own_bytes;
	if (bytes > MOST_BYTES)
		bytes = MOST_BYTES;
	while (bytes > FXT_BUFFER_MIN_BYTES && fxt_sys_is_past_limit(bytes + FRONT_BYTES))
		bytes /= 2;
	fxt_agent.config.buffer_bytes = bytes > FXT_BUFFER_MIN_BYTES ? bytes : FXT_BUFFER_MIN_BYTES;
	session_categories = message.text[0] ? fxt_category_list(message.text, pass_over)
					     : fxt_agent.config.own_categories;
	fxt_parts_mode();
	return 0;
}

/* Takes over what FXT_MANAGER_START says. It is answered when the gate is open: fxt_connection_started(). */
static void start(void)
{
	char *left_out = strstr(message.text, FXT_START_LEAVES_OUT);

	if (left_out) {
		*left_out = '\0';
		left_out += strlen(FXT_START_LEAVES_OUT);
	}
	fxt_agent.config.categories = session_categories;
	if (message.text[0])
		fxt_agent.config.categories |= fxt_category_list(message.text, pass_over);
	begun_categories = fxt_agent.config.categories;
	is_to_start = false;
	if (left_out && *left_out)
		fxt_agent.config.categories &= ~fxt_category_list(left_out, pass_over);
	owes_started = true;
}

void fxt_connection_started(struct fxt_buffer *buffer)
{
	if (!owes_started)
		return;
	owes_started = false;
	fxt_buffer_tell(buffer, (struct fxt_packet){FXT_PROVIDER_STARTED, 0, FXT_PROVIDER_VERSION, 0});
}

/* -- Going on ---------------------------------------------------------------------------------- */

static void set_initialized(const struct fxt_buffer *buffer)
{
	set_message(FXT_PROVIDER_INITIALIZED, page,
		    buffer->header->total_size | (uint64_t)session << FXT_SESSION_SHIFT);
	message.packet.reserved = echo;
}

/* Answers FXT_MANAGER_STOP. Returns 0 or a negative errno. */
static int say_stopped(int connection)
{
	set_message(FXT_PROVIDER_STOPPED, 0, 0);
	return send_message(connection, 0, -1);
}

/* Returns what it means that no message has come. A process that the manager can wake need not be started
 * soon after it was initialized, unless the manager has announced that. */
static int nothing_came(bool waits)
{
	return waits && (is_to_start || !fxt_gate_manager_word()) ? -ETIMEDOUT : -EAGAIN;
}

/* Reads messages and does what they say, until one starts the trace. It may wait for the first one, and waits
 * for those that have to follow another. Returns as fxt_connection_go_on(). */
static int go_on(struct fxt_buffer *buffer, bool waits)
{
	int descriptor, error;
	bool is_new = false;

	for (;;) {
		error = receive(buffer->fd, waits, &descriptor);
		if (descriptor >= 0)
			fxt_sys_close(descriptor);
		if (error)
			return error == -ETIMEDOUT ? nothing_came(waits) : error;
		switch (message.packet.request) {
		case FXT_MANAGER_INITIALIZE:
			waits = is_new = true;
			error = initialize();
			if (error)
				return error;
			fxt_managed_begin(buffer, fxt_agent.config.mode);
			set_initialized(buffer);
			error = send_message(buffer->fd, 0, -1);
			break;
		case FXT_MANAGER_START:
			if (!has_session)
				break;
			fxt_managed_go_on(buffer, message.packet.data32 != FXT_RETAIN);
			fxt_agent.begins_anew =
				is_new || (message.packet.data32 != FXT_RETAIN && !message.packet.data64);
			start();
			return 0;
		case FXT_MANAGER_STOP:
			waits = false;
			error = say_stopped(buffer->fd);
			break;
		case FXT_MANAGER_TERMINATE:
			waits = has_session = false;
			break;
		case FXT_MANAGER_BUFFER_SAVED:
			fxt_managed_saved(buffer, message.packet.data32);
			break;
		case FXT_MANAGER_ALL_SAVED:     /* another thread ends the process, and waits for this */
			fxt_managed_all_saved(buffer);
			break;
		default:
			break;
		}
		if (error)
			return error;
	}
}

int fxt_connection_go_on(struct fxt_buffer *buffer)
{
	patience = when_woken;
	return go_on(buffer, false);
}

/* -- Beginning --------------------------------------------------------------------------------- */

/* Waits for the answer to FXT_PROVIDER_REGISTER, and passes over other messages. Returns 0 or a negative
 * errno. */
static int receive_answer(int connection, int *descriptor)
{
	int error;

	for (;;) {
		error = receive(connection, true, descriptor);
		if (error || message.packet.request == FXT_MANAGER_REGISTERED ||
		    message.packet.request == FXT_MANAGER_INITIALIZE)
			return error;
		if (*descriptor >= 0)
			fxt_sys_close(*descriptor);
	}
}

/* Registers. Returns 0 if the manager's next message is FXT_MANAGER_INITIALIZE, which may be `message`
 * already; -EINPROGRESS if it has no use for this process yet; or another negative errno. */
static int register_here(int connection)
{
	size_t bytes = strlen(fxt_agent.program);
	int error, descriptor;

	static_assert(sizeof(fxt_agent.program) <= FXT_PROVIDER_NAME_BYTES, "the name fits");
	set_message(FXT_PROVIDER_REGISTER, FXT_PROVIDER_VERSION, fxt_agent.koid);
	memcpy(message.text, fxt_agent.program, bytes);
	error = send_message(connection, bytes, -1);
	if (!error)
		error = receive_answer(connection, &descriptor);
	if (error)
		return error;
	if (message.packet.request == FXT_MANAGER_REGISTERED) {
		page = message.packet.data32;
		is_to_start = message.packet.data64 & FXT_START_FOLLOWS;
		memcpy(token, message.text, FXT_PROVIDER_TOKEN_BYTES);
		error = descriptor >= 0 ? fxt_gate_keep_page(descriptor, page) : -EPROTO;
		if (!error && !(message.packet.data64 & FXT_INITIALIZE_FOLLOWS))
			error = -EINPROGRESS;
	}
	if (descriptor >= 0)
		fxt_sys_close(descriptor);
	return error;
}

/* Returns 0 or a negative errno; then the connection is closed. */
static int keep_connection(struct fxt_buffer *buffer, int connection)
{
	const _Atomic uint32_t *word = fxt_gate_manager_word();
	int error;

	/* A manager that is not ours may hold no futex: then the end of the connection is its end. */
	if (word && !atomic_load_explicit(word, memory_order_acquire))
		word = NULL;
	error = fxt_buffer_connect(buffer, connection, word);
	if (error)
		fxt_sys_close(connection);
	return error;
}

int fxt_connection_open(struct fxt_buffer *buffer)
{
	int connection, error;

	/* Other threads would see the sockets for a moment. */
	if (!fxt_opens_here())
		return -EBUSY;
	set_message(0, 0, 0);
	page = 0;
	has_session = owes_started = is_to_start = false;
	patience = at_start;
	connection = open_connection(true);
	if (connection < 0)
		return connection;
	error = register_here(connection);
	if (error && error != -EINPROGRESS) {
		fxt_sys_close(connection);
		return error;
	}
	return keep_connection(buffer, connection) ? -EBADF : error;
}

struct making {
	struct fxt_buffer *buffer;
	const struct fxt_buffer_config *config;
	bool is_apart;
};

/* Makes the memory and hands it over: by a connection of its own if this is done apart. */
static long make_memory(void *argument)
{
	const struct making *making = argument;
	int memory = fxt_buffer_create_managed(making->buffer, making->config), connection, error;

	if (memory < 0)
		return memory;
	connection = making->is_apart ? open_connection(false) : making->buffer->fd;
	set_initialized(making->buffer);
	/* This may be another process's connection. */
	memcpy(message.text, token, FXT_PROVIDER_TOKEN_BYTES);
	memcpy(message.text + FXT_PROVIDER_TOKEN_BYTES, &fxt_agent.koid, sizeof(fxt_agent.koid));
	error = connection < 0
			? connection
			: send_message(connection, making->is_apart ? FXT_PROVIDER_PROOF_BYTES : 0, memory);
	if (making->is_apart && connection >= 0)
		fxt_sys_close(connection);
	fxt_sys_close(memory);
	return error;
}

bool fxt_connection_has_parents(void)
{
	return fxt_agent.is_forked && page;
}

/* Connects, and says whose child this is and, in the same message, what its memory is (-1: it has none
 * yet). */
static int tell_forked(struct fxt_buffer *buffer, int memory)
{
	size_t bytes = strlen(fxt_agent.program);
	int connection = open_connection(true), error;

	owes_started = false;
	if (connection < 0)
		return connection;
	set_message(FXT_PROVIDER_FORKED, FXT_PROVIDER_VERSION, (uint64_t)page << 32 | fxt_agent.koid);
	memcpy(message.text, fxt_agent.program, bytes);
	error = send_message(connection, bytes, memory);
	if (!error)
		return keep_connection(buffer, connection);
	fxt_sys_close(connection);
	return error;
}

int fxt_connection_wait_as_child(struct fxt_buffer *buffer)
{
	has_session = false;
	return tell_forked(buffer, -1);
}

int fxt_connection_fork(struct fxt_buffer *buffer, struct fxt_buffer_config *config)
{
	int memory, error;

	config->mode = fxt_agent.config.mode;
	config->bytes = fxt_agent.config.buffer_bytes;
	config->session = session;
	memory = fxt_buffer_create_managed(buffer, config);
	error = memory < 0 ? memory : tell_forked(buffer, memory);
	if (memory >= 0)
		fxt_sys_close(memory);
	if (error) {
		fxt_buffer_forget(buffer);
		return error;
	}
	/* The child has a budget of its own, and nothing is left out yet. */
	fxt_agent.config.categories = begun_categories;
	return 0;
}

/* Takes over what FXT_MANAGER_INITIALIZE says. Sessions may have come and gone while this process waited, so
 * all messages are read, and the last session counts. It may have been started: then the answer to that is
 * owed. Returns 0, or -EAGAIN if there is no session now, or another negative errno. */
static int await_initialize(int connection)
{
	bool waits = message.packet.request == FXT_MANAGER_REGISTERED &&
		     (message.packet.data64 & FXT_INITIALIZE_FOLLOWS);
	int descriptor, error = 0;

	/* This may be the answer to REGISTER itself. */
	if (message.packet.request != FXT_MANAGER_INITIALIZE)
		set_message(0, 0, 0);
	owes_started = false;
	for (;;) {
		switch (message.packet.request) {
		case FXT_MANAGER_INITIALIZE:
			error = initialize();
			waits = owes_started = false;
			break;
		case FXT_MANAGER_START:
			if (has_session)
				start();
			break;
		case FXT_MANAGER_STOP:
			owes_started = false;
			error = say_stopped(connection);
			break;
		case FXT_MANAGER_TERMINATE:
			has_session = owes_started = false;
			break;
		default:
			break;
		}
		if (!error)
			error = receive(connection, waits, &descriptor);
		if (error)
			break;
		if (descriptor >= 0)
			fxt_sys_close(descriptor);
	}
	set_message(0, 0, 0);
	if (error != -ETIMEDOUT || waits)
		return error;
	return has_session ? 0 : -EAGAIN;
}

int fxt_connection_make_buffer(struct fxt_buffer *buffer, struct fxt_buffer_config *config)
{
	struct making making = {buffer, config, !fxt_opens_here()};
	int error;

	if (fxt_gate_is_lent()) {
		patience = when_woken;
		is_to_start = false;
	}
	error = await_initialize(buffer->fd);
	config->mode = fxt_agent.config.mode;
	config->bytes = fxt_agent.config.buffer_bytes;
	config->session = session;
	config->waits = fxt_agent.config.wait_on_full || fxt_agent.config.waits_for_manager;
	/* Nothing is wanted before START: no other thread reads what the manager says, and passes over it. */
	atomic_store_explicit(&buffer->failure, -ESHUTDOWN, memory_order_relaxed);
	if (!error)
		error = (int)fxt_apart(make_memory, &making);
	if (!error && !owes_started)
		error = go_on(buffer, true);
	else if (!error)
		fxt_managed_go_on(buffer, false);
	if (error && error != -EAGAIN) {
		if (buffer->header)
			atomic_store_explicit(&buffer->header->leaving, FXT_HAS_LEFT, memory_order_release);
		fxt_buffer_forget(buffer);
		page = 0;               /* children that are forked ask for themselves */
	}
	return error;
}
