/* See client.h. Takes one provider through its states. client_hear.c hears what it says, client_memory.c maps
 * its memory, client_save.c saves that, and client_stats.c counts what is in it. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "client_parts.h"
#include "heir.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/common/message.h"

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

void fxt_client_say_with(const struct fxt_client *p, struct fxt_packet packet, const char *text, int fd)
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

void fxt_client_say(const struct fxt_client *p, enum fxt_manager_request request, uint32_t data32,
		    uint64_t data64, const char *text)
{
	fxt_client_say_with(p, (struct fxt_packet){(uint16_t)request, 0, data32, data64}, text, -1);
}

void fxt_client_enter(struct fxt_client *p, struct fxt_session *session, enum fxt_client_state state)
{
	bool wakes = state == FXT_CLIENT_INITIALIZING || state == FXT_CLIENT_STARTING;

	p->state = state;
	if (wakes != p->wakes)
		fxt_gates_wake(&session->gates, p->page, wakes ? 1 : -1);
	p->wakes = wakes;
}

bool fxt_client_outlives(struct fxt_client *p)
{
	if (!p->memory || p->process < 0 ||
	    !atomic_load_explicit(&((struct fxt_managed_header *)p->memory)->outlives_connection,
				  memory_order_acquire))
		return false;
	close(p->fd);
	p->fd = -1;
	fxt_heir_loses_connection(p);
	p->is_mute = true;
	return true;
}

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

void fxt_client_initialize(struct fxt_client *p, struct fxt_session *session)
{
	p->asked++;
	fxt_client_say(p, FXT_MANAGER_INITIALIZE,
		       (uint32_t)session->config.mode | (session->config.waits ? FXT_BUFFERING_WAITS : 0),
		       (uint64_t)session->number << FXT_SESSION_SHIFT |
			       fxt_session_buffer_bytes(session, p->name),
		       fxt_session_categories(session, p->name));
	fxt_client_enter(p, session, FXT_CLIENT_INITIALIZING);
}

void fxt_client_ask_to_stop(struct fxt_client *p, struct fxt_session *session)
{
	p->stops++;
	fxt_client_say(p, FXT_MANAGER_STOP, 0, 0, "");
	fxt_client_enter(p, session, FXT_CLIENT_STOPPING);
}

/* The provider may cost too much: hear_stopped() goes on. */
void fxt_client_serve_save(struct fxt_client *p, struct fxt_session *session,
			   const struct fxt_packet *packet)
{
	fxt_client_save_half(p, session, packet->data32 & 1);
	fxt_client_say(p, FXT_MANAGER_BUFFER_SAVED, packet->data32, packet->data64, "");
	if (session->config.budget && p->id && fxt_budget_is_passed(p, session))
		fxt_client_ask_to_stop(p, session);
}

void fxt_client_ask_to_start(struct fxt_client *p, struct fxt_session *session,
			     enum fxt_buffer_disposition disposition)
{
	char *categories;

	if (p->unanswered.request)
		fxt_client_serve_save(p, session, &p->unanswered);
	p->unanswered.request = 0;
	p->starts++;
	/* What was given up begins with the '-' of FXT_START_LEAVES_OUT. */
	categories = fxt_format("%s%s%s", session->additional ? session->additional : "",
				p->budget.given_up[0] ? " " : "", p->budget.given_up);
	fxt_client_say(p, FXT_MANAGER_START, disposition, session->was_saved, categories);
	free(categories);
	fxt_budget_begin(p);
	fxt_client_enter(p, session, FXT_CLIENT_STARTING);
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
		fxt_client_initialize(p, session);
	} else if (p->id && (p->state == FXT_CLIENT_STOPPED || p->state == FXT_CLIENT_STOPPING)) {
		if (disposition != FXT_RETAIN)
			fxt_client_clear(p, session, false);
		fxt_client_ask_to_start(p, session, disposition);
	}
}

void fxt_client_stop(struct fxt_client *p, struct fxt_session *session)
{
	if (p->state == FXT_CLIENT_STARTED || p->state == FXT_CLIENT_STARTING)
		fxt_client_ask_to_stop(p, session);
}

void fxt_client_terminate(struct fxt_client *p, struct fxt_session *session)
{
	/* One that waits was not initialized in this session, so there is nothing to end. */
	if (p->state == FXT_CLIENT_CONNECTED || p->state == FXT_CLIENT_WAITING)
		return;
	if (p->id) {
		fxt_client_save(p, session, true);
		fxt_client_account(p, session);
	}
	p->id = 0;
	fxt_client_say(p, FXT_MANAGER_TERMINATE, 0, 0, "");
	fxt_client_enter(p, session, FXT_CLIENT_WAITING);
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

/* Returns whether the provider was not started in time, and went on without this manager. */
static bool has_left(const struct fxt_client *p)
{
	return p->memory && atomic_load_explicit(&((struct fxt_managed_header *)p->memory)->leaving,
						 memory_order_acquire) == FXT_HAS_LEFT;
}

void fxt_client_end(struct fxt_client *p, struct fxt_session *session)
{
	p->is_over = true;
	if (has_left(p))
		p->id = 0;
	if (p->state != FXT_CLIENT_CONNECTED) {
		session->cut_off += p->id && !fxt_client_has_begun(p);
		fxt_client_terminate(p, session);
		fxt_gates_give_back(&session->gates, p->page);
	}
	fxt_heir_forgets(p);
	if (p->memory)
		munmap(p->memory, p->bytes);
	if (p->fd >= 0)
		close(p->fd);
	if (p->process >= 0)
		close(p->process);
	fxt_client_texts_free(p);
	free(p->saved);
	free(p);
}
