/* See heir_parts.h. This runs in the heir alone, after the manager was killed. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client_parts.h"
#include "heir_parts.h"
#include "tools/common/message.h"
#include "writer/buffer.h"

enum { LOOK_MS = 100, SETTLE_MS = 1, MOST_SETTLES = 1000, MOST_NUMBERS = 1000, MOST_TRIED = 1 << 16 };

/* A program whose memory is not known to be saved. */
struct heritage {
	/* its connection, process and name; the memory is mapped when it is saved */
	struct fxt_client *client;
	struct fxt_managed_header *header;
	int memory;
};

struct heirs_list {
	struct heritage *list;
	size_t count, capacity;
};

/* -- What there is ------------------------------------------------------------------------------- */

static void forget(struct heritage *h)
{
	if (h->header)
		munmap(h->header, FXT_MANAGED_HEADER_BYTES);
	close(h->memory);
	if (h->client->fd >= 0)
		close(h->client->fd);
	if (h->client->process >= 0)
		close(h->client->process);
	free(h->client);
}

/* Adds a memory, which belongs to the list from then on, as the client does. */
static void add(struct heirs_list *all, struct fxt_client *client, int memory)
{
	struct heritage h = {.client = client, .memory = memory};
	void *header = MAP_FAILED;
	int seals = fcntl(memory, F_GET_SEALS);

	if (seals >= 0 && (seals & F_SEAL_SHRINK) && lseek(memory, 0, SEEK_END) >= FXT_MANAGED_HEADER_BYTES)
		header = mmap(NULL, FXT_MANAGED_HEADER_BYTES, PROT_READ | PROT_WRITE,
			      MAP_SHARED, memory, 0);
	if (header == MAP_FAILED) {
		forget(&h);
		return;
	}
	h.header = header;
	all->list = fxt_grow(all->list, &all->capacity, all->count + 1, sizeof(*all->list));
	all->list[all->count++] = h;
}

static void add_bequests(struct heirs_list *all, struct fxt_will *will)
{
	for (size_t i = 0; i < FXT_BEQUESTS; i++) {
		struct fxt_bequest *b = &will->list[i];
		int memory = atomic_load_explicit(&b->memory, memory_order_acquire) - 1;
		struct fxt_client *client;

		if (memory < 0)
			continue;
		client = fxt_alloc(1, sizeof(*client));
		client->fd = atomic_load(&b->connection);
		client->process = b->process;
		client->pid = b->pid;
		client->koid = b->koid;
		client->bequest = b;
		memcpy(client->name, b->name, sizeof(client->name) - 1);
		client->name_bytes = strlen(client->name);
		add(all, client, memory);
	}
}

/* Returns whether a descriptor belongs to one of the first `count` in the list. */
static bool belongs(const struct heirs_list *all, int fd, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (all->list[i].memory == fd || all->list[i].client->process == fd ||
		    all->list[i].client->fd == fd)
			return true;
	return false;
}

/* Returns the list of open descriptors by trying all numbers: there may be no /proc. */
static int *tried_descriptors(size_t *count)
{
	const long most = sysconf(_SC_OPEN_MAX);
	size_t capacity = 0;
	int *list = NULL;

	for (int fd = 0; fd < most && fd < MOST_TRIED; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		list = fxt_grow(list, &capacity, *count + 1, sizeof(*list));
		list[(*count)++] = fd;
	}
	return list;
}

/* Returns the list of open descriptors, which the caller frees. */
static int *descriptors(size_t *count)
{
	DIR *directory = opendir("/proc/self/fd");
	size_t capacity = 0;
	int *list = NULL;
	struct dirent *e;

	*count = 0;
	while (directory && (e = readdir(directory))) {
		int fd = isdigit((unsigned char)e->d_name[0]) ? (int)strtol(e->d_name, NULL, 10) : -1;

		if (fd < 0 || fd == dirfd(directory))
			continue;
		list = fxt_grow(list, &capacity, *count + 1, sizeof(*list));
		list[(*count)++] = fd;
	}
	if (directory)
		closedir(directory);
	return list ? list : tried_descriptors(count);
}

static int option_of(int fd, int option)
{
	socklen_t bytes = sizeof(int);
	int value;

	return getsockopt(fd, SOL_SOCKET, option, &value, &bytes) == 0 ? value : -1;
}

