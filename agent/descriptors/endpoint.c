/* See endpoint.h. This file makes the names by which streams are found again (struct fxt_stream_name). For
 * each kind of descriptor there is something that the kernel tells all processes alike, and that is the
 * stream's name. */
#include "endpoint.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/arrows/shared.h"
#include "agent/base/fdinfo.h"
#include "agent/base/stack.h"
#include "agent/emit/emit.h"
#include "unix_peer.h"

enum { SOCKET_NETNS_COOKIE = 71 };      /* SO_NETNS_COOKIE, since Linux 5.14 */

static bool is_on;                      /* streams are to be known */

/* Returns whether streams are to be known. In a process that has asked for a filter of its system calls they
 * are not, because the agent makes no call there that it can do without; nor is one that is met on a short
 * stack. What needs much of the stack is called behind this, and is not inlined. */
static bool are_known(struct fxt_thread *thread)
{
	return is_on && fxt_is_on(FXT_CAT_io) && fxt_is_on(FXT_CAT_net) && !fxt_is_filtered() &&
	       !fxt_stack_is_short() && fxt_fds_are_ours(thread);
}

/* Notes that a descriptor leads to this side of a stream. */
static void set(int fd, fxt_stream side)
{
	struct fxt_fd *entry = side ? fxt_fd_make(fd) : NULL;

	if (!entry)
		return;
	atomic_store_explicit(&entry->stream, side, memory_order_relaxed);
	/* The C library writes its own messages there, from many places that are not seen. */
	if (fd == 2)
		fxt_endpoint_unseen(fd);
}

/* -- Names ------------------------------------------------------------------------------------- */

static struct fxt_stream_name inode_name(const struct stat *status)
{
	return (struct fxt_stream_name){status->st_mode & S_IFMT, status->st_dev, status->st_ino};
}

/* All eventfds have one inode. So an eventfd is named by the number that the kernel gives it while it
 * exists. */
static struct fxt_stream_name event_name(uint64_t id)
{
	return (struct fxt_stream_name){2, 0, id};
}

/* Makes a name of a descriptor's inode. Returns false if the inode is not of this type. */
static __attribute__((noinline)) bool name_of(int fd, mode_t type, struct fxt_stream_name *name)
{
	struct stat status;

	if (fxt_sys_fstat(fd, &status) || (status.st_mode & S_IFMT) != type)
		return false;
	*name = inode_name(&status);
	return true;
}

/* -- Pipes and events -------------------------------------------------------------------------- */

void fxt_endpoint_pipe(struct fxt_thread *thread, const int fds[2], int flags)
{
	struct fxt_stream_name name;
	fxt_stream side;

	/* A pipe with O_DIRECT has packets: a read may get less than it wanted, and leave more behind. */
	if (!are_known(thread) || flags & O_DIRECT || !name_of(fds[0], S_IFIFO, &name))
		return;
	side = fxt_stream_make(FXT_STREAM_PIPE);
	fxt_stream_call(name, side);
	set(fds[0], side);
	set(fds[1], side);
}

/* Returns the stream of a FIFO. Tells it how many bytes are in the FIFO now, because others may have moved
 * bytes unseen while nobody here had it open. */
static fxt_stream fifo(int fd, struct fxt_stream_name name)
{
	fxt_stream side = fxt_stream_join(name, FXT_STREAM_PIPE, -1);
	struct fxt_stream_moment moment = fxt_stream_look(side);
	int bytes = 0;

	if (side && !FXT_SYSCALL3(SYS_ioctl, fd, FIONREAD, &bytes))
		fxt_stream_reopened(side, moment, (uint64_t)bytes);
	return side;
}

bool fxt_endpoint_is_fifo(struct fxt_thread *thread, int fd)
{
	struct fxt_stream_name name;

	return are_known(thread) && name_of(fd, S_IFIFO, &name);
}

void fxt_endpoint_fifo(struct fxt_thread *thread, int fd)
{
	struct fxt_stream_name name;

	if (are_known(thread) && name_of(fd, S_IFIFO, &name))
		set(fd, fifo(fd, name));
}

void fxt_endpoint_buffered(struct fxt_thread *thread, int fd)
{
	struct fxt_stream_name name;

	if (fxt_endpoint(fd))
		fxt_endpoint_unseen(fd);
	else if (are_known(thread) && name_of(fd, S_IFIFO, &name))
		fxt_stream_break(fifo(fd, name), true, true);
}

