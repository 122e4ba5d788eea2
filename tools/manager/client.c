/* See client.h. Talks with one provider. client_save.c saves its memory. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* Sends a message. Returns false if the provider is gone, or does not read what it is sent. */
static bool say(const struct fxt_client *p, enum fxt_manager_request request, uint32_t data32,
		uint64_t data64, const char *text)
{
	struct fxt_packet packet = {(uint16_t)request, 0, data32, data64};
	struct iovec data[] = {{&packet, sizeof(packet)}, {(void *)(uintptr_t)text, strlen(text)}};
	struct msghdr header = {.msg_iov = data, .msg_iovlen = 2};

	return sendmsg(p->fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

/* -- The memory -------------------------------------------------------------------------------- */

/* Returns whether `bytes` bytes from `offset` on lie within `size`. */
static bool lies_within(uint64_t offset, uint64_t bytes, uint64_t size)
{
	return offset <= size && bytes <= size - offset;
}

/* Copies the sizes and offsets out of the header, and returns whether they are those of a memory of this size
 * and mode. */
static bool read_header(struct fxt_client *p, enum fxt_buffering_mode mode)
{
	struct fxt_managed_header h;
	uint64_t rolling;

	memcpy(&h, p->memory, sizeof(h));
	if (h.magic != FXT_MANAGED_MAGIC || h.version != FXT_MANAGED_VERSION || h.total_size != p->bytes ||
	    h.buffering_mode != mode || h.chunk_bytes != FXT_CHUNK_BYTES || h.chunk_count % 2 ||
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

/* Maps the memory that came with INITIALIZED. Returns NULL, or what is wrong with it. */
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
	if (fstat(fd, &status) != 0 || (uint64_t)status.st_size != bytes ||
	    bytes < sizeof(struct fxt_managed_header) || bytes > 2 * session->buffer_bytes + (4 << 20))
		return "its memory has not the size that it should have";
	p->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p->memory == MAP_FAILED) {
		p->memory = NULL;
		return "its memory cannot be mapped";
	}
	p->bytes = bytes;
	if (!read_header(p, session->mode)) {
		munmap(p->memory, p->bytes);
		p->memory = NULL;
		return "the header of its memory is wrong";
	}
	p->saved = fxt_alloc(p->chunks, sizeof(*p->saved));
	return NULL;
}

/* -- Messages ---------------------------------------------------------------------------------- */

/* Returns the only descriptor that came with a message, or -1. Further ones are closed, and so is it if there
 * are several. */
static int only_descriptor(struct msghdr *header)
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

	*fd = bytes >= 0 ? only_descriptor(&header) : -1;
	return bytes;
}

static const char *hear_register(struct fxt_client *p, const struct fxt_session *session,
				 const struct fxt_packet *packet, const char *text, size_t bytes)
{
	if (packet->data32 != FXT_PROVIDER_VERSION)
		return "it speaks another version of the protocol";
	if (bytes > sizeof(p->name))
		return "its name is too long";
	memcpy(p->name, text, bytes);
	p->name_bytes = bytes;
	p->deadline_ns = 0;
	p->state = FXT_CLIENT_REGISTERED;
	say(p, FXT_MANAGER_INITIALIZE, (uint32_t)session->mode, session->buffer_bytes, session->categories);
	return NULL;
}

static const char *hear_initialized(struct fxt_client *p, struct fxt_session *session,
				    const struct fxt_packet *packet, int fd)
{
	const char *why = map_memory(p, session, fd, packet->data64);

	if (why)
		return why;
	p->id = ++session->providers;
	p->state = FXT_CLIENT_INITIALIZED;
	say(p, FXT_MANAGER_START, FXT_CLEAR_ENTIRE, 0, "");
	return NULL;
}

/* Returns whether the packet has in use only what its request uses, and text only if it has one. */
static bool is_well_formed(const struct fxt_packet *packet, size_t bytes)
{
	if (packet->request == FXT_PROVIDER_ALERT)
		return !bytes;
	if (packet->reserved)
		return false;
	switch (packet->request) {
	case FXT_PROVIDER_REGISTER: return true;
	case FXT_PROVIDER_SAVE_BUFFER: return !bytes;
	case FXT_PROVIDER_STARTED: return !bytes && !packet->data64;
	case FXT_PROVIDER_INITIALIZED: return !bytes && !packet->data32;
	default: return !bytes && !packet->data32 && !packet->data64;
	}
}

static const char *hear_started(struct fxt_client *p, const struct fxt_packet *packet)
{
	if (packet->data32 != FXT_PROVIDER_VERSION)
		return "it speaks another version of the protocol";
	p->has_started = true;
	if (p->state == FXT_CLIENT_INITIALIZED)
		p->state = FXT_CLIENT_STARTED;
	return NULL;
}

/* Does what a packet asks for that comes after FXT_PROVIDER_STARTED. Returns NULL, or how it breaks the
 * protocol. */
static const char *hear_running(struct fxt_client *p, struct fxt_session *session,
				const struct fxt_packet *packet)
{
	if (packet->request == FXT_PROVIDER_SAVE_BUFFER && session->mode == FXT_BUFFERING_STREAMING) {
		fxt_client_save_half(p, session, packet->data32 & 1);
		say(p, FXT_MANAGER_BUFFER_SAVED, packet->data32, packet->data64, "");
		return NULL;
	}
	if (packet->request == FXT_PROVIDER_STOPPED) {
		p->state = FXT_CLIENT_STOPPED;
		fxt_client_save(p, session, false);
		return NULL;
	}
	return packet->request == FXT_PROVIDER_ALERT ? NULL : "it sent a packet out of order";
}

/* Does what a message asks for. Returns NULL, or how it breaks the protocol. */
static const char *act(struct fxt_client *p, struct fxt_session *session, const struct fxt_packet *packet,
		       const char *text, size_t bytes, int fd)
{
	bool is_running = p->state == FXT_CLIENT_STARTED || p->state == FXT_CLIENT_STOPPING;

	if (!is_well_formed(packet, bytes))
		return "it sent a packet that is malformed";
	if (packet->request == FXT_PROVIDER_REGISTER && p->state == FXT_CLIENT_CONNECTED)
		return hear_register(p, session, packet, text, bytes);
	if (packet->request == FXT_PROVIDER_INITIALIZED && p->state == FXT_CLIENT_REGISTERED)
		return hear_initialized(p, session, packet, fd);
	if (packet->request == FXT_PROVIDER_STARTED && !p->has_started &&
	    (p->state == FXT_CLIENT_INITIALIZED || p->state == FXT_CLIENT_STOPPING))
		return hear_started(p, packet);
	if (is_running && p->has_started)
		return hear_running(p, session, packet);
	return "it sent a packet out of order";
}

bool fxt_client_hear(struct fxt_client *p, struct fxt_session *session, const char **why)
{
	struct {
		struct fxt_packet packet;
		char text[FXT_PROVIDER_MESSAGE_BYTES - sizeof(struct fxt_packet)];
	} message;
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
	return bytes > 0 && !*why;
}

bool fxt_client_stop(struct fxt_client *p)
{
	/* One that was sent FXT_MANAGER_START may be recording already. */
	if (p->state != FXT_CLIENT_STARTED && p->state != FXT_CLIENT_INITIALIZED)
		return p->state == FXT_CLIENT_STOPPING;
	p->state = FXT_CLIENT_STOPPING;
	return say(p, FXT_MANAGER_STOP, 0, 0, "");
}

void fxt_client_end(struct fxt_client *p, struct fxt_session *session)
{
	if (p->memory) {
		fxt_client_save(p, session, true);
		munmap(p->memory, p->bytes);
	}
	say(p, FXT_MANAGER_TERMINATE, 0, 0, "");
	close(p->fd);
	if (p->process >= 0)
		close(p->process);
	free(p->saved);
	free(p);
}
