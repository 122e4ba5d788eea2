/* Says why a call was slow. A call that takes FXT_EXPLAIN_NS or more carries three arguments: the processor
 * time that its thread used within it (cpu_ns), and how often the thread was switched away from within it,
 * because it waited (voluntary) or was preempted (involuntary). See docs/slow-calls.md.
 *
 * The kernel tells the totals of a thread for half a microsecond of system calls, and a call is known to be
 * slow only when it is over. So readings are taken beforehand, where they are cheap by comparison: at the end
 * of each slow call, which needs one anyway; with the deferred work (deferred.h), once in 10 ms; and at the
 * start of a call that can block and does not end with a lock, if the last reading is FXT_EXPLAIN_NS old or
 * the thread's last call of this name was slow.
 * However fast a thread's calls follow each other, that is at most one reading in each
 * FXT_EXPLAIN_NS and one for each slow call: half a percent of the thread's time with the default
 * FXT_EXPLAIN_NS. All other calls pay for two comparisons.
 *
 * A reading that was not taken at the very start of the call bounds the totals at that start: processor time
 * grows no faster than time, and no total falls. Readings that were taken later, within the call, bound them
 * from the other side; so the totals at a function's entry become known by the calls that the function makes.
 * An argument is written if it follows from the bounds, and is left out otherwise: cpu_ns if the bounds are
 * no further apart than a twentieth of the call's duration, the counts if they are exact.
 *
 * No reading is taken while the thread holds a lock (fxt_holds_lock()), because others may be waiting for
 * that lock. So a slow call within a critical section is not explained, and neither is one that ends with a
 * lock, as waiting for a lock or for a condition does. All readings lie outside of the interval that is
 * recorded.
 */
#ifndef FXT_EXPLAIN_H
#define FXT_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/thread_parts.h"

struct fxt_thread;

enum { FXT_EXPLAIN_WORDS = 6 };         /* three arguments at their largest */

/* Forgets all readings: the state belongs to a new thread. */
void fxt_explain_reset(struct fxt_thread *thread);

/* Takes a reading of the calling thread and files it; now_ns is the time. Called where it is known that this
 * is the thread itself, and not the child of a vfork. */
void fxt_explain_read(struct fxt_thread *thread, uint64_t now_ns);

/* Takes a reading at the start of a call, if one is due and the thread holds no lock. `names` has the call's
 * name as an event's header has it. Returns the start of the call, which is after the reading. The first call
 * of a forked child that can block comes here in any case, so this also calls fxt_in_progress_ready(). */
uint64_t fxt_explain_begin(struct fxt_thread *thread, uint64_t names);

/* Takes a reading at the end of a slow call, and adds the arguments that are known to the call's record,
 * whose arguments end before `at`. There is room for FXT_EXPLAIN_WORDS words. Returns where the arguments end
 * then, and adds to *arguments how many were written. The thread holds no lock. */
uint64_t *fxt_explain_call(struct fxt_thread *thread, uint64_t *at, uint64_t start_ns, uint64_t end_ns,
			   uint64_t names, unsigned *arguments);

#endif
