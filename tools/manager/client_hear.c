/* See client.h. Hears what a provider says, and does it. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client_parts.h"
#include "heir.h"
#include "tools/printing/print.h"
#include "writer/buffer.h"

/* Receives a message, or looks at it and leaves it there, as the flags say. Returns its size, 0 at the end of
 * the connection, or -1. *fd is the descriptor that came along, or -1. */
static ssize_t receive(const struct fxt_client *p, void *message, size_t most, int flags, int *fd)
{
	union {
		struct cmsghdr header;
		/* This has room for two descriptors, because it is a multiple of 8 bytes. */
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = {message, most};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				.msg_controllen = sizeof(control)};
	ssize_t bytes = recvmsg(p->fd, &header, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*fd = bytes >= 0 ? fxt_only_descriptor(&header) : -1;
	return bytes;
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
	fxt_client_say_with(p,
			    (struct fxt_packet){FXT_MANAGER_REGISTERED, 0, p->page,
						runs ? FXT_INITIALIZE_FOLLOWS | FXT_START_FOLLOWS : 0},
			    p->token, session->gates.fd);
	if (runs)
		fxt_client_initialize(p, session);
	return NULL;
}

/* Makes the provider one of the session. */
static void enroll(struct fxt_client *p, struct fxt_session *session)
{
	p->id = fxt_session_new_id(session, (uint32_t)p->pid);
	p->budget = (struct fxt_budget){0};
	fxt_heir_wants(p);
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
	bool is_in;

	if (packet->data32 != FXT_PROVIDER_VERSION)
		return "it speaks another version of the protocol";
	if (bytes > FXT_PROVIDER_NAME_BYTES)
		return "its name is too long";
	/* Its parent may be over, and the page another provider's. Nobody can wake it then. */
	if (!fxt_gates_share(&session->gates, page) && !fxt_gates_take(&session->gates, &page))
		return "there are too many, and no page to wake it by";
	p->page = page;
	introduce(p, (uint32_t)packet->data64, text, bytes);
	p->is_known = true;
	inherit_token(p, session);
	if (fd < 0) {
		if (fxt_session_runs(session))
			fxt_client_initialize(p, session);
		return NULL;
	}
	why = fxt_client_map(p, session, fd, 0);
	if (why)
		return why;
	is_in = session->state != FXT_SESSION_READY &&
		((struct fxt_managed_header *)p->memory)->session == session->number;
	fxt_heir_gets(session->heir, p, fd, is_in);
	if (is_in) {
		enroll(p, session);
		fxt_budget_begin(p);
		fxt_client_enter(p, session, FXT_CLIENT_STARTED);
	}
	/* The session was stopped, or another one begun, while the child was made. */
	if (!p->id || !fxt_session_runs(session))
		fxt_client_ask_to_stop(p, session);
	return NULL;
}

/* The provider has memory now that the session may use. */
static const char *hear_initialized(struct fxt_client *p, struct fxt_session *session,
				    const struct fxt_packet *packet, int fd)
{
	uint64_t bytes = packet->data64 & FXT_SESSION_BYTES_MASK;
	uint32_t number = (uint32_t)(packet->data64 >> FXT_SESSION_SHIFT);
	const char *why = NULL;

	if (p->memory ? fd >= 0 || bytes != p->bytes : fd < 0)
		return "it sent another memory, or none";
	if (!p->memory) {
		why = fxt_client_map(p, session, fd, bytes);
		if (!why)
			fxt_heir_gets(session->heir, p, fd, false);
	}
	if (p->asked)
		p->asked--;
	if (number == session->number)
		p->asked = 0;
	/* The answer may be late, to an earlier session; then the one for this session will follow. */
	if (why || session->state == FXT_SESSION_READY || (number ? number != session->number : p->asked > 0))
		return why;
	enroll(p, session);
	fxt_client_count_anew(p);
	/* A request of an earlier session is forgotten, on both sides. */
	p->unanswered.request = 0;
	p->may_repeat = true;
	fxt_memory_begin(p, session);
	fxt_client_clear(p, session, true);
	if (fxt_session_runs(session))
		fxt_client_ask_to_start(p, session, FXT_CLEAR_ENTIRE);
	else
		fxt_client_ask_to_stop(p, session);
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
	case FXT_PROVIDER_INITIALIZED:
		return !packet->reserved && (!bytes || bytes == FXT_PROVIDER_PROOF_BYTES);
	case FXT_PROVIDER_REGISTER:
	case FXT_PROVIDER_KEY:
	case FXT_PROVIDER_FORKED: return !packet->reserved;
	case FXT_PROVIDER_SAVE_BUFFER: return !bytes && !packet->reserved;
	case FXT_PROVIDER_STARTED: return !bytes && !packet->reserved && !packet->data64;
	default: return !bytes && !packet->reserved && !packet->data32 && !packet->data64;
	}
}

/* Returns whether a rolling buffer may be saved without passing the limit of the session. The provider may
 * fill both once more, up to what it was granted, and all of that is saved in the end. */
static bool is_within_limit(const struct fxt_client *p, const struct fxt_session *session)
{
	uint64_t half = p->chunks / 2;

	if (p->grant.chunks && p->grant.chunks < half)
		half = p->grant.chunks;
	return !session->config.most_bytes || !p->id ||
	       p->durable_saved + p->written + 3 * half * FXT_CHUNK_BYTES <= session->config.most_bytes;
}

/* Saves the rolling buffer that the provider has asked to be saved, unless no more of it is to be. */
static void answer_save(struct fxt_client *p, struct fxt_session *session)
{
	struct fxt_packet packet = p->unanswered;

	if (is_within_limit(p, session)) {
		p->unanswered.request = 0;
		fxt_client_serve_save(p, session, &packet);
		return;
	}
	/* The manager still saves what the memory has now when the session ends. */
	fxt_client_say(p, FXT_MANAGER_FULL, 0, session->config.most_bytes, "");
}

