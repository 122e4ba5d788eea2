/* Signals: who sent the one that ended a wait for it, or was read. Whoever sends leaves word in the memory
 * that the run's processes share, in the part that belongs to the process or to the group it is for; whoever
 * waited looks there for one that was sent meanwhile. One that was pending before ended no wait. Of two that
 * it may have been neither is taken. Any context.
 */
#ifndef FXT_SENT_H
#define FXT_SENT_H

#include <signal.h>

#include "flow.h"

enum { FXT_SENT_TO_ALL = -1 };          /* or to nobody knows whom */

/* The calling thread is about to send a signal to `to`, which is as kill() has it: a process, 0 for its own
 * group, or a group's number made negative; to the process's thread `thread` (a tid, a handle) or, that being
 * 0, to any. Returns what to take it back with, should that fail; it may be 0. */
uint64_t fxt_signal_sent(int to, uint64_t thread, int signum);
void fxt_signal_unsent(uint64_t sent);

/* The process that a descriptor stands for, as the kernel tells it; FXT_SENT_TO_ALL where it does not. */
int fxt_signal_pidfd(int pidfd);

/* A wait of the calling thread that began at `start_ns` was ended by this signal. False: it is not known
 * which thread sent it. */
bool fxt_signal_received(const struct fxt_thread *thread, uint64_t start_ns, const siginfo_t *info, struct fxt_cause *cause);

/* A read of a signalfd that began at `start_ns` has taken this signal, which may have been pending for
 * long. */
bool fxt_signal_taken(const struct fxt_thread *thread, uint64_t start_ns, const siginfo_t *info, struct fxt_cause *cause);

/* The same as fxt_signal_received() where a handler of the program ended it, which only knows by what. Known
 * is who of this process sent one; `mask` are the signals that were held back. */
bool fxt_signal_handled(const struct fxt_thread *thread, uint64_t start_ns, const sigset_t *mask, struct fxt_cause *cause);

#endif
