/* The signals that fxt record gets while its command runs. What is sent to fxt record alone is handed on to
 * the command, with its value; what is sent to the whole process group, or to all processes of a unit of
 * systemd, has reached the command already, and a signal of the terminal too. Nothing but SIGKILL and faults
 * ends fxt record, so that what the command leaves is always joined. fxt_run() calls this.
 */
#ifndef FXT_TOOLS_SIGNALS_H
#define FXT_TOOLS_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

struct fxt_descendants;
struct fxt_signals;

/* Returns whether fxt record keeps the signal for itself: those that cannot be caught, those for faults
 * of this process, that of its own child, and those that stop a job, which the command gets from the
 * terminal as this process does. */
bool fxt_signals_is_own(int number);

/* Ignores SIGXFSZ from now on: a file that may not grow any more is one that cannot be written, and no reason
 * to be killed. The child gets the action that was before. */
void fxt_signals_spare(void);

/* Takes all signals, which stay blocked until the child is known, because one that came earlier would be
 * lost. `kept` is handed on to nobody, but `note` is called, in a handler; or it is 0. */
struct fxt_signals *fxt_signals_take(int kept, void (*note)(int number));

/* Gives a child the signal actions and the mask that it would have without fxt. Signals that came meanwhile
 * arrive when the mask is restored. */
void fxt_signals_give_back(const struct fxt_signals *s);

/* Hands signals on to the child from now on; a `child` of -1 means that there is none to come. Whoever
 * wants to end fxt record or its job, by Ctrl-C for instance, also wants to leave the descendants of the
 * command. */
void fxt_signals_hand_on(struct fxt_signals *s, pid_t child, struct fxt_descendants *descendants);

/* Waits until the child has ended, reaps it, and sets its status. No signal can go to another process
 * that has got the child's number. */
void fxt_signals_reap(struct fxt_signals *s, int *status);

#endif
