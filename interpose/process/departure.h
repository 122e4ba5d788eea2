/* Writes what has to be in the trace before a program becomes another one. After an exec that succeeds nobody
 * is left who could say how the call ended; the next program need not be traced, and perhaps cannot be. So
 * the call's event, with what is executed, and the ends of what the calling thread is in are written before
 * the call, and taken back if it returns.
 *
 * The child of a vfork leaves its parent's memory. The calls that its parent is in go on; those that the
 * child has begun itself end.
 *
 * The wrappers of exec in all its forms call this, in any context.
 */
#ifndef FXT_DEPARTURE_H
#define FXT_DEPARTURE_H

#include "agent/emit/in_progress.h"

struct fxt_departure {
	struct fxt_thread *thread;      /* NULL: nothing is recorded */
	bool of_child;                  /* this is the child of a vfork */
	/* The event. */
	struct fxt_lane *lane;          /* NULL: there is none */
	uint64_t *record;
	uint32_t serial;                /* the serial of the lane's chunk */
};

/* Writes the departure; the real call comes next. `names` are the event's. The program is `path`, an argument
 * called `path_name` (a string index), or descriptor `fd` if `path` is NULL or empty. `refusal` says why it
 * will not be traced; NULL: it will be. */
void fxt_departure_begin(struct fxt_departure *departure, const char *refusal, uint64_t names,
			 uint64_t path_name, const char *path, int fd, char *const *argv);

/* Takes the departure back, because the real call has returned. */
void fxt_departure_failed(struct fxt_departure *departure);

#endif
