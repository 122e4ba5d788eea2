/* Which short calls are drawn as samples, each with its stack, and how often. A call has as many units of a
 * Poisson process (poisson.h) as it took nanoseconds, and FXT_CALL_SAMPLE_NS more, so it is drawn by its
 * time and as one of many. A thread counts the units of its calls down (fxt_is_drawn() of emit.h), and a call
 * at which the count falls below zero is drawn. What is counted is the thread's own, and the rate is known
 * before the next call; so estimates from the samples have no bias, however the rate changes. See
 * docs/call-stacks.md. Any context.
 */
#ifndef FXT_CALL_SAMPLES_H
#define FXT_CALL_SAMPLES_H

#include <stdint.h>

#include "agent/base/thread_parts.h"

/* What a call counts beside its duration. With much more, samples would be of the shortest calls alone; with
 * much less, the number of calls that are shorter than a reading of the clock would not be known. */
enum { FXT_CALL_SAMPLE_NS = 256 };

/* Begins for a new thread. `seed` differs from thread to thread. Returns the units until the first call is
 * drawn. */
int64_t fxt_call_samples_begin(struct fxt_call_samples *samples, uint64_t seed);

/* Returns the units until the next call is drawn. Called when a call was drawn that is no sample, because all
 * calls of its kind have a stack, or none has. */
int64_t fxt_call_samples_pass(struct fxt_call_samples *samples);

/* Does the same for a call of `ns` nanoseconds that is a sample: sets samples->stands_for, and the rate from
 * now on. now_ns is the time, and cpu_ns the processor time that the thread has used; 0: it cannot be asked
 * for. */
int64_t fxt_call_samples_take(struct fxt_call_samples *samples, uint64_t ns, uint64_t now_ns,
			      uint64_t cpu_ns);

/* Notes what the last sample has cost. */
void fxt_call_samples_cost(struct fxt_call_samples *samples, uint64_t ns);

#endif