/* -- What nobody has read ------------------------------------------------------------------------ */

struct message {
	struct fxt_packet packet;
	char text[FXT_PROVIDER_MESSAGE_BYTES - sizeof(struct fxt_packet)];
};

static ssize_t receive(int connection, struct message *message, int *fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = {message, sizeof(*message)};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				.msg_controllen = sizeof(control)};
	ssize_t bytes = recvmsg(connection, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*fd = bytes >= 0 ? fxt_only_descriptor(&header) : -1;
	return bytes;
}

static bool is_of_our_user(int connection)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

static bool has_said_secret(const struct message *message, size_t text_bytes, const char *secret)
{
	return message->packet.request == FXT_PROVIDER_KEY && *secret &&
	       text_bytes >= FXT_RUN_SECRET_BYTES &&
	       memcmp(message->text, secret, FXT_RUN_SECRET_BYTES) == 0;
}

/* Adds the memory that a forked child has sent. */
static void add_child(struct heirs_list *all, int connection, const struct message *message,
		      size_t text_bytes, int memory)
{
	struct fxt_client *client = fxt_client_new(fcntl(connection, F_DUPFD_CLOEXEC, 0), 0);

	client->koid = (uint32_t)message->packet.data64;
	client->name_bytes = text_bytes < FXT_PROVIDER_NAME_BYTES ? text_bytes : FXT_PROVIDER_NAME_BYTES;
	memcpy(client->name, message->text, client->name_bytes);
	add(all, client, memory);
}

/* Reads what has come by a connection so far. */
static void read_messages(struct heirs_list *all, int connection, const char *secret)
{
	bool may_come = is_of_our_user(connection);
	struct message message;
	ssize_t bytes;
	int fd;

	while ((bytes = receive(connection, &message, &fd)) >= (ssize_t)sizeof(message.packet)) {
		size_t text_bytes = (size_t)bytes - sizeof(message.packet);

		may_come |= has_said_secret(&message, text_bytes, secret);
		if (fd >= 0 && may_come && message.packet.request == FXT_PROVIDER_FORKED)
			add_child(all, connection, &message, text_bytes, fd);
		else if (fd >= 0)
			close(fd);
	}
}

/* Reads what has come by a connection that has no memory yet: a child of the session may have sent its own.
 * Another program has recorded nothing so far, because it waits for an answer. */
static void read_rest(struct heirs_list *all, int connection, const char *secret)
{
	size_t known = all->count;

	read_messages(all, connection, secret);
	/* From here on nobody can send, and whoever tries finds that the manager is gone. What a child does
	 * whose memory has come can still be seen by its connection. */
	if (all->count == known) {
		shutdown(connection, SHUT_RD);
		read_messages(all, connection, secret);
	}
	shutdown(connection, SHUT_WR);
}

/* Accepts what has come. From here on nobody can connect. */
static void accept_rest(struct heirs_list *all, int listener, const char *secret)
{
	int fd;

	shutdown(listener, SHUT_RD);
	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		read_rest(all, fd, secret);
		close(fd);
	}
}

/* Returns whether the pass has ended that was about to. */
static bool has_ended(const struct heirs_list *all, const struct fxt_will *will)
{
	uint32_t whose = atomic_load(&will->ending.whose);

	for (size_t i = 0; whose && i < all->count; i++)
		if (all->list[i].client->bequest == &will->list[whose - 1])
			return atomic_load(&all->list[i].header->saved_pass) == will->ending.number;
	return false;
}

/* Cuts the archive behind what programs were told to be saved: what a killed manager has written behind it
 * is still in the memories, and would be there twice. */
static void mend_archive(const struct heirs_list *all, struct fxt_will *will)
{
	int fd = atomic_load(&will->fd), final_fd = atomic_load(&will->final_fd);
	uint64_t bytes = atomic_load(&will->bytes);
	struct stat status;

	if (has_ended(all, will)) {
		bytes = will->ending.bytes;
		if (will->ending.is_end)
			atomic_store(&will->list[atomic_load(&will->ending.whose) - 1].is_wanted, false);
	}
	if (fd < 0 || fstat(fd, &status) != 0 || status.st_dev != will->device ||
	    status.st_ino != will->inode) {
		/* It is another file's descriptor by now. */
		atomic_store(&will->fd, -1);
		return;
	}
	/* Space may be reserved behind the end. */
	if (ftruncate(fd, (off_t)bytes) != 0)
		return;
	if (final_fd >= 0)
		fxt_archive_transfer(fd, final_fd);
}

