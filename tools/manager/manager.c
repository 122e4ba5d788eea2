/* See manager.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "manager.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controller.h"
#include "heir.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

enum {
	MOST_PROVIDERS = FXT_GATES_MOST,
	EVENTS = 64,
	MOST_COMPLAINTS = 20,
	MOST_WAIT_MS = 1000,
	CATCH_UP_NS = 500 * 1000 * 1000,
};

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
	struct fxt_session *session = &m->session;

	fxt_client_end(session->clients[i], session);
	session->clients[i] = session->clients[--session->count];
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
static void refuse_one(struct fxt_manager *m, int listener)
{
	int fd;

	close(m->spare);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0) {
		m->refused++;
		close(fd);
	}
	m->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Ends the connection that has been silent longest, to make room for another one. Returns false if all have
 * registered. */
static bool end_most_silent(struct fxt_manager *m)
{
	const struct fxt_session *session = &m->session;
	size_t most = session->count;

	for (size_t i = 0; i < session->count; i++) {
		const struct fxt_client *p = session->clients[i];

		if (p->state == FXT_CLIENT_CONNECTED &&
		    (most == session->count || p->deadline_ns < session->clients[most]->deadline_ns))
			most = i;
	}
	if (most == session->count)
		return false;
	m->refused++;
	end(m, most);
	return true;
}

/* Accepts what has come, but no more than EVENTS, because others wait. */
static void accept_some(struct fxt_manager *m, int listener)
{
	struct fxt_session *session = &m->session;

	for (unsigned i = 0; i < EVENTS; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct fxt_client *p;

		if (fd < 0) {
			if (errno != EMFILE && errno != ENFILE)
				return;
			if (end_most_silent(m))
				continue;
			refuse_one(m, listener);
			return;
		}
		if ((listener == m->listener && !may_come(fd)) ||
		    (session->count >= MOST_PROVIDERS && !end_most_silent(m))) {
			m->refused++;
			close(fd);
			continue;
		}
		p = fxt_client_new(fd, fxt_now_ns());
		p->may_register = listener == m->listener;
		session->clients = fxt_grow(session->clients, &session->capacity, session->count + 1,
					    sizeof(*session->clients));
		session->clients[session->count++] = p;
		watch(m, p->fd, p);
		if (p->process >= 0)
			watch(m, p->process, p);
	}
}

static size_t find(const struct fxt_manager *m, const struct fxt_client *p)
{
	size_t i;

	for (i = 0; i < m->session.count && m->session.clients[i] != p; i++)
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
	for (size_t i = m->session.count; i-- > 0;) {
		const struct fxt_client *other = m->session.clients[i];

		if (other != p && p->pid && other->pid == p->pid && other->state != FXT_CLIENT_CONNECTED)
			end(m, i);
	}
}

/* Returns whether the first message of a connection is a controller's call. */
static bool is_controller(int fd)
{
	uint16_t request;

	return recv(fd, &request, sizeof(request), MSG_PEEK | MSG_DONTWAIT) == (ssize_t)sizeof(request) &&
	       request == FXT_CONTROLLER_CALL;
}

static bool is_listed(const struct fxt_manager *m, const struct fxt_controller *c)
{
	const struct fxt_controller *other = m->controllers;

	while (other && other != c)
		other = other->next;
	return other;
}

static void serve_controller(struct fxt_manager *m, struct fxt_controller *c)
{
	if (!fxt_controller_hear(c, &m->session))
		fxt_controller_end(&m->controllers, c, &m->session);
}

/* Makes a controller of what seemed to be a provider. */
static void become_controller(struct fxt_manager *m, struct fxt_client *p)
{
	int fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 0);
	struct fxt_controller *c;

	end(m, find(m, p));
	if (fd < 0)
		return;
	c = fxt_controller_new(&m->controllers, fd);
	watch(m, fd, c);
	serve_controller(m, c);
}

static void tell_state(void *context, enum fxt_session_state state)
{
	struct fxt_manager *m = context;

	(void)state;
	fxt_controllers_state(m->controllers, &m->session);
}

static void tell_alert(void *context, const char *name)
{
	struct fxt_manager *m = context;

	fxt_controllers_alert(m->controllers, name);
}

static void tell_save(void *context)
{
	struct fxt_manager *m = context;

	fxt_controllers_save(m->controllers, &m->session);
}

/* Reads what the provider has sent. It is ended when its process is over, or executes another program; and
 * when its connection is, unless it outlives that. A child may have a copy of the connection. */
static void serve(struct fxt_manager *m, struct fxt_client *p, bool is_over)
{
	bool is_new = p->state == FXT_CLIENT_CONNECTED;
	const char *why = NULL;
	bool goes_on;

	if (is_new && p->may_register && is_controller(p->fd)) {
		become_controller(m, p);
		return;
	}
	goes_on = fxt_client_hear(p, &m->session, &why);

	if (is_new && p->state != FXT_CLIENT_CONNECTED)
		end_earlier(m, p);
	if (!is_over && (goes_on || (!why && fxt_client_outlives(p))))
		return;
	if (why) {
		complain(m, p, why);
		m->session.cut_off += p->state != FXT_CLIENT_CONNECTED;
	}
	end(m, find(m, p));
}

/* Returns whether the process of the provider is over. */
static bool process_is_over(const struct fxt_client *p)
{
	struct pollfd process = {p->process, POLLIN, 0};

	return p->process >= 0 && poll(&process, 1, 0) == 1;
}

