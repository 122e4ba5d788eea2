/* These functions make a manager's socket, and serve all providers in a loop. serve.c is the command. */
#ifndef FXT_TOOLS_MANAGER_H
#define FXT_TOOLS_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "client.h"
#include "trace_session.h"

struct fxt_controller;

struct fxt_manager {
	const char *path;               /* of the socket */
	dev_t device;                   /* of the socket, too */
	ino_t inode;
	int listener, epoll;
	int second;                     /* a listener with an abstract name, or 0: there is none */
	char wakes;                     /* its address stands for descriptors that only end a wait */
	int spare;                      /* is closed to refuse a connection when no descriptor is left */
	struct fxt_session session;
	struct fxt_controller *controllers;     /* a list */
	uint64_t end_ns;                /* CLOCK_MONOTONIC: when the manager ends; 0: by a signal */
	bool is_ending;
	unsigned complaints;            /* providers that have broken the protocol */
	uint64_t refused;               /* connections of other users, or beyond the limit */
};

/* Returns the path of the manager's socket, made absolute: `given`, or that of FXT_MANAGER, or the one in
 * XDG_RUNTIME_DIR. The caller frees it. Returns NULL after a message if there is none. */
char *fxt_manager_path(const char *given);

/* Makes the socket, which only its owner may use. One that a dead manager has left is replaced. Returns false
 * after a message. */
bool fxt_manager_listen(struct fxt_manager *m, const char *path);

/* Makes a socket besides, with an abstract name: it is reached by programs that the path does not lead to,
 * as by one that has changed its user or its root. Everybody can see the name, so such a program has to
 * say a secret, which is random as the name is; `shared` is a descriptor that it gets if it asks for it
 * (-1: there is none). Returns the value for FXT_RUN, which the caller frees, or NULL. */
char *fxt_manager_listen_to_all(struct fxt_manager *m, int shared);

/* Removes the socket and closes it. Does nothing if that has been done. */
void fxt_manager_unlisten(struct fxt_manager *m);

/* Serves until a signal comes (SIGINT, SIGTERM or SIGHUP), for `duration_ns` at most (0: however long). Then
 * terminates the session if there is one, and removes the socket. */
void fxt_manager_run(struct fxt_manager *m, uint64_t duration_ns);

/* These are parts of fxt_manager_run(), for a manager that ends otherwise. fxt_manager_begin() comes first,
 * and fxt_manager_end() terminates the session and frees everything. */
void fxt_manager_begin(struct fxt_manager *m);
void fxt_manager_end(struct fxt_manager *m);

/* Raises the limit of descriptors of this process, and of processes that it starts later, as far as it may.
 * Every provider takes three for a moment, and two from then on. */
void fxt_manager_raise_limit(void);

/* Makes the waiting of fxt_manager_step() end whenever `fd` can be read. */
void fxt_manager_watch(struct fxt_manager *m, int fd);

/* Waits until something happens, for `most_ms` milliseconds at most, and handles it. A signal that has a
 * handler ends the wait. Returns whether anything has happened. */
bool fxt_manager_step(struct fxt_manager *m, int most_ms);

/* Handles what has happened already: forked programs that are over may have left their memory in a connection
 * that was not accepted yet. Programs that go on are not waited for. */
void fxt_manager_catch_up(struct fxt_manager *m);

#endif
