/* Why a call was slow: one that takes FXT_EXPLAIN_NS or more carries the processor time its thread used
 * within it (cpu_ns) and how often it was switched away from within it, waiting (voluntary) or preempted
 * (involuntary).
 *
 * The kernel tells totals, for half a microsecond of system calls, and a call that is slow is known to be so
 * only when it is over. So readings are taken beforehand, where they are cheap by comparison: at the end of
 * each slow call, which needs one anyway; with the deferred work (deferred.h), in each 10 ms; and at the
 * start of a call that can block, if the last reading is FXT_EXPLAIN_NS old or the thread's last call of this
 * name was slow. However fast a thread's calls follow each other, that is at most one reading in
 * FXT_EXPLAIN_NS and one for each slow call: half a percent of its time as FXT_EXPLAIN_NS is by default. All
 * others pay for two comparisons.
 *
 * A reading that is not of the call's very start bounds what the totals were then: processor time grows no
 * faster than time, and no total falls. Readings that were taken later, within the call, bound it from the
 * other side; what a function was entered with becomes known by the calls in it. An argument is written if it
 * follows from the bounds, and is left out otherwise: cpu_ns when they are no further apart than a twentieth
 * of the call's duration, the counts when they are exact.
 *
 * None is taken while the thread holds a lock (fxt_holds_lock()): others may be waiting for it. So a slow
 * call within a critical section is not explained, nor one that ends with a lock, as waiting for a lock or
 * for a condition does. All readings lie outside of the interval that is recorded.
 */
#ifndef FXT_EXPLAIN_H
#define FXT_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

struct fxt_thread;

/* A thread's totals, read at at_ns or within some hundred nanoseconds after it. All zero is true of every
 * thread. */
struct fxt_usage {
	uint64_t at_ns, cpu_ns, voluntary, involuntary;
	uint64_t asked_ns;              /* when the kernel was asked for the last of them */
	uint64_t holds_until_ns;        /* the start of the call it was read for; 0: of none */
};

/* Two readings in succession. */
struct fxt_usage_window {
	struct fxt_usage before, after;
};

enum { FXT_EXPLAIN_WORDS = 6 };         /* three arguments at their largest */

/* A thread's state begins a life: nothing has been read of this thread. */
void fxt_explain_reset(struct fxt_thread *thread);

/* Takes a reading; now_ns is the time. Any context. */
void fxt_explain_read(struct fxt_thread *thread, uint64_t now_ns);

/* Takes one at the start of a call named in `names`, as in an event's header, if the thread holds no lock.
 * Returns when the call starts, which is after it. The first call of a forked child that can block comes by
 * here in any case: fxt_open_ready(). */
uint64_t fxt_explain_begin(struct fxt_thread *thread, uint64_t names);

/* Adds what is known to the arguments of a slow call's record, which end before `at`; there is room for
 * FXT_EXPLAIN_WORDS. Returns where they end then. *arguments: how many there are more. The thread holds no
 * lock. */
uint64_t *fxt_explain_call(struct fxt_thread *thread, uint64_t *at, uint64_t start_ns, uint64_t end_ns, uint64_t names,
			   unsigned *arguments);

#endif
