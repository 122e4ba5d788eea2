/* A controller: a connection that uses the interface fuchsia.tracing.controller (Provisioner and Session), in
 * JSON. `fxt ctl` is one. manager.c calls these functions, in one thread.
 *
 * Each message is a packet (writer/provider.h) and a JSON object behind it. Calls have FXT_CONTROLLER_CALL:
 *	{"id": 1, "method": "start_tracing", "params": {"buffer_disposition": "RETAIN"}}
 * Answers and events have FXT_CONTROLLER_SAYS:
 *	{"id": 1, "result": {}}
 *	{"id": 1, "error": "ALREADY_STARTED"}
 *	{"event": "on_session_state_change", "state": "STARTED"}
 * The id is what the call had, whatever that was.
 *
 * The methods are get_known_categories, get_providers, initialize_tracing (with the descriptor of a file for
 * the trace), start_tracing, stop_tracing, watch_alert and terminate. Beside the interface's own there are
 * get_state, watch_state, which asks for the events, raise_alert, and save_trace. Members of TraceConfig,
 * StartOptions, StopOptions and of what comes back have the names that the interface gives them, and so have
 * errors. An event also has the `bytes` that the trace has so far: when the state is READY, all of them.
 *
 * save_trace lets others read the trace of a streaming session while it goes on, as fxt top does. It saves
 * what all programs have recorded until then, ten times a second at most: one that comes sooner waits. The
 * answer is
 *	{"path": "/tmp/serve.1.fxt", "bytes": 4096, "records_dropped": 0, "state": "STARTED"}
 * A trace that nobody could read yet is refused with NOT_SUPPORTED and a `message` that says why.
 *
 * One controller has the session at a time. If it is gone, the session is terminated. A bad call of
 * initialize_tracing ends the connection.
 */
#ifndef FXT_TOOLS_CONTROLLER_H
#define FXT_TOOLS_CONTROLLER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace_session.h"

enum {
	FXT_CONTROLLER_CALL = 0x300,
	FXT_CONTROLLER_SAYS = 0x301,
	FXT_CONTROLLER_MOST_BYTES = 128 * 1024, /* of a message */
};

struct fxt_controller {
	struct fxt_controller *next;
	int fd;                         /* the connection */
	bool has_session;
	bool watches;                   /* it wants to be told of each state */
	/* The ids of calls that are answered when the state changes; NULL: there is none. */
	json_t *start_id, *stop_id, *terminate_id;
	json_t *alert_ids, *alerts;     /* calls of watch_alert and alerts, of which at least one is empty */
	json_t *saves;                  /* calls of save_trace that wait: their ids and `parts` */
};

/* Makes a controller of a connection, which it owns from then on, and adds it to the list. */
struct fxt_controller *fxt_controller_new(struct fxt_controller **list, int fd);

/* Reads a call and answers it. Returns false if the connection has to be ended. */
bool fxt_controller_hear(struct fxt_controller *c, struct fxt_session *session);

/* Ends the connection and removes the controller from the list. If it had the session, that is terminated. */
void fxt_controller_end(struct fxt_controller **list, struct fxt_controller *c, struct fxt_session *session);

/* Tells all controllers of a new state of the session, and of an alert. */
void fxt_controllers_state(struct fxt_controller *list, struct fxt_session *session);
void fxt_controllers_alert(struct fxt_controller *list, const char *name);

/* Answers the calls that have waited until everything was saved. */
void fxt_controllers_save(struct fxt_controller *list, struct fxt_session *session);

#endif
