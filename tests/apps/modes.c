/* Threads and children move much through pipes and sockets, or wait for something. It is random how each
 * descriptor got its mode: by fcntl(), by ioctl(), by the call that made it, by way of a duplicate, by the
 * parent before a fork, or by a child for its parent.
 *
 * The program prints "NAME prompt" of each thread that never waits, whatever time its calls take, and "NAME
 * waits" of each that waits for PAUSE_NS or more. The first thread, or children without a line, do what
 * comes before and after.
 *
 *	modes [CASES]           (default 40)
 *	modes set FD on|off     is executed by a child
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"
#include "random.h"

enum { PAUSE_NS = 20 * 1000 * 1000, MOST_BYTES = 1 << 20, LEAST_BYTES = 1 << 18, ROUNDS = 8 };

enum way { BY_FCNTL, BY_IOCTL, BY_CREATION, BY_DUPLICATE, BY_CHILD, BY_EXECUTED, WAYS };
enum kind { PIPE, PAIR, FIFO, EVENTS, DISK, LIMITED, SIGNALS, KINDS };

struct work {
	char name[16];
	enum kind kind;
	bool waits;
	int from, to;
	size_t bytes;
	atomic_int tid;
};

static char self[4096];
static char *buffer;

static void need(bool condition, const char *what)
{
	if (!condition) {
		perror(what);
		exit(1);
	}
}

/* -- Modes ---------------------------------------------------------------------------------------- */

static void by_fcntl(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	need(flags >= 0 && fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) == 0, "fcntl");
}

static void by_ioctl(int fd, bool on)
{
	int value = on;

	need(ioctl(fd, FIONBIO, &value) == 0, "ioctl");
}

static void by_duplicate(int fd, bool on)
{
	int copy = random_below(2) ? dup(fd) : fcntl(fd, F_DUPFD_CLOEXEC, (int)random_below(2000));

	need(copy >= 0, "dup");
	by_fcntl(copy, on);
	close(copy);
}

/* Sets the mode in a child. The mode changes for the parent too, because both share the open file. */
static void by_child(int fd, bool on, bool executes)
{
	char number[16];
	pid_t pid = fork();
	int status;

	if (!pid && !executes) {
		by_ioctl(fd, on);
		_exit(0);
	}
	if (!pid) {
		snprintf(number, sizeof(number), "%d", fd);
		execl(self, self, "set", number, on ? "on" : "off", (char *)NULL);
		_exit(1);
	}
	need(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "child");
}

static void set_mode(int fd, bool on, enum way way)
{
	switch (way) {
	case BY_FCNTL: by_fcntl(fd, on); break;
	case BY_IOCTL: by_ioctl(fd, on); break;
	case BY_DUPLICATE: by_duplicate(fd, on); break;
	case BY_CHILD: by_child(fd, on, false); break;
	case BY_EXECUTED: by_child(fd, on, true); break;
	default: break;
	}
}

/* Opens both ends, often in the opposite of the mode that is set later. */
static void open_ends(struct work *w)
{
	enum way way = (enum way)random_below(WAYS);
	bool on = !w->waits, at_first = way == BY_CREATION ? on : random_below(2);
	int ends[2] = {-1, -1};
	char path[32];

	if (way != BY_CREATION && random_below(2))
		at_first = !on;
	if (w->kind == EVENTS) {
		ends[0] = eventfd(0, at_first ? EFD_NONBLOCK : 0);
		need(ends[0] >= 0, "eventfd");
	} else if (w->kind == FIFO) {
		snprintf(path, sizeof(path), "modes-%d", (int)getpid());
		need(mkfifo(path, 0600) == 0, "mkfifo");
		ends[0] = open(path, O_RDWR | (at_first ? O_NONBLOCK : 0));
		ends[1] = open(path, O_WRONLY | (at_first ? O_NONBLOCK : 0));
		need(ends[0] >= 0 && ends[1] >= 0 && unlink(path) == 0, "open");
		fcntl(ends[0], F_SETPIPE_SZ, MOST_BYTES);
	} else if (w->kind == PIPE) {
		need(pipe2(ends, at_first ? O_NONBLOCK : 0) == 0, "pipe2");
		fcntl(ends[0], F_SETPIPE_SZ, MOST_BYTES);
	} else {
		need(socketpair(AF_UNIX, SOCK_STREAM | (at_first ? SOCK_NONBLOCK : 0), 0, ends) == 0,
		     "socketpair");
	}
	for (int i = 0; i < 2 && ends[i] >= 0; i++)
		if (at_first != on || way != BY_CREATION)
			set_mode(ends[i], on, way == BY_CREATION ? BY_FCNTL : way);
	w->from = ends[0];
	w->to = ends[1] < 0 ? ends[0] : ends[1];
}

/* -- What the threads do -------------------------------------------------------------------------- */

static void name_self(struct work *w)
{
	need(!pthread_setname_np(pthread_self(), w->name), "pthread_setname_np");
	atomic_store(&w->tid, (int)syscall(SYS_gettid));
}

