/* The other end of a controller's connection (controller.h): connects to a manager, calls its methods, and
 * receives answers and events. fxt ctl and fxt top use it, in one thread. */
#ifndef FXT_TOOLS_CONTROLLING_H
#define FXT_TOOLS_CONTROLLING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct fxt_controlling {
	int fd;                         /* the connection; -1: there is none */
	json_int_t calls;               /* how many have been made; the last one's id */
};

/* Connects to the manager whose socket is at `path`, however long that is. Returns false with errno. */
bool fxt_controlling_connect(struct fxt_controlling *c, const char *path);

/* Returns a call of the method with the next id, to which parameters can be added. */
json_t *fxt_controlling_call(struct fxt_controlling *c, const char *method);

/* Sends a call, which this releases, with a descriptor unless that is -1. Returns false with errno. */
bool fxt_controlling_send(struct fxt_controlling *c, json_t *call, int fd);

/* Receives an answer or event, for which it waits. Returns NULL at the end of the connection, and when a
 * signal ends the wait. If `text` is not NULL, the object's own text is at *text until the next call. */
json_t *fxt_controlling_receive(struct fxt_controlling *c, const char **text, size_t *bytes);

/* Ends the connection, if there is one. */
void fxt_controlling_end(struct fxt_controlling *c);

#endif