/* Takes what the descriptors have that is of use, and lets programs know that the manager is gone. */
static void take_stock(struct heirs_list *all, struct fxt_will *will, const char *secret)
{
	size_t count, i, known;
	int *list;

	add_bequests(all, will);
	mend_archive(all, will);
	known = all->count;
	list = descriptors(&count);
	for (i = 0; i < count; i++) {
		bool is_connection = option_of(list[i], SO_TYPE) == SOCK_SEQPACKET;

		if (is_connection && option_of(list[i], SO_ACCEPTCONN) == 1)
			accept_rest(all, list[i], secret);
		else if (is_connection && !belongs(all, list[i], known))
			read_rest(all, list[i], secret);
	}
	for (i = 0; i < known; i++)
		if (all->list[i].client->fd >= 0)
			shutdown(all->list[i].client->fd, SHUT_WR);
	free(list);
}

/* Closes what is of no use any more: somebody may wait for the end of a pipe, or for the lock of the
 * directory. */
static void close_rest(const struct heirs_list *all, const struct fxt_will *will)
{
	size_t count, i;
	int *list = descriptors(&count);

	for (i = 0; i < count; i++)
		if (list[i] != atomic_load(&will->fd) && !belongs(all, list[i], all->count))
			close(list[i]);
	/* Nobody else may get these numbers. */
	while ((i = (size_t)open("/dev/null", O_RDWR | O_CLOEXEC)) <= STDERR_FILENO)
		;
	close((int)i);
	free(list);
}

/* Locks the archive while something is written beside it, or else shares the lock. Somebody who looks whether
 * it is locked has the lock himself for a moment. */
