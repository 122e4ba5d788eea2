/* Recording that begins, is saved or ends while the program runs: by a signal (FXT_SIGNAL), or because
 * something rare happened (FXT_TRIGGER). All of it in the thread it happens to, which waits for the file to
 * be written; any context.
 *
 *	FXT_START=0     nothing is recorded until the signal comes for the first time
 *	signal          circular, oneshot: what the buffer holds is saved to PROGRAM.PID.snapshot.fxt and so on, beside the trace
 *	trigger         the same, or the end of recording; of all the snapshots by triggers FXT_TRIGGER_KEEP stay, those of
 *	                the calls that took longest
 */
#ifndef FXT_CONTROL_H
#define FXT_CONTROL_H

#include "agent/base/agent.h"

enum fxt_recording { FXT_RECORDING, FXT_DORMANT, FXT_STOPPED };

/* Another process has sent the signal. False: this process does not record. */
bool fxt_control_signal(void);

/* A call has met a trigger. */
void fxt_control_trigger(struct fxt_thread *thread, const struct fxt_trigger *trigger, const char *name, size_t bytes,
			 uint64_t ns, int error);

/* In the child of a fork: its snapshots are its own. */
void fxt_control_after_fork(void);

#endif
