/* See witness_files.h. A pipe that fxt record has open too was there before the run, and others may use it.
 * So nothing is said of who has that one. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "witness_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tools/common/host_clock.h"
#include "tools/common/message.h"
#include "witness_stacks.h"

/* -- What is open -------------------------------------------------------------------------------- */

/* Reads what a descriptor of a process is. Returns false if it is not open or may not be known. */
static bool read_link(uint32_t pid, const char *fd, char *file)
{
	char *path = fxt_format("/proc/%" PRIu32 "/fd/%s", pid, fd);
	ssize_t bytes = readlink(path, file, FXT_WITNESS_FILE_BYTES - 1);

	free(path);
	file[bytes > 0 ? bytes : 0] = '\0';
	return bytes > 0;
}

/* Calls `each` for every descriptor of a process that is this file, until it returns false. */
static void look_through(uint32_t pid, const char *file,
			 bool (*each)(void *context, uint32_t pid, const char *fd), void *context)
{
	char *path = fxt_format("/proc/%" PRIu32 "/fd", pid), is[FXT_WITNESS_FILE_BYTES];
	DIR *fds = opendir(path);
	const struct dirent *fd;

	while (fds && (fd = readdir(fds)))
		if (*fd->d_name != '.' && read_link(pid, fd->d_name, is) && strcmp(is, file) == 0 &&
		    !each(context, pid, fd->d_name))
			break;
	if (fds)
		closedir(fds);
	free(path);
}

static bool note(void *context, uint32_t pid, const char *fd)
{
	(void)pid;
	(void)fd;
	*(bool *)context = true;
	return false;
}

/* Returns whether fxt record, which begins the run, has the file. */
static bool is_from_before(const char *file)
{
	bool is = false;

	look_through((uint32_t)getppid(), file, note, &is);
	return is;
}

/* -- The other end of a socket ------------------------------------------------------------------- */

/* Returns the number of the socket at the other end of a Unix socket, or 0. */
static uint32_t unix_peer(uint32_t inode)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req wish;
	} question = {
		.header = {.nlmsg_len = sizeof(question), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			   .nlmsg_flags = NLM_F_REQUEST},
		.wish = {.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_ino = inode,
			 .udiag_show = UDIAG_SHOW_PEER, .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
	};
	struct {
		struct nlmsghdr header;
		struct unix_diag_msg told;
		unsigned char attributes[512];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t bytes = -1;
	uint32_t peer = 0;

	if (fd >= 0 && send(fd, &question, sizeof(question), 0) == (ssize_t)sizeof(question))
		bytes = recv(fd, &answer, sizeof(answer), 0);
	if (fd >= 0)
		close(fd);
	if (bytes < (ssize_t)offsetof(__typeof__(answer), attributes) ||
	    answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return 0;
	for (size_t at = 0, end = (size_t)bytes - offsetof(__typeof__(answer), attributes);
	     at + sizeof(struct nlattr) + sizeof(peer) <= end;) {
		struct nlattr attribute;

		memcpy(&attribute, answer.attributes + at, sizeof(attribute));
		if (attribute.nla_type == UNIX_DIAG_PEER)
			memcpy(&peer, answer.attributes + at + sizeof(attribute), sizeof(peer));
		if (attribute.nla_len < sizeof(attribute))
			break;
		at += NLA_ALIGN(attribute.nla_len);
	}
	return peer;
}

/* The ends of a TCP connection, as /proc/PID/net/tcp writes them. */
struct connection {
	char local[64], remote[64];
	unsigned long inode;
};

static bool read_connection(FILE *list, struct connection *c)
{
	char line[512];

	return fgets(line, sizeof(line), list) &&
	       (sscanf(line, " %*s %63s %63s %*s %*s %*s %*s %*s %*s %lu", c->local, c->remote, &c->inode) ==
			3 ||
		read_connection(list, c));
}

/* Returns the number of the socket at the other end of a TCP connection within this machine, or 0. */
static unsigned long tcp_peer(uint32_t pid, unsigned long inode)
{
	static const char *const lists[] = {"tcp", "tcp6"};
	unsigned long peer = 0;

	for (unsigned i = 0; i < 2 && !peer; i++) {
		char *path = fxt_format("/proc/%" PRIu32 "/net/%s", pid, lists[i]);
		FILE *list = fopen(path, "re");
		struct connection own = {.inode = 0}, other;

		while (list && own.inode != inode && read_connection(list, &own))
			;
		if (list)
			rewind(list);
		while (list && own.inode == inode && !peer && read_connection(list, &other))
			if (strcmp(other.local, own.remote) == 0 && strcmp(other.remote, own.local) == 0)
				peer = other.inode;
		if (list)
			fclose(list);
		free(path);
	}
	return peer;
}

/* -- What a thread is blocked at ------------------------------------------------------------------ */

struct call {
	long number;
	const char *wants;
};

/* Those whose first argument is the descriptor. */
static const struct call calls[] = {
	{SYS_read, "read"},	 {SYS_readv, "read"},	  {SYS_recvfrom, "read"},  {SYS_recvmsg, "read"},
	{SYS_recvmmsg, "read"},	 {SYS_write, "write"},	  {SYS_writev, "write"},   {SYS_sendto, "write"},
	{SYS_sendmsg, "write"},	 {SYS_sendmmsg, "write"}};

/* Reads a text of a process. It may end with the page that it begins in. */
static void read_path(uint32_t pid, uint64_t at, char *text)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), room = page - at % page;
	uint64_t first = room < FXT_WITNESS_FILE_BYTES - 1 ? room : FXT_WITNESS_FILE_BYTES - 1;
	struct iovec here = {text, FXT_WITNESS_FILE_BYTES - 1};
	struct iovec there[2] = {{(void *)(uintptr_t)at, first},
				 {(void *)(uintptr_t)(at + first), FXT_WITNESS_FILE_BYTES - 1 - first}};
	ssize_t bytes = process_vm_readv((pid_t)pid, &here, 1, there, 2, 0);

	text[bytes > 0 ? bytes : 0] = '\0';
}