static const char *hear_started(struct fxt_client *p, struct fxt_session *session,
				const struct fxt_packet *packet)
{
	if (packet->data32 != FXT_PROVIDER_VERSION) {
		/* Nobody knows what its memory means. */
		p->id = 0;
		return "it speaks another version of the protocol, so its records are ignored";
	}
	p->starts--;
	if (!p->is_known && p->unanswered.request) {
		p->is_known = true;
		answer_save(p, session);
	}
	p->is_known = true;
	if (p->state == FXT_CLIENT_STARTING && !p->starts)
		fxt_client_enter(p, session, FXT_CLIENT_STARTED);
	return NULL;
}

static void hear_stopped(struct fxt_client *p, struct fxt_session *session)
{
	p->stops--;
	if (p->state != FXT_CLIENT_STOPPING || p->stops)
		return;
	/* A child of an earlier session has been told that it is over. */
	if (!p->id) {
		fxt_client_enter(p, session, FXT_CLIENT_WAITING);
		if (fxt_session_runs(session))
			fxt_client_initialize(p, session);
		return;
	}
	fxt_client_enter(p, session, FXT_CLIENT_STOPPED);
	if (p->budget.steps && fxt_session_runs(session)) {
		/* What was recorded before the step is not counted after it. */
		fxt_client_save(p, session, false);
		fxt_client_ask_to_start(p, session, FXT_RETAIN);
	}
	p->budget.steps = false;
}

/* Saves what a streaming provider asks to be saved. Its request may be late: the session may be over, or
 * another one may have begun. A provider records before it says STARTED, so it may have filled a buffer
 * then. */
static const char *hear_save(struct fxt_client *p, struct fxt_session *session,
			     const struct fxt_packet *packet)
{
	uint64_t end = atomic_load_explicit(&((struct fxt_managed_header *)p->memory)->durable_data_end,
					    memory_order_acquire);

	if (p->unanswered.request)
		return "it asked for a buffer to be saved before it had the answer to the last request";
	if (packet->data32 != p->next_wraps && !(p->may_repeat && packet->data32 + 1 == p->next_wraps))
		return "its wrap counts do not follow each other";
	if (packet->data64 > p->durable_bytes || packet->data64 > end || packet->data64 % FXT_WORD_BYTES)
		return "it said a wrong end of its durable area";
	p->next_wraps = packet->data32 + 1;
	p->may_repeat = false;
	p->unanswered = *packet;
	if (p->is_known)
		answer_save(p, session);
	return NULL;
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

/* A program has come by the name that everybody can see. */
static const char *hear_key(struct fxt_client *p, struct fxt_session *session,
			    const struct fxt_packet *packet, const char *text, size_t bytes)
{
	struct fxt_text line = {.text = text + FXT_RUN_SECRET_BYTES,
				.bytes = (uint32_t)bytes - FXT_RUN_SECRET_BYTES};
	char *printable;

	if (!*session->secret || bytes < FXT_RUN_SECRET_BYTES ||
	    memcmp(text, session->secret, FXT_RUN_SECRET_BYTES) != 0)
		return "it does not know the secret of this run";
	p->may_register = true;
	if (packet->data32 == FXT_KEY_SHARED && session->shared >= 0)
		fxt_client_say_with(p, (struct fxt_packet){FXT_MANAGER_SHARED, 0, 0, 0}, "", session->shared);
	if (packet->data32 == FXT_KEY_SAYS) {
		printable = fxt_printable(&line, FXT_PROVIDER_MESSAGE_BYTES, false);
		fprintf(stderr, "%s\n", printable);
		free(printable);
	}
	return NULL;
}

/* Does what a message asks for. Returns NULL, or how it breaks the protocol. */
static const char *act(struct fxt_client *p, struct fxt_session *session, const struct fxt_packet *packet,
		       const char *text, size_t bytes, int fd)
{
	bool is_connected = p->state == FXT_CLIENT_CONNECTED;

	if (!is_well_formed(packet, bytes))
		return "it sent a packet that is malformed";
	if (!p->may_register && packet->request != FXT_PROVIDER_KEY)
		return "it is another user's";
	switch (packet->request) {
	case FXT_PROVIDER_REGISTER:
		if (!is_connected)
			break;
		return hear_register(p, session, packet, text, bytes);
	case FXT_PROVIDER_KEY:
		if (!is_connected || p->may_register)
			break;
		return hear_key(p, session, packet, text, bytes);
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
		return hear_save(p, session, packet);
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
		fxt_client_say(p, FXT_MANAGER_ALL_SAVED, 0, 0, "");
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
	bool is_new = p->state == FXT_CLIENT_CONNECTED && p->may_register;
	ssize_t bytes;
	int fd, same;

	*why = NULL;
	/* A forked child may be over already. So its memory stays in the message until it is noted for the
	 * heir, in case that this process is killed in between. */
	bytes = receive(p, &message, sizeof(message), is_new ? MSG_PEEK : 0, &fd);
	if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (bytes >= (ssize_t)sizeof(message.packet))
		*why = act(p, session, &message.packet, message.text,
			   (size_t)bytes - sizeof(message.packet), fd);
	else if (bytes > 0)
		*why = "it sent a packet that is too short";
	if (fd >= 0)
		close(fd);
	if (bytes > 0 && is_new && receive(p, &message, sizeof(message), 0, &same) > 0 && same >= 0)
		close(same);
	/* A connection that has brought a memory for another one has no more use. */
	return bytes > 0 && !*why && !(is_new && p->state == FXT_CLIENT_CONNECTED);
}
