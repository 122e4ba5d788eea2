/* See client.h. Talks with one provider. client_save.c saves its memory. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "writer/buffer.h"

enum { REGISTER_NS = 2 * 1000 * 1000 * 1000ll };

/* Linux 6.5 has this option. Older headers lack the name, and older kernels refuse it. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Returns a descriptor of the process at the other end of the connection; -1 if it has none here. */
static int open_process(int fd, pid_t *pid)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer), process_bytes = sizeof(int);
	int process;

	*pid = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || peer.pid <= 0)
		return -1;
	*pid = peer.pid;
	/* By its number another process may be found, if the one that has connected is over. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process, &process_bytes) == 0)
		return process;
	return (int)syscall(SYS_pidfd_open, peer.pid, 0);
}

struct fxt_client *fxt_client_new(int fd, uint64_t now_ns)
{
	struct fxt_client *p = fxt_alloc(1, sizeof(*p));

	p->fd = fd;
	p->process = open_process(fd, &p->pid);
	p->deadline_ns = now_ns + REGISTER_NS;
	return p;
}

/* Sends a message, with a text and a descriptor (-1: none). One that the provider has no room for is dropped:
 * it reads nothing, and is left alone. */
static void say_with(const struct fxt_client *p, struct fxt_packet packet, const char *text, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {{.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct iovec data[] = {{&packet, sizeof(packet)}, {(void *)(uintptr_t)text, strlen(text)}};
	struct msghdr header = {.msg_iov = data, .msg_iovlen = 2};

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		header.msg_control = &control;
		header.msg_controllen = sizeof(control);
	}
	sendmsg(p->fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void say(const struct fxt_client *p, enum fxt_manager_request request, uint32_t data32,
		uint64_t data64, const char *text)
{
	say_with(p, (struct fxt_packet){(uint16_t)request, 0, data32, data64}, text, -1);
}

/* Enters a state. A provider that has messages to read is woken. */
static void enter(struct fxt_client *p, struct fxt_session *session, enum fxt_client_state state)
{
	bool wakes = state == FXT_CLIENT_INITIALIZING || state == FXT_CLIENT_STARTING;

	p->state = state;
	if (wakes != p->wakes)
		fxt_gates_wake(&session->gates, p->page, wakes ? 1 : -1);
	p->wakes = wakes;
}

/* -- The memory -------------------------------------------------------------------------------- */

/* Returns whether `bytes` bytes from `offset` on lie within `size`. */
static bool lies_within(uint64_t offset, uint64_t bytes, uint64_t size)
{
	return offset <= size && bytes <= size - offset;
}

/* Copies the sizes and offsets out of the header, and returns whether they are those of a memory of this
 * size. */
static bool read_header(struct fxt_client *p)
{
	struct fxt_managed_header h;
	uint64_t rolling;

	memcpy(&h, p->memory, sizeof(h));
	if (h.magic != FXT_MANAGED_MAGIC || h.version != FXT_MANAGED_VERSION || h.total_size != p->bytes ||
	    h.chunk_bytes != FXT_CHUNK_BYTES || h.chunk_count % 2 ||
	    h.chunk_count < 2 || h.chunk_count > FXT_RING_MAX_CHUNKS)
		return false;
	rolling = (uint64_t)h.chunk_count * FXT_CHUNK_BYTES;
	p->chunks = h.chunk_count;
	p->durable_offset = h.durable_offset;
	p->durable_bytes = h.durable_buffer_size;
	p->rolling_offset = h.rolling_offset;
	p->counters_offset = h.counters_offset;
	p->counters_bytes = h.counters_size;
	p->table = (fxt_managed_entry *)(p->memory + h.table_offset);
	return h.rolling_buffer_size == rolling / 2 && h.durable_buffer_size <= FXT_DURABLE_MAX_BYTES &&
	       h.table_offset >= sizeof(h) && h.durable_offset >= sizeof(h) &&
	       h.rolling_offset >= sizeof(h) &&
	       (h.table_offset | h.durable_offset | h.rolling_offset | h.durable_buffer_size) %
			       FXT_WORD_BYTES == 0 &&
	       (h.counters_offset | h.counters_size) % FXT_WORD_BYTES == 0 &&
	       lies_within(h.table_offset, h.chunk_count * sizeof(fxt_managed_entry), p->bytes) &&
	       lies_within(h.durable_offset, h.durable_buffer_size, p->bytes) &&
	       lies_within(h.rolling_offset, rolling, p->bytes) &&
	       lies_within(h.counters_offset, h.counters_size, h.durable_buffer_size);
}

/* Returns how large a provider's memory may be. The child of one of an earlier session may come when there is
 * none. */
static uint64_t most_bytes(const struct fxt_client *p, const struct fxt_session *session)
{
	const uint64_t most = UINT64_C(5) << 30;

	return session->state == FXT_SESSION_READY
		       ? most
		       : 2 * fxt_session_buffer_bytes(session, p->name) + (4 << 20);
}

/* Maps the memory that came with INITIALIZED, which has said its size, or with FORKED (0). Returns NULL, or
 * what is wrong with it. */
static const char *map_memory(struct fxt_client *p, const struct fxt_session *session, int fd,
			      uint64_t bytes)
{
	struct stat status;
	struct statfs system;
	int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);

	/* Without these seals an access to the memory could fail, by SIGBUS, and so could one to huge pages,
	 * of which there may be none left. */
	if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW) ||
	    fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC)
		return "its memory is not sealed";
	if (fstat(fd, &status) != 0)
		return "its memory has no size";
	if (!bytes)
		bytes = (uint64_t)status.st_size;
	if ((uint64_t)status.st_size != bytes ||
	    bytes < sizeof(struct fxt_managed_header) ||
	    bytes > most_bytes(p, session))
		return "its memory has not the size that it should have";
	p->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p->memory == MAP_FAILED) {
		p->memory = NULL;
		return "its memory cannot be mapped";
	}
	p->bytes = bytes;
	if (!read_header(p)) {
		munmap(p->memory, p->bytes);
		p->memory = NULL;
		return "the header of its memory is wrong";
	}
	p->saved = fxt_alloc(p->chunks, sizeof(*p->saved));
	fxt_memory_begin(p, session);
	return NULL;
}

