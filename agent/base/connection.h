/* The connection to a manager, which saves this process's buffer: docs/manager.md. The caller of these
 * functions holds file_lock, in any context. */
#ifndef FXT_CONNECTION_H
#define FXT_CONNECTION_H

#include "agent.h"

/* Connects to the manager that fxt_agent.config.manager names, and registers with it. The connection
 * belongs to `buffer` from then on, in which nothing else is yet. Returns 0 if the manager wants to record
 * now: then fxt_connection_make_buffer() is next. Returns -EINPROGRESS if it does not yet, so that the
 * process waits with its gate lent. Returns another negative errno if there is no manager, if it does not
 * answer within a second, or if the connection could not be hidden from the program. */
int fxt_connection_open(struct fxt_buffer *buffer);

/* Makes the buffer in the mode and of the size that the manager wants, and for the categories that it
 * wants: these take the place of what fxt_agent.config had. `config` has the prologue. Returns 0 when the
 * manager has started the trace, or -EAGAIN if it may do so later: the process waits with its gate lent, and
 * may have its buffer. Returns another negative errno if the manager has not said within a second of
 * fxt_connection_open() what it wants, or if the memory could not be made; the connection is closed then. */
int fxt_connection_make_buffer(struct fxt_buffer *buffer, struct fxt_buffer_config *config);

/* Returns whether this process was forked by one that is, or was, connected to a manager, so that the next
 * two functions can be called. */
bool fxt_connection_has_parents(void);

/* Makes the buffer of a forked child, in the session and with the configuration of its parent, connects, and
 * hands the buffer over. It waits for nothing. `config` has the prologue. Returns 0 when the process can
 * record, or a negative errno if there is no manager any more. */
int fxt_connection_fork(struct fxt_buffer *buffer, struct fxt_buffer_config *config);

/* Connects a forked child whose parent waits for its manager; the child waits by the same page then. Returns
 * 0 or a negative errno. */
int fxt_connection_wait_as_child(struct fxt_buffer *buffer);

/* Tells the manager that the process records, after one of the two functions that return when the trace is
 * started has returned 0. The caller has opened the gate: each call that begins after the manager knows of it
 * is recorded or counted. */
void fxt_connection_started(struct fxt_buffer *buffer);

/* Reads what the manager has sent since it stopped the trace, and does it. Returns 0 when the trace is
 * started again, -EAGAIN if it is not yet, or another negative errno if the manager is gone. It waits for
 * a tenth of a second at most, for a START behind an INITIALIZE. */
int fxt_connection_go_on(struct fxt_buffer *buffer);

/* -- run_key.c -- */

/* The way to fxt record for a process that its paths do not lead to: one that has changed its user or its
 * root. FXT_RUN has the name of an abstract socket, and a word that the manager wants to hear from whoever
 * comes by that name, because everybody can see the name. */

/* Reads FXT_RUN. Called at start, before the functions below. */
void fxt_run_key_read(char **environment);

/* Returns whether this process is one of fxt record: FXT_RUN is '-' if there is no manager. */
bool fxt_run_is_run(void);

/* Returns whether there is such a way. */
bool fxt_run_has_key(void);

/* Connects an unconnected socket to fxt record. Returns 0 or a negative errno. */
int fxt_run_connect(int fd);

/* Returns a descriptor of the memory that the processes of the run share (arrows/shared.h), or a negative
 * errno. Called at start. */
int fxt_run_shared(void);

/* Has fxt record print a line. It is lost if that cannot be. Any context. */
void fxt_run_say(const char *line, size_t bytes);

#endif