static bool has_come(int fd)
{
	struct pollfd connection = {fd, POLLIN, 0};

	return fd > 0 && poll(&connection, 1, 0) == 1;
}

/* Returns whether somebody has connected who was not heard. */
static bool has_unheard(const struct fxt_manager *m)
{
	const struct fxt_session *session = &m->session;

	if (has_come(m->listener) || has_come(m->second))
		return true;
	for (size_t i = 0; i < session->count; i++)
		if (session->clients[i]->state == FXT_CLIENT_CONNECTED && has_come(session->clients[i]->fd))
			return true;
	return false;
}

/* -- The loop ---------------------------------------------------------------------------------- */

/* Ends connections that have not registered in time. */
static void end_silent(struct fxt_manager *m, uint64_t now_ns)
{
	struct fxt_session *session = &m->session;

	for (size_t i = session->count; i-- > 0;)
		if (session->clients[i]->deadline_ns && now_ns > session->clients[i]->deadline_ns)
			end(m, i);
}

/* Returns how long to wait for events, in milliseconds: a second at most. */
static int timeout(const struct fxt_manager *m, uint64_t now_ns)
{
	uint64_t due_ns = fxt_session_due(&m->session);

	if (m->end_ns && !m->is_ending && (!due_ns || m->end_ns < due_ns))
		due_ns = m->end_ns;
	if (!due_ns || due_ns > now_ns + UINT64_C(1000000000))
		return MOST_WAIT_MS;
	return due_ns > now_ns ? (int)((due_ns - now_ns) / 1000000 + 1) : 0;
}

bool fxt_manager_step(struct fxt_manager *m, int most_ms)
{
	struct epoll_event events[EVENTS];
	bool any = false;
	int wait_ms = timeout(m, fxt_now_ns());
	int count = epoll_wait(m->epoll, events, EVENTS, wait_ms < most_ms ? wait_ms : most_ms);

	for (int i = 0; i < count; i++) {
		any |= events[i].data.ptr != &m->wakes;
		if (events[i].data.ptr == &m->listener) {
			accept_some(m, m->listener);
		} else if (events[i].data.ptr == &m->second) {
			accept_some(m, m->second);
		} else if (is_listed(m, events[i].data.ptr)) {
			serve_controller(m, events[i].data.ptr);
		} else if (find(m, events[i].data.ptr) < m->session.count) {
			/* Other providers were ended by an earlier event of this round. */
			serve(m, events[i].data.ptr, process_is_over(events[i].data.ptr));
			fxt_session_rotate(&m->session);
		}
	}
	/* A full disk may have room again while no program has anything to say. */
	if (m->session.archive.is_full)
		fxt_session_rotate(&m->session);
	if (m->session.hears_first)
		m->session.hears_first = has_unheard(m);
	fxt_session_advance(&m->session);
	end_silent(m, fxt_now_ns());
	return any;
}

void fxt_manager_catch_up(struct fxt_manager *m)
{
	uint64_t end_ns = fxt_now_ns() + CATCH_UP_NS;

	while (fxt_manager_step(m, 0) && fxt_now_ns() < end_ns)
		;
}

void fxt_manager_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

void fxt_manager_watch(struct fxt_manager *m, int fd)
{
	watch(m, fd, &m->wakes);
}

void fxt_manager_begin(struct fxt_manager *m)
{
	m->session.on_state = tell_state;
	m->session.on_alert = tell_alert;
	m->session.on_save = tell_save;
	m->session.context = m;
	m->session.heir = fxt_heir_make(&m->session, m->path);
	m->epoll = epoll_create1(EPOLL_CLOEXEC);
	watch(m, m->listener, &m->listener);
	if (m->second > 0)
		watch(m, m->second, &m->second);
}

/* Accepts no more, and terminates the session. */
static void begin_end(struct fxt_manager *m)
{
	fxt_manager_catch_up(m);
	fxt_manager_unlisten(m);
	m->is_ending = true;
	fxt_session_terminate(&m->session);
}

void fxt_manager_end(struct fxt_manager *m)
{
	begin_end(m);
	while (m->session.state != FXT_SESSION_READY)
		fxt_manager_step(m, MOST_WAIT_MS);
	while (m->controllers)
		fxt_controller_end(&m->controllers, m->controllers, &m->session);
	while (m->session.count)
		end(m, m->session.count - 1);
	close(m->epoll);
	free(m->session.clients);
	fxt_heir_end(m->session.heir);
	m->session.heir = NULL;
}

/* Returns whether a signal has come that ends the manager. */
static bool is_to_end(int signals)
{
	struct signalfd_siginfo signal;

	return read(signals, &signal, sizeof(signal)) == sizeof(signal);
}

void fxt_manager_run(struct fxt_manager *m, uint64_t duration_ns)
{
	sigset_t set, before;
	int signals;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &before);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (duration_ns)
		m->end_ns = fxt_now_ns() + duration_ns;
	fxt_manager_raise_limit();
	fxt_manager_begin(m);
	fxt_manager_watch(m, signals);
	while (!is_to_end(signals) && !(m->end_ns && fxt_now_ns() >= m->end_ns))
		fxt_manager_step(m, MOST_WAIT_MS);
	fxt_manager_end(m);
	close(signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
}