void fxt_endpoint_event(struct fxt_thread *thread, int fd, unsigned count, bool by_one)
{
	struct fxt_transfer first;
	fxt_stream side;

	struct fxt_fdinfo info;
	uint64_t id;

	if (!are_known(thread))
		return;
	side = fxt_stream_make(by_one ? FXT_STREAM_TOKENS : FXT_STREAM_COUNT);
	/* The first value counts as a write that nobody made, so no arrow leaves from it. */
	fxt_stream_write_begin(side, (struct fxt_stream_writer){0}, &first);
	fxt_stream_write_end(&first, count);
	/* A program that inherits the descriptor by an exec finds the stream by this name. */
	if (fxt_fdinfo_read(&info, fd) && fxt_fdinfo_number(&info, "eventfd-id", 10, &id))
		fxt_stream_call(event_name(id), side);
	set(fd, side);
}

void fxt_endpoint_names(int fd)
{
	set(fd, FXT_ENDPOINT_NAME);
}

void fxt_endpoint_signals(struct fxt_thread *thread, int fd)
{
	if (are_known(thread))
		set(fd, FXT_ENDPOINT_SIGNALS);
}

/* -- Sockets ----------------------------------------------------------------------------------- */

/* Returns whether everything that is sent by such a socket arrives, and in order. *kind says what is
 * counted. */
static bool is_reliable(int domain, int type, bool is_pair, enum fxt_stream_kind *kind)
{
	*kind = type == SOCK_STREAM ? FXT_STREAM_SOCKET : FXT_STREAM_MESSAGES;
	if (type == SOCK_STREAM)
		return true;
	/* A datagram socket of a pair has one sender, because nobody else can address it. */
	return domain == AF_UNIX && (type == SOCK_SEQPACKET || (type == SOCK_DGRAM && is_pair));
}

void fxt_endpoint_pair(struct fxt_thread *thread, const int fds[2], int domain, int type)
{
	struct fxt_stream_name names[2];
	enum fxt_stream_kind kind;
	fxt_stream side;

	if (!is_reliable(domain, type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK), true, &kind) || !are_known(thread) ||
	    !name_of(fds[0], S_IFSOCK, &names[0]) || !name_of(fds[1], S_IFSOCK, &names[1]))
		return;
	side = fxt_stream_make(kind);
	fxt_stream_call(names[0], side);
	fxt_stream_call(names[1], fxt_stream_other(side));
	set(fds[0], side);
	set(fds[1], fxt_stream_other(side));
}

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* One end of a TCP connection. An IPv4 address is written as the IPv6 address that it is mapped to, because
 * both ends of the connection have to see the same. */
struct tcp_end {
	uint64_t high, low;
	uint32_t port;
};

/* Makes an end of an address of `bytes` bytes. Returns false if it is neither IPv4 nor IPv6. */
static bool end_of(const union address *address, size_t bytes, struct tcp_end *end)
{
	memset(end, 0, sizeof(*end));
	if (bytes >= sizeof(address->in) && address->any.sa_family == AF_INET) {
		end->low = UINT64_C(0xffff00000000) | ntohl(address->in.sin_addr.s_addr);
		end->port = address->in.sin_port;
		return true;
	}
	if (bytes >= sizeof(address->in6) && address->any.sa_family == AF_INET6) {
		const uint8_t *at = address->in6.sin6_addr.s6_addr;
		unsigned i;

		for (i = 0; i < 8; i++) {
			end->high = end->high << 8 | at[i];
			end->low = end->low << 8 | at[i + 8];
		}
		end->port = address->in6.sin6_port;
		return true;
	}
	return false;
}

/* Returns a hash of an end. */
static uint64_t sum_of(const struct tcp_end *end)
{
	uint64_t x = (end->high ^ (uint64_t)end->port << 40) * UINT64_C(0x9e3779b97f4a7c15) + end->low;

	x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + end->port;
	return x ^ x >> 32;
}