static void lock_archive(const struct fxt_will *will, int operation)
{
	for (int i = 0; i < MOST_SETTLES && atomic_load(&will->fd) >= 0; i++) {
		if (flock(atomic_load(&will->fd), operation | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			return;
		poll(NULL, 0, SETTLE_MS);
	}
}

/* -- Saving -------------------------------------------------------------------------------------- */

/* Returns the length of the archive's path without its ending. */
static int stem_of(const char *path)
{
	static const char *const endings[] = {".fxt.zst", ".fxt", ".zst"};
	size_t bytes = strlen(path);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t ending = strlen(endings[i]);

		if (bytes > ending && strcmp(path + bytes - ending, endings[i]) == 0)
			return (int)(bytes - ending);
	}
	return (int)bytes;
}

/* Opens a new file for a program, beside the archive, or else beside the socket. Returns its path, which the
 * caller frees, or NULL. */
static char *open_file(struct fxt_archive *archive, const struct fxt_will *will, const char *socket,
		       uint64_t koid)
{
	const char *beside = will->path[0] ? will->path : socket;
	int stem = stem_of(beside);
	char *name = fxt_format("%.*s.left.%" PRIu64 ".fxt", stem, beside, koid);

	/* Other programs may have had this number, in other namespaces or before. */
	for (unsigned number = 1; number < MOST_NUMBERS && access(name, F_OK) == 0; number++) {
		free(name);
		name = fxt_format("%.*s.left.%" PRIu64 ".%u.fxt", stem, beside, koid, number);
	}
	if (fxt_archive_open(archive, name, false))
		return name;
	free(name);
	return NULL;
}

/* Counts what a program has overwritten of chunks that the manager was saving when it was killed. */
static void count_taken_in_vain(struct fxt_client *p)
{
	struct fxt_managed_header *header = (struct fxt_managed_header *)p->memory;
	uint32_t events = fxt_overwritten_in_pass(atomic_exchange(&header->overwritten_in_pass, 0),
						  atomic_load(&header->saved_pass));
	uint64_t *count = (uint64_t *)(p->memory + p->durable_offset + p->counters_offset +
				       p->counters_bytes) -
			  FXT_COUNTER_WORDS;

	if (events && p->counters_bytes >= FXT_COUNTER_WORDS * FXT_WORD_BYTES &&
	    fxt_get_record_type(*count) == FXT_RECORD_EVENT)
		count[FXT_COUNTER_SUM] += events;
}

/* Saves the memory of a program that is over, which `stays` there or moves to a file of the program's. */
static void save(const struct heritage *h, const struct fxt_will *will, const char *socket, bool stays)
{
	struct fxt_session *session = fxt_alloc(1, sizeof(*session));
	struct fxt_client *p = h->client;
	char *path = NULL;

	/* In this state of the session a memory may have any size. */
	session->state = FXT_SESSION_READY;
	session->config.mode = FXT_BUFFERING_STREAMING;
	if (!fxt_client_map(p, session, h->memory, 0)) {
		if (stays)
			path = open_file(&session->archive, will, socket, p->koid);
		else
			fxt_heir_completes(p);
		if (path) {
			p->id = (uint32_t)p->koid;
			p->is_over = true;
			count_taken_in_vain(p);
			fxt_client_save(p, session, true);
			fxt_archive_close(&session->archive);
		}
		free(path);
		munmap(p->memory, p->bytes);
		free(p->saved);
	}
	free(session);
}

static bool is_readable(int fd)
{
	struct pollfd one = {fd, POLLIN, 0};

	return fd >= 0 && poll(&one, 1, 0) == 1;
}

/* Returns whether the program has closed its connection. */
static bool has_hung_up(int fd)
{
	struct pollfd one = {fd, 0, 0};

	return fd < 0 || (poll(&one, 1, 0) == 1 && one.revents & POLLHUP);
}

/* Returns whether the program that had the memory is over: its process is, or executes another one. */
static bool is_over(const struct heritage *h)
{
	if (is_readable(h->client->process))
		return true;
	return has_hung_up(h->client->fd) &&
	       (h->client->process < 0 || !atomic_load(&h->header->outlives_connection));
}

/* Returns whether the memory has records of the session. */
static bool is_wanted(const struct heritage *h, const struct fxt_will *will)
{
	uint32_t session = atomic_load(&will->session);

	if (h->client->bequest)
		return atomic_load(&h->client->bequest->is_wanted);
	return session && h->header->session == session;
}

/* Returns how far the program has left the manager. If it `is_over`, it does not begin to move any more. */
static enum fxt_managed_leaving leaving_of(const struct heritage *h, bool is_over)
{
	uint32_t leaving = atomic_load(&h->header->leaving);

	if (is_over && leaving == FXT_STAYS)
		atomic_compare_exchange_strong(&h->header->leaving, &leaving, FXT_HAS_LEFT);
	return (enum fxt_managed_leaving)leaving;
}

/* Looks at all programs once. */
static void look(struct heirs_list *all, const struct fxt_will *will, const char *socket)
{
	for (size_t i = all->count; i-- > 0;) {
		struct heritage *h = &all->list[i];
		/* This comes first, because a program that is over says nothing any more. */
		bool over = is_over(h);
		enum fxt_managed_leaving leaving = is_wanted(h, will) ? leaving_of(h, over) : FXT_HAS_LEFT;

		if (leaving != FXT_HAS_LEFT) {
			if (!over)
				continue;
			save(h, will, socket, leaving == FXT_STAYS);
		}
		forget(h);
		*h = all->list[--all->count];
	}
}

/* Waits until some program may be over. */
static void wait_for_some(const struct heirs_list *all)
{
	struct pollfd *list = fxt_alloc(all->count, sizeof(*list));

	for (size_t i = 0; i < all->count; i++)
		list[i] = (struct pollfd){all->list[i].client->process, POLLIN, 0};
	poll(list, all->count, LOOK_MS);
	free(list);
}

void fxt_heir_inherit(struct fxt_will *will, const char *socket, const char *secret)
{
	struct heirs_list all = {0};

	lock_archive(will, LOCK_EX);
	take_stock(&all, will, secret);
	look(&all, will, socket);
	close_rest(&all, will);
	while (all.count) {
		lock_archive(will, LOCK_SH);
		wait_for_some(&all);
		lock_archive(will, LOCK_EX);
		look(&all, will, socket);
	}
	free(all.list);
}
