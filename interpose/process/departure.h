/* Before a program becomes another one. Where that succeeds nobody is left who could say how the call ended; the next program need not be
 * traced, nor even be able to be. So the call's event, with what is executed, and the ends of what the calling thread is in are written
 * before the call, and taken back should it return.
 *
 * The child of a vfork goes from its parent's memory. Its parent's calls go on; those that it has begun itself end.
 *
 * Called by the wrappers of exec in all its forms, in any context.
 */
#ifndef FXT_DEPARTURE_H
#define FXT_DEPARTURE_H

#include "agent/emit/in_progress.h"

struct fxt_departure {
	struct fxt_thread *thread;      /* NULL: nothing is recorded */
	bool of_child;                  /* of a vfork */
	/* The event. */
	struct fxt_lane *lane;          /* NULL: there is none */
	uint64_t *record;
	uint32_t serial;                /* of the lane's chunk */
};

/* The real call comes next. `names` are the event's; the program is `path`, an argument called `path_name` (a string index), or
 * descriptor `fd` where that is NULL or empty. */
void fxt_departure_begin(struct fxt_departure *departure, uint64_t names, uint64_t path_name, const char *path, int fd,
			 char *const *argv);

/* It has returned. */
void fxt_departure_failed(struct fxt_departure *departure);

#endif