/* Asks the kernel for an end of a socket; `call` is SYS_getsockname or SYS_getpeername. */
static bool address_of(long call, int fd, struct tcp_end *end)
{
	union address address;
	socklen_t bytes = sizeof(address);

	memset(&address, 0, sizeof(address));
	return !FXT_SYSCALL3(call, fd, &address, &bytes) && end_of(&address, bytes, end);
}

/* Returns the side of a TCP connection that a socket is. `given` is the peer's address, for a socket that is
 * not connected yet, or NULL. Both ends compute the same name, of the hashes of both ends in their order. */
static __attribute__((noinline)) fxt_stream join_tcp(int fd, const struct sockaddr *given, size_t bytes)
{
	struct tcp_end local, peer;
	union address address;
	uint64_t cookie = 0, sums[2];
	socklen_t cookie_bytes = sizeof(cookie);
	unsigned side;

	memset(&address, 0, sizeof(address));
	if (given)
		memcpy(&address, given, bytes < sizeof(address) ? bytes : sizeof(address));
	if (!address_of(SYS_getsockname, fd, &local) ||
	    (!address_of(SYS_getpeername, fd, &peer) && !end_of(&address, bytes, &peer)) || !local.port ||
	    !peer.port)
		return 0;
	sums[0] = sum_of(&local);
	sums[1] = sum_of(&peer);
	if (sums[0] == sums[1])
		return 0;
	/* The same two addresses may be in use in each network namespace, as in containers. */
	FXT_SYSCALL5(SYS_getsockopt, fd, SOL_SOCKET, SOCKET_NETNS_COOKIE, &cookie, &cookie_bytes);
	side = sums[0] > sums[1];
	return fxt_stream_join((struct fxt_stream_name){cookie << 1 | 1, sums[side], sums[!side]},
			       FXT_STREAM_SOCKET, (int)side);
}

/* Returns the stream of a Unix connection that was accepted. Its name is the inode of the end that connected,
 * because that end has no peer before it is accepted. */
static fxt_stream join_unix(struct fxt_stream_name own, enum fxt_stream_kind kind)
{
	struct fxt_stream_name peer = own;

	peer.b = fxt_unix_peer((uint32_t)own.b);
	return peer.b ? fxt_stream_join(peer, kind, 1) : 0;
}

/* Finds the stream of a connected socket, and notes it. */
static void connected(struct fxt_thread *thread, int fd, const struct sockaddr *peer, size_t bytes,
		      bool accepted)
{
	int type = 0, domain = 0;
	socklen_t type_bytes = sizeof(type), domain_bytes = sizeof(domain);
	enum fxt_stream_kind kind;
	struct fxt_stream_name own;
	fxt_stream side = 0;

	if (!are_known(thread) || FXT_SYSCALL5(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &type_bytes) ||
	    FXT_SYSCALL5(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_bytes) ||
	    !is_reliable(domain, type, false, &kind) || !name_of(fd, S_IFSOCK, &own))
		return;
	if (domain == AF_INET || domain == AF_INET6)
		side = join_tcp(fd, peer, bytes);
	else if (domain == AF_UNIX)
		side = accepted ? join_unix(own, kind) : fxt_stream_join(own, kind, 0);
	/* A program that inherits the descriptor by an exec finds the stream by this name. */
	if (side && (domain != AF_UNIX || accepted))
		fxt_stream_call(own, side);
	set(fd, side);
}

void fxt_endpoint_connected(struct fxt_thread *thread, int fd, const struct sockaddr *peer, size_t bytes)
{
	/* If the socket has a stream, a datagram socket changes its peer, which ends the stream. Other
	 * sockets are connected a second time to learn how the first call went. */
	if (fxt_endpoint(fd))
		fxt_endpoint_astray(fd);
	else
		connected(thread, fd, peer, bytes, false);
}

void fxt_endpoint_disconnected(struct fxt_thread *thread, int fd)
{
	struct fxt_fd *entry = fxt_fd(fd);

	if (!entry || !fxt_fds_are_ours(thread))
		return;
	fxt_endpoint_astray(fd);
	atomic_store_explicit(&entry->stream, 0, memory_order_relaxed);
}

void fxt_endpoint_accepted(struct fxt_thread *thread, int fd)
{
	connected(thread, fd, NULL, 0, true);
}

/* -- Inherited, received, unseen --------------------------------------------------------------- */

