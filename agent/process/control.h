/* Control of recording while the program runs: a signal (FXT_SIGNAL) begins recording or saves a snapshot,
 * and a trigger (FXT_TRIGGER) saves a snapshot or ends recording. The thread that got the signal, or whose
 * call met the trigger, does this and waits until the file is written. Under a manager it raises an alert
 * instead of saving a snapshot. All functions may be called in any context.
 *
 *	FXT_START=0     nothing is recorded until the signal comes for the first time
 *	signal          circular, oneshot: the buffer is saved beside the trace, to PROGRAM.PID.snapshot.fxt
 *	                and so on
 *	trigger         the buffer is saved likewise, or recording ends; of the snapshots by triggers
 *	                FXT_TRIGGER_KEEP are kept, those of the calls that took longest
 */
#ifndef FXT_CONTROL_H
#define FXT_CONTROL_H

#include "agent/base/agent.h"

/* Does what FXT_SIGNAL asks for: begins recording if the process is dormant, otherwise saves a snapshot.
 * Returns false if the agent is not on in this process. Where a filter forbids to find that out, it does
 * nothing and returns true. */
bool fxt_control_signal(void);

/* Does what a trigger asks for that a call has met: ends recording, or saves a snapshot. `name` is the call's
 * name, of `bytes` bytes; `ns` is how long the call took, and `error` how it failed, or 0. */
void fxt_control_trigger(struct fxt_thread *thread, const struct fxt_trigger *trigger, const char *name,
			 size_t bytes, uint64_t ns, int error);

/* Ends recording until the manager starts it again, because the manager wants no more (-ESHUTDOWN), or goes
 * on in a file, because the manager is gone (-EPIPE). */
void fxt_control_storage_ends(int why);

/* Reads the manager's packets, at most once a millisecond, and obeys them. Called as deferred work. */
void fxt_control_hear(struct fxt_thread *thread, uint64_t now_ns);

/* Called when the gate is lent and a call has found it open: begins recording if the manager says so. */
void fxt_control_woken(void);

/* Called in the child of a fork: forgets the parent's snapshots, which are not the child's to remove. */
void fxt_control_after_fork(void);

#endif
