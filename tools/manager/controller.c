/* See controller.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "controller.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"
#include "controller_facts.h"
#include "tools/common/message.h"
#include "trace_config.h"

enum {
	MOST_WAITING = 1000,            /* alerts, and calls that are answered later */
	SEND_BYTES = 4 * FXT_CONTROLLER_MOST_BYTES,
};

/* -- Answers ----------------------------------------------------------------------------------- */

/* Sends an object, and releases it. What the controller does not read in time is lost to it. */
static void say(const struct fxt_controller *c, json_t *object)
{
	struct fxt_packet packet = {.request = FXT_CONTROLLER_SAYS};
	char *text = json_dumps(object, JSON_COMPACT | JSON_ENCODE_ANY);
	struct iovec data[] = {{&packet, sizeof(packet)}, {text, text ? strlen(text) : 0}};
	struct msghdr header = {.msg_iov = data, .msg_iovlen = 2};

	if (text)
		sendmsg(c->fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
	free(text);
	json_decref(object);
}

/* Answers a call, whose id this releases. `member` is "result" or "error". */
static void answer(const struct fxt_controller *c, json_t **id, const char *member, json_t *value)
{
	json_t *object = json_object();

	json_object_set_new(object, "id", *id);
	json_object_set_new(object, member, value);
	*id = NULL;
	say(c, object);
}

static void refuse(const struct fxt_controller *c, json_t **id, const char *error)
{
	answer(c, id, "error", json_string(error));
}

static void succeed(const struct fxt_controller *c, json_t **id)
{
	answer(c, id, "result", json_object());
}

/* Answers a call with an error and the reason for it, which is freed. */
static void refuse_because(const struct fxt_controller *c, json_t **id, const char *error, char *why)
{
	json_t *object = json_object();

	json_object_set_new(object, "id", *id);
	json_object_set_new(object, "error", json_string(error));
	json_object_set_new(object, "message", json_string(why));
	*id = NULL;
	free(why);
	say(c, object);
}

/* Answers a call whose parameters are wrong. `why` is freed. */
static void refuse_params(const struct fxt_controller *c, json_t **id, char *why)
{
	refuse_because(c, id, "BAD_REQUEST", why);
}

/* -- Calls ------------------------------------------------------------------------------------- */

struct call {
	json_t *id;
	const json_t *params;
	int fd;                         /* a descriptor that came along; -1: none */
};

/* Opens the archive for the descriptor that came along. Returns NULL, or what is wrong. */
static char *open_archive(struct fxt_session *session, struct call *call, bool defers)
{
	struct stat status;

	if (call->fd < 0)
		return fxt_strdup("initialize_tracing needs the descriptor of a file for the trace");
	if (fstat(call->fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size ||
	    (fcntl(call->fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return fxt_strdup("the trace needs an empty file that can be written");
	if (!fxt_archive_take(&session->archive, call->fd, defers))
		return fxt_format("no file for the trace: %s", strerror(errno));
	call->fd = -1;
	return NULL;
}

static bool initialize(struct fxt_controller *c, struct fxt_session *session, struct call *call)
{
	struct fxt_trace_config config;
	bool defers;
	char *bad = fxt_trace_config_read(&config, &defers, call->params);

	if (!bad && session->state != FXT_SESSION_READY) {
		bad = fxt_strdup("there is a session already");
		fxt_trace_config_free(&config);
	}
	if (!bad) {
		bad = open_archive(session, call, defers);
		if (bad)
			fxt_trace_config_free(&config);
	}
	if (bad) {
		refuse_params(c, &call->id, bad);
		return false;
	}
	c->has_session = true;
	fxt_session_initialize(session, &config);
	succeed(c, &call->id);
	return true;
}

static void start(struct fxt_controller *c, struct fxt_session *session, struct call *call)
{
	static const char *const errors[] = {NULL, "NOT_INITIALIZED", "ALREADY_STARTED", "STOPPING",
					     "TERMINATING"};
	enum fxt_buffer_disposition disposition;
	enum fxt_start_error error = FXT_START_NOT_INITIALIZED;
	char *categories, *bad = fxt_start_options_read(&disposition, &categories, call->params);

	if (bad) {
		refuse_params(c, &call->id, bad);
		return;
	}
	if (c->has_session) {
		/* It may be answered at once. */
		json_t *before = c->start_id;

		c->start_id = call->id;
		error = fxt_session_start(session, disposition, categories);
		if (error)
			c->start_id = before;
		else
			call->id = NULL;
	}
	if (error)
		refuse(c, &call->id, errors[error]);
	free(categories);
}

static void stop(struct fxt_controller *c, struct fxt_session *session, struct call *call)
{
	static const char *const errors[] = {NULL, "NOT_INITIALIZED", "NOT_STARTED", "ABORTED"};
	enum fxt_stop_error error = FXT_STOP_NOT_INITIALIZED;
	bool writes_results;
	char *bad = fxt_stop_options_read(&writes_results, call->params);

	if (bad) {
		refuse_params(c, &call->id, bad);
		return;
	}
	if (c->has_session) {
		json_t *before = c->stop_id;

		c->stop_id = call->id;
		error = fxt_session_stop(session, writes_results);
		if (error == FXT_STOP_NOT_INITIALIZED || error == FXT_STOP_NOT_STARTED)
			c->stop_id = before;
		else
			call->id = NULL;
	}
	if (call->id)
		refuse(c, &call->id, errors[error]);
}

static void terminate(struct fxt_controller *c, struct fxt_session *session, struct call *call)
{
	if (!c->has_session || c->terminate_id) {
		refuse(c, &call->id, "NOT_INITIALIZED");
		return;
	}
	c->terminate_id = call->id;
	call->id = NULL;
	fxt_session_terminate(session);
}

static void watch_alert(struct fxt_controller *c, struct call *call)
{
	if (!c->has_session) {
		refuse(c, &call->id, "NOT_INITIALIZED");
	} else if (json_array_size(c->alerts)) {
		json_t *name = json_incref(json_array_get(c->alerts, 0));

		json_array_remove(c->alerts, 0);
		answer(c, &call->id, "result", json_pack("{s:o}", "alert_name", name));
	} else if (json_array_size(c->alert_ids) < MOST_WAITING) {
		json_array_append_new(c->alert_ids, call->id);
		call->id = NULL;
	} else {
		refuse_params(c, &call->id, fxt_strdup("there are too many calls of watch_alert"));
	}
}

static void raise_alert(struct fxt_controller *c, struct fxt_session *session, struct call *call)
{
	const char *name = json_string_value(json_object_get(call->params, "alert_name"));

	if (!name || !*name || strlen(name) > 14) {
		refuse_params(c, &call->id, fxt_strdup("alert_name has to be a name of 1 to 14 bytes"));
	} else if (session->state == FXT_SESSION_READY) {
		refuse(c, &call->id, "NOT_INITIALIZED");
	} else {
		fxt_session_alert(session, name);
		succeed(c, &call->id);
	}
}

/* Returns why nobody can read the archive while the session goes on; NULL if that can be done.
 * `takes_parts` says that the caller reads all files of a long run (archive_keep.h). */
static const char *why_unreadable(const struct fxt_session *session, bool takes_parts)
{
	if (session->config.mode != FXT_BUFFERING_STREAMING)
		return "the session is not in streaming mode, so its trace is saved when it stops";
	if (session->archive.is_given)
		return "the trace goes to a file that a controller has opened, so it has no name here";
	if (session->archive.packs)
		return "the trace is compressed, so it cannot be read before it is complete";
	if (session->archive.keep ? session->archive.has_turned && !takes_parts : session->rotate_bytes)
		return "the trace is rotated, so no file has all of it";
	return NULL;
}

/* Answers a call of save_trace. */
static void answer_save(struct fxt_controller *c, struct fxt_session *session, json_t **id, bool takes_parts)
{
	const char *why = why_unreadable(session, takes_parts);
	char *path;
	json_t *text;

	if (session->state == FXT_SESSION_READY) {
		refuse_because(c, id, "NOT_INITIALIZED", fxt_strdup("there is no session"));
		return;
	}
	if (why) {
		refuse_because(c, id, "NOT_SUPPORTED", fxt_strdup(why));
		return;
	}
	path = realpath(session->archive.path, NULL);
	text = path ? json_string(path) : NULL;
	if (text)
		answer(c, id, "result",
		       json_pack("{s:o, s:I, s:I, s:s}", "path", text, "bytes",
				 (json_int_t)session->archive.bytes, "records_dropped",
				 (json_int_t)fxt_session_dropped(session), "state",
				 fxt_session_state_name(session->state)));
	else
		refuse_because(c, id, "NOT_SUPPORTED",
			       fxt_strdup(path ? "the path of the trace is not UTF-8, which JSON needs"
					       : "the trace was moved or removed, so it cannot be found"));
	free(path);
}

static void save_trace(struct fxt_controller *c, struct fxt_session *session, struct call *call)
{
	bool takes_parts = json_is_true(json_object_get(call->params, "parts"));

	if (json_array_size(c->saves) == MOST_WAITING) {
		refuse_params(c, &call->id, fxt_strdup("there are too many calls of save_trace"));
	} else if (session->state == FXT_SESSION_READY || why_unreadable(session, takes_parts) ||
		   fxt_session_save(session)) {
		answer_save(c, session, &call->id, takes_parts);
	} else {
		json_array_append_new(c->saves, json_pack("[o, b]", call->id, takes_parts));
		call->id = NULL;
	}
}

static json_t *state(const struct fxt_session *session)
{
	return json_pack("{s:s}", "state", fxt_session_state_name(session->state));
}

/* Does what a call asks for. Returns false if the connection has to be ended. */
static bool act(struct fxt_controller *c, struct fxt_session *session, const char *method, struct call *call)
{
	if (strcmp(method, "get_known_categories") == 0)
		answer(c, &call->id, "result", fxt_controller_known_categories());
	else if (strcmp(method, "get_providers") == 0)
		answer(c, &call->id, "result", fxt_controller_providers(session));
	else if (strcmp(method, "get_state") == 0)
		answer(c, &call->id, "result", state(session));
	else if (strcmp(method, "initialize_tracing") == 0)
		return initialize(c, session, call);
	else if (strcmp(method, "start_tracing") == 0)
		start(c, session, call);
	else if (strcmp(method, "stop_tracing") == 0)
		stop(c, session, call);
	else if (strcmp(method, "terminate") == 0)
		terminate(c, session, call);
	else if (strcmp(method, "watch_alert") == 0)
		watch_alert(c, call);
	else if (strcmp(method, "raise_alert") == 0)
		raise_alert(c, session, call);
	else if (strcmp(method, "save_trace") == 0)
		save_trace(c, session, call);
	else if (strcmp(method, "watch_state") == 0) {
		c->watches = true;
		answer(c, &call->id, "result", state(session));
	} else {
		refuse_params(c, &call->id, fxt_format("there is no method '%s'", method));
	}
	return true;
}

/* Receives a message. Returns its bytes behind the packet. Returns -1 with errno: EAGAIN if there is none
 * now, otherwise the connection is over. */
static ssize_t receive(const struct fxt_controller *c, char *text, size_t most, int *fd)
{
	struct fxt_packet packet;
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data[] = {{&packet, sizeof(packet)}, {text, most}};
	struct msghdr header = {.msg_iov = data, .msg_iovlen = 2, .msg_control = &control,
				.msg_controllen = sizeof(control)};
	ssize_t bytes = recvmsg(c->fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*fd = bytes >= 0 ? fxt_only_descriptor(&header) : -1;
	if (bytes < 0)
		return -1;
	errno = EPROTO;
	if (bytes < (ssize_t)sizeof(packet) || packet.request != FXT_CONTROLLER_CALL)
		return -1;
	return bytes - (ssize_t)sizeof(packet);
}

bool fxt_controller_hear(struct fxt_controller *c, struct fxt_session *session)
{
	static char text[FXT_CONTROLLER_MOST_BYTES];
	struct call call = {NULL, NULL, -1};
	json_t *object, *params, *id, *none = json_object();
	ssize_t bytes = receive(c, text, sizeof(text), &call.fd);
	const char *method;
	json_error_t error;
	bool goes_on = false;

	object = bytes >= 0 ? json_loadb(text, (size_t)bytes, JSON_REJECT_DUPLICATES, &error) : NULL;
	if (object) {
		method = json_string_value(json_object_get(object, "method"));
		params = json_object_get(object, "params");
		id = json_object_get(object, "id");
		call.id = id ? json_incref(id) : json_null();
		call.params = params ? params : none;
		goes_on = true;
		if (method && json_is_object(call.params))
			goes_on = act(c, session, method, &call);
		else
			refuse_params(c, &call.id,
				      fxt_strdup("a call is an object with \"method\", and \"params\" if it "
						 "has any"));
	} else if (bytes >= 0) {
		id = json_null();
		refuse_params(c, &id, fxt_format("this is no JSON: %s", error.text));
		goes_on = true;
	} else {
		goes_on = errno == EAGAIN || errno == EINTR;
	}
	if (call.fd >= 0)
		close(call.fd);
	json_decref(object);
	json_decref(none);
	return goes_on;
}

/* -- The list ---------------------------------------------------------------------------------- */

struct fxt_controller *fxt_controller_new(struct fxt_controller **list, int fd)
{
	struct fxt_controller *c = fxt_alloc(1, sizeof(*c));
	int bytes = SEND_BYTES;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	c->fd = fd;
	c->alert_ids = json_array();
	c->alerts = json_array();
	c->saves = json_array();
	c->next = *list;
	*list = c;
	return c;
}

void fxt_controller_end(struct fxt_controller **list, struct fxt_controller *c, struct fxt_session *session)
{
	bool has_session = c->has_session;

	while (*list != c)
		list = &(*list)->next;
	*list = c->next;
	close(c->fd);
	json_decref(c->start_id);
	json_decref(c->stop_id);
	json_decref(c->terminate_id);
	json_decref(c->alert_ids);
	json_decref(c->alerts);
	json_decref(c->saves);
	free(c);
	if (has_session)
		fxt_session_terminate(session);
}

/* Answers the calls that have waited for this state. */
static void answer_waiting(struct fxt_controller *c, struct fxt_session *session)
{
	if (c->start_id && session->state != FXT_SESSION_STARTING)
		succeed(c, &c->start_id);
	if (c->stop_id && session->state != FXT_SESSION_STOPPING) {
		if (session->archive.has_failed)
			refuse(c, &c->stop_id, "ABORTED");
		else
			answer(c, &c->stop_id, "result", fxt_controller_stop_result(session));
	}
	if (session->state != FXT_SESSION_READY)
		return;
	c->has_session = false;
	while (json_array_size(c->alert_ids)) {
		json_t *id = json_incref(json_array_get(c->alert_ids, 0));

		json_array_remove(c->alert_ids, 0);
		refuse(c, &id, "NOT_INITIALIZED");
	}
	json_array_clear(c->alerts);
	if (c->terminate_id) {
		const struct fxt_archive *a = &session->archive;

		answer(c, &c->terminate_id, "result",
		       json_pack("{s:I, s:I, s:I, s:I, s:I}", "events", (json_int_t)a->events, "bytes",
				 (json_int_t)a->bytes, "records_dropped",
				 (json_int_t)(session->dropped + a->unwritten), "records_overwritten",
				 (json_int_t)session->overwritten, "providers_not_known",
				 (json_int_t)session->cut_off));
	}
}

void fxt_controllers_save(struct fxt_controller *list, struct fxt_session *session)
{
	for (struct fxt_controller *c = list; c; c = c->next) {
		while (json_array_size(c->saves)) {
			json_t *call = json_incref(json_array_get(c->saves, 0));
			json_t *id = json_incref(json_array_get(call, 0));

			json_array_remove(c->saves, 0);
			answer_save(c, session, &id, json_is_true(json_array_get(call, 1)));
			json_decref(call);
		}
	}
}

void fxt_controllers_state(struct fxt_controller *list, struct fxt_session *session)
{
	for (struct fxt_controller *c = list; c; c = c->next) {
		if (c->watches || c->has_session)
			say(c, json_pack("{s:s, s:s, s:I}", "event", "on_session_state_change", "state",
					 fxt_session_state_name(session->state), "bytes",
					 (json_int_t)session->archive.bytes));
		if (c->has_session)
			answer_waiting(c, session);
	}
	if (session->state == FXT_SESSION_READY)
		fxt_controllers_save(list, session);
}

void fxt_controllers_alert(struct fxt_controller *list, const char *name)
{
	json_t *text = json_string(name), *id;

	for (struct fxt_controller *c = list; c; c = c->next) {
		if (!c->has_session)
			continue;
		if (json_array_size(c->alert_ids)) {
			id = json_incref(json_array_get(c->alert_ids, 0));
			json_array_remove(c->alert_ids, 0);
			answer(c, &id, "result", json_pack("{s:O}", "alert_name", text ? text : json_null()));
		} else if (json_array_size(c->alerts) < MOST_WAITING) {
			json_array_append(c->alerts, text ? text : json_null());
		}
	}
	json_decref(text);
}
