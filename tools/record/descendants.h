/* The descendants of the command. Some go on when it has ended: daemons, and what a shell has left in the
 * background. Orphans among them become children of fxt record, which so knows when the last one is over. A
 * thread reaps them at once, as an init does.
 */
#ifndef FXT_TOOLS_DESCENDANTS_H
#define FXT_TOOLS_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct fxt_descendants;

struct fxt_descendant {
	pid_t pid;
	char name[16];                  /* as the kernel has it */
	bool has_agent;                 /* the agent's library is mapped, so it may record */
};

/* Makes orphans children of this process from now on. The caller is about to fork the command. */
struct fxt_descendants *fxt_descendants_adopt(void);

/* Begins to reap orphans. The command is reaped by the caller, who then calls fxt_descendants_reaped().
 * Another child of this process is no descendant of the command, and stays (0: there is none). It must have
 * been cloned without a signal, as no descendant is. */
void fxt_descendants_begin(struct fxt_descendants *d, pid_t command, pid_t other);
void fxt_descendants_reaped(struct fxt_descendants *d);

/* Says that somebody wants to leave them: a signal has come that would end a program. It may be called by any
 * thread. */
void fxt_descendants_leave(struct fxt_descendants *d);

/* Returns whether that has been said. */
bool fxt_descendants_are_left(const struct fxt_descendants *d);

/* Returns a descriptor that can be read when that has been said, and when an orphan was reaped. */
int fxt_descendants_fd(const struct fxt_descendants *d);

/* Makes a list of those that live, which the caller frees. Returns how many there are. `agent` is the path of
 * the agent's library. If not *is_whole, there may be more, because other processes of the machine came and
 * went all the while. */
size_t fxt_descendants_list(const struct fxt_descendants *d, struct fxt_descendant **list, const char *agent,
			    bool *is_whole);

#endif
