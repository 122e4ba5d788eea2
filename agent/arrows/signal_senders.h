/* Senders of signals: which thread sent the signal that ended a wait, or that a read of a signalfd got. The
 * sender leaves a note in the memory that the run's processes share, among the entries of the process or of
 * the group that the signal is for. The thread that waited looks there for a note that was left during its
 * wait; a signal that was pending before ended no wait. If two notes may be the right one, neither is
 * taken. Wrappers call this, in any context. */
#ifndef FXT_SIGNAL_SENDERS_H
#define FXT_SIGNAL_SENDERS_H

#include <signal.h>

#include "flow.h"

enum { FXT_SENT_TO_ALL = -1 };          /* the signal is for every process, or it is not known for which */

/* Notes that the calling thread is about to send a signal. `to` is as in kill(): a process, 0 for the
 * caller's own group, or a group's number made negative. `thread` is a thread of that process (a tid or a
 * handle), or 0 for any. Returns what fxt_signal_unsent() takes the note back with if the call fails; it
 * may be 0. */
uint64_t fxt_signal_sent(int to, uint64_t thread, int signum);
void fxt_signal_unsent(uint64_t sent);

/* Returns the process that a descriptor stands for, as the kernel tells it, or FXT_SENT_TO_ALL if the
 * kernel does not. */
int fxt_signal_pidfd(int pidfd);

/* Finds the sender of the signal that ended a wait of the calling thread, which began at `start_ns`.
 * Returns false if it is not known which thread sent the signal. */
bool fxt_signal_received(const struct fxt_thread *thread, uint64_t start_ns, const siginfo_t *info,
			 struct fxt_cause *cause);

/* Finds the sender of a signal that a read of a signalfd got. The read began at `start_ns`; the signal may
 * have been pending for long. Returns false if the sender is not known. */
bool fxt_signal_taken(const struct fxt_thread *thread, uint64_t start_ns, const siginfo_t *info,
		      struct fxt_cause *cause);

/* Finds the sender where a handler of the program got the signal, so that only the kind of the wait's end
 * is known. Only senders within this process are found; `mask` are the signals that were blocked during the
 * wait. Returns false if the sender is not known. */
bool fxt_signal_handled(const struct fxt_thread *thread, uint64_t start_ns, const sigset_t *mask,
			struct fxt_cause *cause);

#endif
