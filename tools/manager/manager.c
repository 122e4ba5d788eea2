/* See manager.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "manager.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/printing/print.h"

enum {
	MOST_PROVIDERS = 4096,
	BACKLOG = 4096,
	EVENTS = 64,
	MOST_COMPLAINTS = 20,
	STOP_NS = 1000 * 1000 * 1000,   /* how long providers have to answer FXT_MANAGER_STOP */
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* -- The socket -------------------------------------------------------------------------------- */

/* Returns whether there is a socket at the address that a dead manager has left. Otherwise errno says what
 * there is. */
static bool is_left(const struct sockaddr_un *address)
{
	struct stat status;
	int fd, error;

	/* A connection to a file that is no socket is refused, too. */
	if (lstat(address->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) {
		errno = EEXIST;
		return false;
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	error = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? EADDRINUSE : errno;
	close(fd);
	/* The queue of a manager that lives may be full. */
	errno = error == EAGAIN ? EADDRINUSE : error;
	return error == ECONNREFUSED;
}

/* Binds the socket, readable and writable by its owner alone. */
static int bind_private(int fd, const struct sockaddr_un *address)
{
	mode_t mask = umask(0177);
	int status = bind(fd, (const struct sockaddr *)address, sizeof(*address));

	umask(mask);
	return status;
}

/* Every provider takes three descriptors for a moment, and two from then on. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Binds the socket, and takes the place of one that was left. Returns false with errno. */
static bool bind_anew(int fd, const struct sockaddr_un *address)
{
	if (bind_private(fd, address) == 0)
		return true;
	if (errno != EADDRINUSE || !is_left(address) || unlink(address->sun_path) != 0)
		return false;
	return bind_private(fd, address) == 0;
}

bool fxt_manager_listen(struct fxt_manager *m, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat status;

	if (strlen(path) >= sizeof(address.sun_path)) {
		fxt_error(path, "the path of a socket has at most %zu bytes", sizeof(address.sun_path) - 1);
		return false;
	}
	raise_limit();
	memcpy(address.sun_path, path, strlen(path));
	m->path = path;
	m->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (m->listener >= 0 && bind_anew(m->listener, &address) && listen(m->listener, BACKLOG) == 0 &&
	    lstat(path, &status) == 0) {
		m->device = status.st_dev;
		m->inode = status.st_ino;
		m->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return true;
	}
	if (errno == EADDRINUSE)
		fxt_error(path, "another fxt serve is there already; give --socket another path");
	else
		fxt_error(path, "%s", strerror(errno));
	if (m->listener >= 0)
		close(m->listener);
	return false;
}

void fxt_manager_unlisten(struct fxt_manager *m)
{
	struct stat status;

	if (m->listener < 0)
		return;
	/* Somebody may have removed our socket, and another manager have its own there. */
	if (lstat(m->path, &status) == 0 && status.st_dev == m->device && status.st_ino == m->inode)
		unlink(m->path);
	close(m->listener);
	close(m->spare);
	m->listener = -1;
}

/* -- Providers --------------------------------------------------------------------------------- */

static void watch(const struct fxt_manager *m, int fd, void *what)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};

	if (epoll_ctl(m->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		fxt_error(NULL, "epoll: %s", strerror(errno));
}

/* Ends provider number `i`. */
static void end(struct fxt_manager *m, size_t i)
{
	fxt_client_end(m->providers[i], m->session);
	m->providers[i] = m->providers[--m->count];
}

/* Returns whether the process at the other end may be served: it is one of our own user, or root's. */
static bool may_come(int fd)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

/* Accepts a connection and closes it, although there is no descriptor left for it. Otherwise it would stay
 * there, and wake the loop without end. */
static void refuse_one(struct fxt_manager *m)
{
	int fd;

	close(m->spare);
	fd = accept4(m->listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0) {
		m->refused++;
		close(fd);
	}
	m->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Accepts what has come, but no more than EVENTS, because others wait. */
static void accept_some(struct fxt_manager *m)
{
	for (unsigned i = 0; i < EVENTS; i++) {
		int fd = accept4(m->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct fxt_client *p;

		if (fd < 0) {
			if (errno == EMFILE || errno == ENFILE)
				refuse_one(m);
			return;
		}
		if (m->count >= MOST_PROVIDERS || !may_come(fd)) {
			m->refused++;
			close(fd);
			continue;
		}
		p = fxt_client_new(fd, now());
		m->providers = fxt_grow(m->providers, &m->capacity, m->count + 1, sizeof(*m->providers));
		m->providers[m->count++] = p;
		watch(m, p->fd, p);
		if (p->process >= 0)
			watch(m, p->process, p);
	}
}

static size_t find(const struct fxt_manager *m, const struct fxt_client *p)
{
	size_t i;

	for (i = 0; i < m->count && m->providers[i] != p; i++)
		;
	return i;
}

/* Says why a provider is not served any more, in text that is safe to print. */
static void complain(struct fxt_manager *m, const struct fxt_client *p, const char *why)
{
	struct fxt_text name = {.text = p->name, .bytes = (uint32_t)p->name_bytes};
	char *text = fxt_printable(&name, FXT_PROVIDER_NAME_BYTES, false);

	if (m->complaints < MOST_COMPLAINTS)
		fxt_error(NULL, "process %d (%s) is not served any more: %s", (int)p->pid, text, why);
	if (++m->complaints == MOST_COMPLAINTS)
		fxt_error(NULL, "there are more such processes, which are not told of");
	free(text);
}

/* Ends the earlier providers of the process that `p` has registered for: it executes another program now. A
 * child may have a copy of the earlier connection. */
static void end_earlier(struct fxt_manager *m, const struct fxt_client *p)
{
	for (size_t i = m->count; i-- > 0;) {
		const struct fxt_client *other = m->providers[i];

		if (other != p && p->pid && other->pid == p->pid && other->state != FXT_CLIENT_CONNECTED)
			end(m, i);
	}
}

/* Reads what the provider has sent. It is ended when its connection is: its process is over then, or executes
 * another program. A child may have a copy of the connection, so the end of the process counts too. */
static void serve(struct fxt_manager *m, struct fxt_client *p, bool is_over)
{
	bool is_new = p->state == FXT_CLIENT_CONNECTED;
	const char *why = NULL;
	bool goes_on = fxt_client_hear(p, m->session, &why);

	if (is_new && p->state != FXT_CLIENT_CONNECTED)
		end_earlier(m, p);
	if (goes_on && !is_over)
		return;
	if (why)
		complain(m, p, why);
	end(m, find(m, p));
}

/* Returns whether the process of the provider is over. */
static bool process_is_over(const struct fxt_client *p)
{
	struct pollfd process = {p->process, POLLIN, 0};

	return p->process >= 0 && poll(&process, 1, 0) == 1;
}

/* -- The loop ---------------------------------------------------------------------------------- */

/* Goes on in a new file if the present one is large enough. */
static void rotate(struct fxt_manager *m)
{
	struct fxt_session *session = m->session;

	if (!session->rotate_bytes || session->archive->bytes < session->rotate_bytes)
		return;
	fxt_archive_rotate(session->archive, session->rotate_count);
	for (size_t i = 0; i < m->count; i++)
		fxt_client_new_file(m->providers[i]);
}

/* Ends connections that have not registered in time. */
static void end_silent(struct fxt_manager *m, uint64_t now_ns)
{
	for (size_t i = m->count; i-- > 0;)
		if (m->providers[i]->deadline_ns && now_ns > m->providers[i]->deadline_ns)
			end(m, i);
}

/* Asks all providers to stop, and accepts no more. */
static void stop_all(struct fxt_manager *m)
{
	fxt_manager_unlisten(m);
	m->is_stopping = true;
	m->end_ns = now() + STOP_NS;
	for (size_t i = m->count; i-- > 0;)
		if (!fxt_client_stop(m->providers[i]))
			end(m, i);
}

/* Returns whether a provider is still to answer that it has stopped. */
static bool awaits_any(const struct fxt_manager *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->providers[i]->state == FXT_CLIENT_STOPPING)
			return true;
	return false;
}

/* Waits for events, for a second at most, and handles them. */
static void handle_events(struct fxt_manager *m)
{
	struct epoll_event events[EVENTS];
	uint64_t at = now();
	int timeout = 1000, count;

	if (m->end_ns && m->end_ns < at + UINT64_C(1000000000))
		timeout = m->end_ns > at ? (int)((m->end_ns - at) / 1000000 + 1) : 0;
	count = epoll_wait(m->epoll, events, EVENTS, timeout);
	for (int i = 0; i < count; i++) {
		struct signalfd_siginfo signal;

		if (events[i].data.ptr == &m->listener) {
			accept_some(m);
		} else if (events[i].data.ptr == &m->signals) {
			if (read(m->signals, &signal, sizeof(signal)) == sizeof(signal) && !m->is_stopping)
				stop_all(m);
		} else if (find(m, events[i].data.ptr) < m->count) {
			/* Other providers were ended by an earlier event of this round. */
			serve(m, events[i].data.ptr, process_is_over(events[i].data.ptr));
			rotate(m);
		}
	}
}

void fxt_manager_run(struct fxt_manager *m)
{
	sigset_t signals, before;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, &before);
	m->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	m->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (m->duration_ns)
		m->end_ns = now() + m->duration_ns;
	watch(m, m->listener, &m->listener);
	watch(m, m->signals, &m->signals);
	while (!m->is_stopping || awaits_any(m)) {
		handle_events(m);
		end_silent(m, now());
		if (m->end_ns && now() >= m->end_ns) {
			if (m->is_stopping)
				break;
			stop_all(m);
		}
	}
	while (m->count)
		end(m, m->count - 1);
	close(m->signals);
	close(m->epoll);
	free(m->providers);
	sigprocmask(SIG_SETMASK, &before, NULL);
}