bool fxt_client_outlives(struct fxt_client *p)
{
	if (!p->memory || p->process < 0 ||
	    !atomic_load_explicit(&((struct fxt_managed_header *)p->memory)->outlives_connection,
				  memory_order_acquire))
		return false;
	close(p->fd);
	p->fd = -1;
	p->is_mute = true;
	return true;
}

/* -- Messages ---------------------------------------------------------------------------------- */

int fxt_only_descriptor(struct msghdr *header)
{
	int fd, only = -1;
	size_t count = 0, i;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (i = 0; CMSG_LEN((i + 1) * sizeof(fd)) <= c->cmsg_len; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (count++)
				close(fd);
			else
				only = fd;
		}
	}
	if (count <= 1)
		return only;
	close(only);
	return -1;
}

/* Receives a message. Returns its size, 0 at the end of the connection, or -1. *fd is the descriptor that
 * came along, or -1. */
static ssize_t receive(const struct fxt_client *p, void *message, size_t most, int *fd)
{
	union {
		struct cmsghdr header;
		/* This has room for two descriptors, because it is a multiple of 8 bytes. */
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = {message, most};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				.msg_controllen = sizeof(control)};
	ssize_t bytes = recvmsg(p->fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*fd = bytes >= 0 ? fxt_only_descriptor(&header) : -1;
	return bytes;
}

/* Sends FXT_MANAGER_INITIALIZE for the present session. */
static void initialize(struct fxt_client *p, struct fxt_session *session)
{
	say_with(p,
		 (struct fxt_packet){FXT_MANAGER_INITIALIZE, session->number,
				     (uint32_t)session->config.mode |
					     (session->config.waits ? FXT_BUFFERING_WAITS : 0),
				     fxt_session_buffer_bytes(session, p->name)},
		 fxt_session_categories(session, p->name), -1);
	enter(p, session, FXT_CLIENT_INITIALIZING);
}

static void stop(struct fxt_client *p, struct fxt_session *session)
{
	p->stops++;
	say(p, FXT_MANAGER_STOP, 0, 0, "");
	enter(p, session, FXT_CLIENT_STOPPING);
}

/* Saves a rolling buffer, and says so. Stops the provider if it costs too much: hear_stopped() goes on. */
static void save_half(struct fxt_client *p, struct fxt_session *session, const struct fxt_packet *packet)
{
	fxt_client_save_half(p, session, packet->data32 & 1);
	say(p, FXT_MANAGER_BUFFER_SAVED, packet->data32, packet->data64, "");
	if (session->config.budget && p->id && fxt_budget_is_passed(p, session))
		stop(p, session);
}

static void start(struct fxt_client *p, struct fxt_session *session, enum fxt_buffer_disposition disposition)
{
	char *categories;

	if (p->unanswered.request)
		save_half(p, session, &p->unanswered);
	p->unanswered.request = 0;
	p->starts++;
	categories = fxt_format("%s%s", session->additional ? session->additional : "", p->budget.given_up);
	say(p, FXT_MANAGER_START, disposition, session->was_saved, categories);
	free(categories);
	fxt_budget_begin(p);
	enter(p, session, FXT_CLIENT_STARTING);
}

/* Notes what the first message of a provider says of it. */
static void introduce(struct fxt_client *p, uint64_t koid, const char *name, size_t bytes)
{
	uint64_t random;

	memcpy(p->name, name, bytes);
	p->name_bytes = bytes;
	p->koid = koid;
	p->deadline_ns = 0;
	p->state = FXT_CLIENT_WAITING;
	/* Without a random word nobody can hand a memory over for it. */
	if (getrandom(&random, sizeof(random), 0) == (ssize_t)sizeof(random))
		snprintf(p->token, sizeof(p->token), "%016" PRIx64, random);
}

static const char *hear_register(struct fxt_client *p, struct fxt_session *session,
				 const struct fxt_packet *packet, const char *text, size_t bytes)
{
	bool runs = fxt_session_runs(session);

	if (packet->data32 != FXT_PROVIDER_VERSION)
		return "it speaks another version of the protocol";
	if (bytes > FXT_PROVIDER_NAME_BYTES)
		return "its name is too long";
	if (!fxt_gates_take(&session->gates, &p->page))
		return "there are too many, and no page to wake it by";
	introduce(p, packet->data64, text, bytes);
	say_with(p, (struct fxt_packet){FXT_MANAGER_REGISTERED, 0, p->page, runs}, p->token,
		 session->gates.fd);
	if (runs)
		initialize(p, session);
	return NULL;
}

/* Makes the provider one of the session. */
static void enroll(struct fxt_client *p, struct fxt_session *session)
{
	p->id = fxt_session_new_id(session, (uint32_t)p->pid);
	p->dropped_before = 0;
	p->dropped_before = fxt_client_dropped(p);
	p->written = 0;
	p->budget = (struct fxt_budget){0};
}

/* Gives a forked child the word that its parent was told. */
static void inherit_token(struct fxt_client *p, const struct fxt_session *session)
{
	for (size_t i = 0; i < session->count; i++) {
		const struct fxt_client *other = session->clients[i];

		if (other != p && other->page == p->page && other->token[0]) {
			memcpy(p->token, other->token, sizeof(p->token));
			return;
		}
	}
}

/* A forked child introduces itself. It records already, if it has a memory. */
static const char *hear_forked(struct fxt_client *p, struct fxt_session *session,
			       const struct fxt_packet *packet, const char *text, size_t bytes, int fd)
{
	uint32_t page = (uint32_t)(packet->data64 >> 32);
	const char *why;

	if (packet->data32 != FXT_PROVIDER_VERSION)
		return "it speaks another version of the protocol";
	if (bytes > FXT_PROVIDER_NAME_BYTES)
		return "its name is too long";
	/* Its parent may be over, and the page another provider's. Nobody can wake it then. */
	if (!fxt_gates_share(&session->gates, page) && !fxt_gates_take(&session->gates, &page))
		return "there are too many, and no page to wake it by";
	p->page = page;
	introduce(p, (uint32_t)packet->data64, text, bytes);
	inherit_token(p, session);
	if (fd < 0) {
		if (fxt_session_runs(session))
			initialize(p, session);
		return NULL;
	}
	why = map_memory(p, session, fd, 0);
	if (why)
		return why;
	if (session->state != FXT_SESSION_READY &&
	    ((struct fxt_managed_header *)p->memory)->session == session->number) {
		enroll(p, session);
		fxt_budget_begin(p);
		enter(p, session, FXT_CLIENT_STARTED);
	}
	/* The session was stopped, or another one begun, while the child was made. */
	if (!p->id || !fxt_session_runs(session))
		stop(p, session);
	return NULL;
}

/* The provider has memory now that the session may use. */
static const char *hear_initialized(struct fxt_client *p, struct fxt_session *session,
				    const struct fxt_packet *packet, int fd)
{
	const char *why = NULL;

	if (p->memory ? fd >= 0 || packet->data64 != p->bytes : fd < 0)
		return "it sent another memory, or none";
	if (!p->memory)
		why = map_memory(p, session, fd, packet->data64);
	/* The answer may be late, to an earlier session; then the one for this session will follow. */
	if (why || packet->reserved != session->number || session->state == FXT_SESSION_READY)
		return why;
	enroll(p, session);
	fxt_memory_begin(p, session);
	fxt_client_clear(p, session, true);
	if (fxt_session_runs(session))
		start(p, session, FXT_CLEAR_ENTIRE);
	else
		stop(p, session);
	return NULL;
}

/* Finds the provider that a memory belongs to which came by another connection, with this proof. */
static struct fxt_client *find_owner(const struct fxt_session *session, uint32_t page, const char *proof,
				     size_t bytes)
{
	uint32_t koid;

	if (bytes != FXT_PROVIDER_PROOF_BYTES)
		return NULL;
	memcpy(&koid, proof + FXT_PROVIDER_TOKEN_BYTES, sizeof(koid));
	for (size_t i = 0; i < session->count; i++) {
		struct fxt_client *other = session->clients[i];

		if (other->state == FXT_CLIENT_INITIALIZING && other->page == page && !other->memory &&
		    (uint32_t)other->koid == koid &&
		    memcmp(other->token, proof, FXT_PROVIDER_TOKEN_BYTES) == 0)
			return other;
	}
	return NULL;
}

/* Returns whether the packet has in use only what its request uses, and text only if it has one. */
static bool is_well_formed(const struct fxt_packet *packet, size_t bytes)
{
	switch (packet->request) {
	case FXT_PROVIDER_ALERT: return !bytes;
	case FXT_PROVIDER_INITIALIZED: return !bytes || bytes == FXT_PROVIDER_PROOF_BYTES;
	case FXT_PROVIDER_REGISTER:
	case FXT_PROVIDER_FORKED: return !packet->reserved;
	case FXT_PROVIDER_SAVE_BUFFER: return !bytes && !packet->reserved;
	case FXT_PROVIDER_STARTED: return !bytes && !packet->reserved && !packet->data64;
	default: return !bytes && !packet->reserved && !packet->data32 && !packet->data64;
	}
}

static const char *hear_started(struct fxt_client *p, struct fxt_session *session,
				const struct fxt_packet *packet)
{
	if (packet->data32 != FXT_PROVIDER_VERSION)
		return "it speaks another version of the protocol";
	p->starts--;
	if (p->state == FXT_CLIENT_STARTING && !p->starts)
		enter(p, session, FXT_CLIENT_STARTED);
	return NULL;
}

static void hear_stopped(struct fxt_client *p, struct fxt_session *session)
{
	p->stops--;
	if (p->state != FXT_CLIENT_STOPPING || p->stops)
		return;
	/* A child of an earlier session has been told that it is over. */
	if (!p->id) {
		enter(p, session, FXT_CLIENT_WAITING);
		if (fxt_session_runs(session))
			initialize(p, session);
		return;
	}
	enter(p, session, FXT_CLIENT_STOPPED);
	if (p->budget.steps && fxt_session_runs(session)) {
		/* What was recorded before the step is not counted after it. */
		fxt_client_save(p, session, false);
		start(p, session, FXT_RETAIN);
	}
	p->budget.steps = false;
}

/* Returns whether a rolling buffer may be saved without passing the limit of the session. */
static bool is_within_limit(const struct fxt_client *p, const struct fxt_session *session)
{
	return !session->config.most_bytes || !p->id ||
	       p->written + p->bytes <= session->config.most_bytes;
}

/* Saves what a streaming provider asks to be saved. Its request may be late: the session may be over, or
 * another one may have begun. */
static void hear_save(struct fxt_client *p, struct fxt_session *session, const struct fxt_packet *packet)
{
	if (is_within_limit(p, session)) {
		save_half(p, session, packet);
		return;
	}
	/* The manager still saves what the memory has now when the session ends. */
	p->unanswered = *packet;
	say(p, FXT_MANAGER_FULL, 0, session->config.most_bytes, "");
}

void fxt_client_look(struct fxt_client *p, struct fxt_session *session)
{
	if (!p->is_mute || !p->memory || !is_within_limit(p, session))
		return;
	fxt_client_save_half(p, session, 0);
	fxt_client_save_half(p, session, 1);
}

static void hear_alert(struct fxt_session *session, const struct fxt_packet *packet)
{
	char name[sizeof(*packet) - sizeof(packet->request) + 1] = "";

	memcpy(name, (const char *)packet + sizeof(packet->request), sizeof(name) - 1);
	fxt_session_alert(session, name);
}

/* Returns whether the provider may ask for a rolling buffer to be saved. */
static bool may_save(const struct fxt_client *p, const struct fxt_session *session)
{
	if (!p->memory)
		return false;
	return p->stops || p->state == FXT_CLIENT_WAITING || p->state == FXT_CLIENT_INITIALIZING ||
	       session->config.mode == FXT_BUFFERING_STREAMING;
}

/* Does what a message asks for. Returns NULL, or how it breaks the protocol. */
static const char *act(struct fxt_client *p, struct fxt_session *session, const struct fxt_packet *packet,
		       const char *text, size_t bytes, int fd)
{
	bool is_connected = p->state == FXT_CLIENT_CONNECTED;

	if (!is_well_formed(packet, bytes))
		return "it sent a packet that is malformed";
	switch (packet->request) {
	case FXT_PROVIDER_REGISTER:
		if (!is_connected)
			break;
		return hear_register(p, session, packet, text, bytes);
	case FXT_PROVIDER_FORKED:
		if (!is_connected)
			break;
		return hear_forked(p, session, packet, text, bytes, fd);
	case FXT_PROVIDER_INITIALIZED:
		if (is_connected) {
			p = find_owner(session, packet->data32, text, bytes);
			/* The session may be over. */
			return p ? hear_initialized(p, session, packet, fd) : NULL;
		}
		if (p->state != FXT_CLIENT_INITIALIZING && p->state != FXT_CLIENT_WAITING)
			break;
		return hear_initialized(p, session, packet, fd);
	case FXT_PROVIDER_STARTED:
		if (!p->starts)
			break;
		return hear_started(p, session, packet);
	case FXT_PROVIDER_SAVE_BUFFER:
		if (!may_save(p, session))
			break;
		hear_save(p, session, packet);
		return NULL;
	case FXT_PROVIDER_STOPPED:
		if (!p->stops)
			break;
		hear_stopped(p, session);
		return NULL;
	case FXT_PROVIDER_ALERT:
		if (!p->memory)
			break;
		hear_alert(session, packet);
		return NULL;
	case FXT_PROVIDER_MUTED:
		if (is_connected)
			break;
		p->is_mute = true;
		return NULL;
	case FXT_PROVIDER_ENDING:
		if (!p->memory)
			break;
		fxt_client_save(p, session, false);
		say(p, FXT_MANAGER_ALL_SAVED, 0, 0, "");
		return NULL;
	default: break;
	}
	return "it sent a packet out of order";
}

bool fxt_client_hear(struct fxt_client *p, struct fxt_session *session, const char **why)
{
	struct {
		struct fxt_packet packet;
		char text[FXT_PROVIDER_MESSAGE_BYTES - sizeof(struct fxt_packet)];
	} message;
	bool is_new = p->state == FXT_CLIENT_CONNECTED;
	ssize_t bytes;
	int fd;

	*why = NULL;
	bytes = receive(p, &message, sizeof(message), &fd);
	if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (bytes >= (ssize_t)sizeof(message.packet))
		*why = act(p, session, &message.packet, message.text,
			   (size_t)bytes - sizeof(message.packet), fd);
	else if (bytes > 0)
		*why = "it sent a packet that is too short";
	if (fd >= 0)
		close(fd);
	/* A connection that has brought a memory for another one has no more use. */
	return bytes > 0 && !*why && !(is_new && p->state == FXT_CLIENT_CONNECTED);
}

/* -- Sessions ---------------------------------------------------------------------------------- */

void fxt_client_new_session(struct fxt_client *p)
{
	p->id = 0;
	fxt_client_new_file(p);
	if (p->state != FXT_CLIENT_CONNECTED)
		p->state = FXT_CLIENT_WAITING;
}

void fxt_client_start(struct fxt_client *p, struct fxt_session *session,
		      enum fxt_buffer_disposition disposition)
{
	if (p->state == FXT_CLIENT_WAITING) {
		initialize(p, session);
	} else if (p->id && (p->state == FXT_CLIENT_STOPPED || p->state == FXT_CLIENT_STOPPING)) {
		if (disposition != FXT_RETAIN)
			fxt_client_clear(p, session, false);
		start(p, session, disposition);
	}
}

void fxt_client_stop(struct fxt_client *p, struct fxt_session *session)
{
	if (p->state == FXT_CLIENT_STARTED || p->state == FXT_CLIENT_STARTING)
		stop(p, session);
}

void fxt_client_terminate(struct fxt_client *p, struct fxt_session *session)
{
	if (p->state == FXT_CLIENT_CONNECTED)
		return;
	if (p->id) {
		fxt_client_save(p, session, true);
		session->dropped += fxt_client_dropped(p);
	}
	p->id = 0;
	say(p, FXT_MANAGER_TERMINATE, 0, 0, "");
	enter(p, session, FXT_CLIENT_WAITING);
}

bool fxt_client_is_changing(const struct fxt_client *p, const struct fxt_session *session)
{
	return fxt_session_runs(session)
		       ? p->state == FXT_CLIENT_INITIALIZING || p->state == FXT_CLIENT_STARTING
		       : p->state == FXT_CLIENT_STOPPING;
}

const char *fxt_client_state_name(enum fxt_client_state state)
{
	static const char *const names[] = {
		[FXT_CLIENT_CONNECTED] = "CONNECTED",       [FXT_CLIENT_WAITING] = "WAITING",
		[FXT_CLIENT_INITIALIZING] = "INITIALIZING", [FXT_CLIENT_STARTING] = "STARTING",
		[FXT_CLIENT_STARTED] = "STARTED",           [FXT_CLIENT_STOPPING] = "STOPPING",
		[FXT_CLIENT_STOPPED] = "STOPPED",
	};

	return names[state];
}

uint64_t fxt_client_dropped(const struct fxt_client *p)
{
	const struct fxt_managed_header *header = (const struct fxt_managed_header *)p->memory;
	uint64_t dropped = 0;

	if (header)
		dropped = atomic_load_explicit(&header->num_records_dropped, memory_order_relaxed);
	return dropped > p->dropped_before ? dropped - p->dropped_before : 0;
}

void fxt_client_end(struct fxt_client *p, struct fxt_session *session)
{
	if (p->state != FXT_CLIENT_CONNECTED) {
		fxt_client_terminate(p, session);
		fxt_gates_give_back(&session->gates, p->page);
	}
	if (p->memory)
		munmap(p->memory, p->bytes);
	if (p->fd >= 0)
		close(p->fd);
	if (p->process >= 0)
		close(p->process);
	free(p->saved);
	free(p);
}
