/* Signals: who sent the one that ended a wait for it. Whoever sends leaves word in the memory that the run's
 * processes share, in the part that belongs to the process it is for; whoever waited looks there for one that was
 * sent meanwhile. One that was pending before ended no wait. Of two that it may have been neither is taken. Any
 * context.
 */
#ifndef FXT_SENT_H
#define FXT_SENT_H

#include <signal.h>

#include "flow.h"

/* The calling thread is about to send a signal to process `pid` (0: not to one), to its thread `thread` (a tid, a
 * handle) or, that being 0, to any. Returns what to take it back with, should that fail; it may be 0. */
uint64_t fxt_signal_sent(uint32_t pid, uint64_t thread, int signum);
void fxt_signal_unsent(uint64_t sent);

/* A wait of the calling thread that began at `start_ns` was ended by this signal. False: it is not known which
 * thread sent it. */
bool fxt_signal_received(const struct fxt_thread *thread, uint64_t start_ns, const siginfo_t *info, struct fxt_cause *cause);

/* The same where a handler of the program ended it, which only knows by what. Known is who of this process sent
 * one; `mask` are the signals that were held back. */
bool fxt_signal_handled(const struct fxt_thread *thread, uint64_t start_ns, const sigset_t *mask, struct fxt_cause *cause);

#endif