/* Takes the path that a thread opens, and how, if that is a FIFO. */
static void take_open(struct fxt_blocked_file *f, uint32_t pid, int folder, uint64_t path, uint64_t flags)
{
	char *whole;
	struct stat st;

	read_path(pid, path, f->file);
	whole = f->file[0] == '/'    ? fxt_strdup(f->file)
		: folder == AT_FDCWD ? fxt_format("/proc/%" PRIu32 "/cwd/%s", pid, f->file)
				     : fxt_format("/proc/%" PRIu32 "/fd/%d/%s", pid, folder, f->file);
	if (*f->file && stat(whole, &st) == 0 && S_ISFIFO(st.st_mode))
		f->wants = (flags & O_ACCMODE) == O_WRONLY ? "open to write" : "open to read";
	else
		*f->file = '\0';
	free(whole);
}

static void take_descriptor(struct fxt_blocked_file *f, uint32_t pid, uint64_t fd)
{
	char *number = fxt_format("%" PRIu64, fd);
	unsigned long inode, peer = 0;

	if (!read_link(pid, number, f->file))
		*f->file = '\0';
	free(number);
	if (strncmp(f->file, "pipe:[", 6) == 0 && !is_from_before(f->file)) {
		memcpy(f->by, f->file, sizeof(f->by));
	} else if (strncmp(f->file, "socket:[", 8) == 0) {
		inode = strtoul(f->file + 8, NULL, 10);
		peer = unix_peer((uint32_t)inode);
		peer = peer ? peer : tcp_peer(pid, inode);
		if (peer)
			snprintf(f->by, sizeof(f->by), "socket:[%lu]", peer);
		if (peer && is_from_before(f->by))
			*f->by = '\0';
	}
}

void fxt_witness_blocked_file(struct fxt_blocked_file *f, uint32_t pid, const char *doing)
{
	char *end;
	long number = strtol(doing, &end, 10);
	uint64_t args[3];

	*f = (struct fxt_blocked_file){.wants = NULL};
	if (end == doing)
		return;
	for (unsigned i = 0; i < 3; i++)
		args[i] = strtoull(end, &end, 16);
#ifdef SYS_open
	if (number == SYS_open)
		take_open(f, pid, AT_FDCWD, args[0], args[1]);
#endif
	if (number == SYS_openat)
		take_open(f, pid, (int)args[0], args[1], args[2]);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number) {
			take_descriptor(f, pid, args[0]);
			f->wants = *f->file ? calls[i].wants : NULL;
		}
}

/* -- Who has the other end ------------------------------------------------------------------------ */

struct holding {
	bool reads, writes;
	uint64_t fd;                    /* one that can be written to, or any */
};

/* Adds how a descriptor was opened. */
static bool add_access(void *context, uint32_t pid, const char *fd)
{
	struct holding *h = context;
	char *path = fxt_format("/proc/%" PRIu32 "/fdinfo/%s", pid, fd), line[128];
	FILE *file = fopen(path, "re");
	unsigned flags;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "flags: %o", &flags) == 1) {
			if (!h->writes)
				h->fd = strtoul(fd, NULL, 10);
			h->reads |= (flags & O_ACCMODE) != O_WRONLY;
			h->writes |= (flags & O_ACCMODE) != O_RDONLY;
		}
	if (file)
		fclose(file);
	free(path);
	return true;
}

void fxt_witness_holders(struct fxt_witness_trace *w, const struct fxt_blocked_file *f)
{
	const struct fxt_map *pids = &w->spaces.by_pid;

	if (!*f->by)
		return;
	for (const struct fxt_slot *slot = fxt_map_next(pids, NULL); slot; slot = fxt_map_next(pids, slot)) {
		uint32_t pid = (uint32_t)slot->a;
		struct fxt_perf_record process = {.pid = pid, .tid = pid, .time_ns = fxt_host_now_ns()};
		struct holding h = {.reads = false};
		struct fxt_arg list[3];

		/* What has ended has nothing mapped. */
		if (w->spaces.list[slot->value[0]]->count)
			look_through(pid, f->by, add_access, &h);
		if (!(h.reads || h.writes) || !fxt_witness_keeps(w, &process))
			continue;
		list[0] = (struct fxt_arg){FXT_ARG_STRING, fxt_witness_string(w, "file"),
					   .string = fxt_witness_string(w, f->by)};
		list[1] = (struct fxt_arg){FXT_ARG_STRING, fxt_witness_string(w, "to"),
					   .string = fxt_witness_string(w, h.reads && h.writes ? "both"
									    : h.reads	       ? "read"
											       : "write")};
		list[2] = (struct fxt_arg){FXT_ARG_UINT64, fxt_witness_string(w, "fd"), .u64 = h.fd};
		fxt_witness_fact(w, &process, "holds", (struct fxt_args){3, list});
	}
}
