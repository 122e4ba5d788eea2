/* Time: CLOCK_BOOTTIME in nanoseconds, read from the processor's counter where the kernel does so itself.
 *
 * Each thread keeps a straight line (struct fxt_clock_line) from the counter to kernel time, which expires
 * after 10 ms at the latest, so that it never strays from the kernel's clock by more than that time's worth
 * of the kernel's own corrections (500 ppm of 10 ms: 5 microseconds). To renew it takes some system calls, so
 * that is deferred work (deferred.h), and every reading in between is the kernel's, as is each until the
 * process is some milliseconds old and there is a scale, and each of a process in which lines were wrong when
 * they were renewed, time after time: then the counter is no clock any more. Within a thread time increases
 * strictly: a viewer drops one of two slices that begin in the same nanosecond.
 */
#ifndef FXT_CLOCK_H
#define FXT_CLOCK_H

#include "agent/base/agent.h"

/* Of nanoseconds per tick: a product with 32 bits of the counter has to fit 64, and a counter below 4 MHz is
 * not used. */
enum { FXT_CLOCK_SHIFT = 24 };

/* Once, at start: whether the counter may be used. */
void fxt_clock_start(void);

/* In the child of a fork. */
void fxt_clock_after_fork(void);

/* Kernel time, by any thread without state. */
uint64_t fxt_clock_kernel_ns(void);

/* Reads the time where the thread has no line that is good now: returns kernel time, and makes the line's
 * renewal deferred work. It makes no system call where the kernel's clock needs none. Any context. */
uint64_t fxt_clock_from_kernel(struct fxt_thread *thread);

/* Renews the thread's line if it has expired: deferred work. */
void fxt_clock_renew_line(struct fxt_thread *thread);

/* The counter, in two halves of 32 bits: on x86 that is how it comes. */
static FXT_EMISSION void fxt_clock_halves(uint32_t *high, uint64_t *low)
{
#if defined(__x86_64__)
	__asm__ volatile("rdtsc" : "=a"(*low), "=d"(*high) : : "memory");
#else
	uint64_t tick;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(tick) : : "memory");
	*high = (uint32_t)(tick >> 32);
	*low = (uint32_t)tick;
#endif
}

static inline uint64_t fxt_clock_tick(void)
{
	uint32_t high;
	uint64_t low;

	fxt_clock_halves(&high, &low);
	return (uint64_t)high << 32 | low;
}

/* The time of a reading by the thread's line, not yet fxt_clock_step()ped. False: the kernel has to be
 * asked. */
static FXT_EMISSION bool fxt_clock_at(const struct fxt_thread *thread, uint32_t high, uint64_t low, uint64_t *ns)
{
	uint32_t until = thread->clock.until;
	uint64_t at_ns;

	/* A signal handler may renew the line meanwhile: before, between or after these. */
	atomic_signal_fence(memory_order_seq_cst);
	if (FXT_UNLIKELY(high != thread->clock.high) || FXT_UNLIKELY((uint32_t)low > until))
		return false;
	at_ns = thread->clock.origin_ns + (low * thread->clock.scale >> FXT_CLOCK_SHIFT);
	/* The compiler computes it at once, while the line's parts need no registers. */
	__asm__ volatile("" : "+r"(at_ns) : : "memory");
	*ns = at_ns;
	return FXT_LIKELY(until == thread->clock.until);
}

/* The same of now. */
static FXT_EMISSION bool fxt_clock_quick(const struct fxt_thread *thread, uint64_t *ns)
{
	uint32_t high;
	uint64_t low;

	fxt_clock_halves(&high, &low);
	return fxt_clock_at(thread, high, low, ns);
}

/* A time of the thread's, made later than the one before. */
static FXT_EMISSION uint64_t fxt_clock_step(struct fxt_thread *thread, uint64_t ns)
{
	if (FXT_UNLIKELY(ns <= thread->last_ns)) {
		/* Remains a branch for this: it is hardly ever taken, and a conditional move would wait for
		 * the last time's store. */
		__asm__("" : "+m"(thread->last_ns));
		ns = thread->last_ns + 1;
	}
	thread->last_ns = ns;
	return ns;
}

/* Does the same. It sets *before_ns to the time that came last before the one returned where that is not `last_ns`: a
 * handler has interrupted this and read the clock. */
static inline uint64_t fxt_clock_step_after(struct fxt_thread *thread, uint64_t ns, uint64_t last_ns, uint64_t *before_ns)
{
	uint64_t stepped = fxt_clock_step(thread, ns);

	if (FXT_UNLIKELY(stepped != (ns > last_ns ? ns : last_ns + 1)))
		*before_ns = stepped - 1;
	return stepped;
}

static FXT_EMISSION uint64_t fxt_now(struct fxt_thread *thread)
{
	uint64_t ns;

	if (FXT_UNLIKELY(!fxt_clock_quick(thread, &ns)))
		ns = fxt_clock_from_kernel(thread);
	return fxt_clock_step(thread, ns);
}

#endif
