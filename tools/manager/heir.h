/* The heir of a manager: a process of fxt's own that saves what a killed manager would have saved. As long as
 * the manager lives, the heir sleeps. When the manager was killed, programs that live go on in files of their
 * own. What a program has left that is over by then, or that ends before it has noticed, is in its shared
 * memory alone. The heir writes that to a file beside the archive.
 *
 * The heir shares the manager's table of descriptors, so it has what the manager has at the moment at which
 * it is killed: the memories, and also the connections whose messages nobody has read. A forked child that
 * has handed its memory over by such a message, and has ended, is lost without it.
 *
 * The manager calls these functions, from its one thread; without an heir (NULL) they do nothing else than
 * they say. docs/manager.md has the whole.
 */
#ifndef FXT_TOOLS_HEIR_H
#define FXT_TOOLS_HEIR_H

#include <stdbool.h>
#include <sys/types.h>

struct fxt_client;
struct fxt_session;
struct fxt_heir;

/* Makes the heir of a manager that has no connection yet. `socket` is the path of its socket, beside which
 * files are if the archive has no path. The secret of the session is known already. Returns NULL if there can
 * be no heir: everything else works without it. */
struct fxt_heir *fxt_heir_make(const struct fxt_session *session, const char *socket);

/* Ends the heir: the manager ends in peace, and has saved everything. */
void fxt_heir_end(struct fxt_heir *heir);

/* Returns the heir's process, or 0 if there is no heir. */
pid_t fxt_heir_process(void);

/* Says that a session begins or ends, or goes on in another file. */
void fxt_heir_session(struct fxt_heir *heir, const struct fxt_session *session);

/* Notes the memory of a provider that was mapped, whose descriptor is `fd`; it stays the caller's. If it
 * `is_wanted`, it has records of the session already. */
void fxt_heir_gets(struct fxt_heir *heir, struct fxt_client *p, int fd, bool is_wanted);

/* Says that the memory has records of the session from now on. */
void fxt_heir_wants(struct fxt_client *p);

/* Writes down that all that the manager has taken of a provider's memory, since it did so last, is in the
 * archive: at this one moment it becomes what nobody else may save. `is_end`: nothing of it is left. */
void fxt_heir_saved(const struct fxt_session *session, struct fxt_client *p, bool is_end);

/* Notes that the provider has lost its connection, and goes on. */
void fxt_heir_loses_connection(struct fxt_client *p);

/* Forgets the memory of a provider, because all that it has was saved. */
void fxt_heir_forgets(struct fxt_client *p);

/* Is called by whoever reads a directory: waits while an heir writes something there, some seconds at
 * most. */
void fxt_heir_await(const char *directory);

#endif