/* Returns the stream of an eventfd or the endpoint of a signalfd, or 0. The kernel uses the numbers of
 * eventfds again. So the stream counts only if it holds as much as the eventfd does now. */
static fxt_stream find_event(int fd)
{
	struct fxt_fdinfo info;
	uint64_t id, count;
	fxt_stream side;

	if (!fxt_fdinfo_read(&info, fd))
		return 0;
	if (fxt_fdinfo_number(&info, "sigmask", 16, &id))
		return FXT_ENDPOINT_SIGNALS;
	if (!fxt_fdinfo_number(&info, "eventfd-id", 10, &id) ||
	    !fxt_fdinfo_number(&info, "eventfd-count", 16, &count))
		return 0;
	side = fxt_stream_find(event_name(id));
	return fxt_stream_holds(side, count) ? side : 0;
}

/* Returns the stream that a descriptor leads to by its name; 0: not known. */
static __attribute__((noinline)) fxt_stream find(int fd)
{
	struct stat status;

	if (fxt_sys_fstat(fd, &status))
		return 0;
	if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))
		return fxt_stream_find(inode_name(&status));
	/* Descriptors that belong to no file system, as eventfd and signalfd, have no type of file. */
	return status.st_mode & S_IFMT ? 0 : find_event(fd);
}

void fxt_endpoint_received(struct fxt_thread *thread, int fd)
{
	struct fxt_fd *entry = are_known(thread) ? fxt_fd_make(fd) : NULL;

	/* The number may have been another descriptor's before. */
	if (entry)
		atomic_store_explicit(&entry->stream, 0, memory_order_relaxed);
	if (entry)
		set(fd, find(fd));
}

void fxt_endpoint_unseen(int fd)
{
	struct fxt_fd *entry = fxt_fd(fd);
	fxt_stream side = entry ? atomic_exchange_explicit(&entry->stream, 0, memory_order_relaxed) : 0;

	if (side)
		fxt_stream_break(side, true, true);
}

void fxt_endpoint_astray(int fd)
{
	if (fxt_stream_has_messages(fxt_endpoint(fd)))
		fxt_endpoint_unseen(fd);
}

void fxt_endpoints_unseen(void)
{
	struct fxt_fd *page;
	int fd;

	for (fd = 0; fd < FXT_FDS_MAX; fd += FXT_FDS_PAGE) {
		int end = fd + FXT_FDS_PAGE, at = fd;

		page = fxt_fd(fd);
		for (; page && at < end; at++)
			if (atomic_load_explicit(&page[at - fd].stream, memory_order_relaxed))
				fxt_endpoint_unseen(at);
	}
}

/* Returns the number that a text is, or -1 if it is not all digits. */
static int number_of(const char *text)
{
	int number = 0;

	for (; *text >= '0' && *text <= '9' && number < FXT_FDS_MAX; text++)
		number = number * 10 + (*text - '0');
	return *text ? -1 : number;
}

/* The kernel's struct linux_dirent64, which the C library does not declare. */
struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

/* Finds the stream of each descriptor that is listed in `directory`, /proc/self/fd. */
static void look_at_inherited(int directory)
{
	char buffer[1024] __attribute__((aligned(8)));
	const struct entry *entry;
	long bytes, at;
	int fd;

	while ((bytes = FXT_SYSCALL3(SYS_getdents64, directory, buffer, sizeof(buffer))) > 0) {
		for (at = 0; at < bytes; at += entry->bytes) {
			entry = (const struct entry *)(buffer + at);
			fd = number_of(entry->name);
			if (fd >= 0 && fd != directory && fd < FXT_FDS_MAX)
				set(fd, find(fd));
		}
	}
}

void fxt_endpoints_start(void)
{
	const uint32_t both = FXT_CAT_io | FXT_CAT_net;
	int directory;

	if (!fxt_shared || (fxt_agent.config.categories & both) != both)
		return;
	fxt_stream_use(fxt_shared->streams, sizeof(fxt_shared->streams));
	is_on = true;
	if (!fxt_stream_any())
		return;
	directory = fxt_sys_open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (directory < 0)
		return;
	look_at_inherited(directory);
	fxt_sys_close(directory);
	/* The calls of a dormant process are not seen before it records. */
	if (fxt_agent.config.dormant)
		fxt_endpoints_unseen();
}