/* As much as there is room for goes through, and calls that find nothing or no room fail. */
static void move_much(struct work *w)
{
	struct iovec pieces[2] = {{buffer, w->bytes / 2}, {buffer, w->bytes / 2}};

	for (int i = 0; i < ROUNDS; i++) {
		if (random_below(2))
			(void)!write(w->to, buffer, w->bytes);
		else
			(void)!writev(w->to, pieces, 2);
		if (w->kind == PAIR && random_below(2))
			(void)!recv(w->from, buffer, w->bytes, 0);
		else
			(void)!read(w->from, buffer, w->bytes);
	}
}

/* An eventfd moves eight bytes, which takes no time. So it is read when there is nothing to read, and
 * written when there is no room. */
static void count_much(struct work *w)
{
	eventfd_t value;

	for (int i = 0; i < ROUNDS; i++) {
		eventfd_write(w->to, UINT64_MAX - 1);
		eventfd_write(w->to, 1);
		eventfd_read(w->from, &value);
		eventfd_read(w->from, &value);
	}
}

static void *wait_for_it(void *work)
{
	struct timespec limit = {0, PAUSE_NS};
	struct work *w = work;
	sigset_t none;
	char byte;

	name_self(w);
	switch (w->kind) {
	case DISK:
		for (int i = 0; i < ROUNDS; i++)
			need(pread(w->from, buffer, w->bytes, 0) == (ssize_t)w->bytes, "pread");
		break;
	case LIMITED: need(recv(w->from, &byte, 1, 0) < 0, "recv in time"); break;
	case SIGNALS:
		sigemptyset(&none);
		sigaddset(&none, SIGUSR1);
		need(sigtimedwait(&none, NULL, &limit) < 0, "sigtimedwait in time");
		break;
	case EVENTS:
		need(eventfd_read(w->from, &(eventfd_t){0}) == 0, "eventfd_read");
		break;
	default: need(read(w->from, &byte, 1) == 1, "read");
	}
	return NULL;
}

static void *move_it(void *work)
{
	struct work *w = work;

	name_self(w);
	if (w->kind == EVENTS)
		count_much(w);
	else
		move_much(w);
	return NULL;
}

/* -- The cases ------------------------------------------------------------------------------------ */

static void let_go(struct work *w)
{
	struct timespec pause = {0, PAUSE_NS};

	while (!is_in_call(atomic_load(&w->tid), SYS_read))
		;
	nanosleep(&pause, NULL);
	if (w->kind == EVENTS)
		eventfd_write(w->to, 1);
	else
		need(write(w->to, "", 1) == 1, "write");
}

static void open_what_waits(struct work *w)
{
	struct timeval limit = {0, PAUSE_NS / 1000};
	char path[] = "modes-XXXXXX";
	int ends[2];

	switch (w->kind) {
	/* A regular file ignores O_NONBLOCK: its reads take the disk's time in both modes. */
	case DISK:
		close(mkstemp(path));
		w->from = open(path, O_RDWR | O_NONBLOCK);
		need(w->from >= 0 && unlink(path) == 0, "open");
		need(write(w->from, buffer, w->bytes) == (ssize_t)w->bytes, "write");
		break;
	case LIMITED:
		need(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
		need(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0, "setsockopt");
		w->from = ends[0];
		w->to = ends[1];
		break;
	case SIGNALS: break;
	default: open_ends(w);
	}
}

static void by_thread(struct work *w)
{
	pthread_t thread;

	need(!pthread_create(&thread, NULL, w->waits ? wait_for_it : move_it, w), "pthread_create");
	if (w->waits && w->kind <= EVENTS)
		let_go(w);
	need(!pthread_join(thread, NULL), "pthread_join");
}

static void by_inheritor(struct work *w)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		move_it(w);
		_exit(0);
	}
	need(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "child");
}

static void make_case(unsigned number)
{
	static struct work w;

	w = (struct work){.waits = random_below(2), .from = -1, .to = -1};
	w.bytes = LEAST_BYTES + random_below(MOST_BYTES - LEAST_BYTES);
	w.kind = (enum kind)random_below(w.waits ? KINDS : DISK);
	snprintf(w.name, sizeof(w.name), "case%u", number);
	if (w.waits)
		open_what_waits(&w);
	else
		open_ends(&w);
	if (!w.waits && random_below(2))
		by_inheritor(&w);
	else
		by_thread(&w);
	printf("%s %s%s\n", w.name, w.waits ? "waits" : "prompt",
	       w.waits && w.kind == DISK ? " briefly" : "");
	fflush(stdout);
	if (w.from >= 0)
		close(w.from);
	if (w.to >= 0 && w.to != w.from)
		close(w.to);
}

int main(int argc, char **argv)
{
	unsigned cases = argc == 2 ? (unsigned)atoi(argv[1]) : 40;
	sigset_t blocked;

	if (argc == 4) {
		(atoi(argv[2]) % 2 ? by_fcntl : by_ioctl)(atoi(argv[2]), strcmp(argv[3], "on") == 0);
		return 0;
	}
	need(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0, "/proc/self/exe");
	buffer = mmap(NULL, MOST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(buffer != MAP_FAILED, "mmap");
	memset(buffer, 'x', MOST_BYTES);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	need(!pthread_sigmask(SIG_BLOCK, &blocked, NULL), "pthread_sigmask");
	random_seed(0);
	for (unsigned i = 0; i < cases; i++)
		make_case(i);
	return 0;
}
