/* Time: CLOCK_BOOTTIME in nanoseconds, read from the processor's counter where the kernel does so itself.
 *
 * Each thread keeps a pair of counter and kernel time and a scale, and asks the kernel again after 10 ms at
 * the latest, so that it never strays from the kernel's clock by more than that time's worth of the kernel's
 * own corrections (500 ppm of 10 ms: 5 microseconds). Until the process is some milliseconds old there is no scale and every
 * reading is the kernel's. Within a thread time increases strictly: a viewer drops one of two slices that
 * begin in the same nanosecond.
 */
#ifndef FXT_CLOCK_H
#define FXT_CLOCK_H

#include "agent.h"

/* Once, at start: whether the counter may be used. */
void fxt_clock_start(void);

/* In the child of a fork. */
void fxt_clock_after_fork(void);

/* Kernel time, by any thread without state. */
uint64_t fxt_clock_kernel_ns(void);

/* Reads kernel time and, where there is one, renews the thread's pair. */
uint64_t fxt_clock_renew(struct fxt_thread *thread);

static inline uint64_t fxt_clock_tick(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t tick;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(tick));
	return tick;
#endif
}

/* The time by the thread's pair, not yet fxt_clock_step()ped. False: the kernel has to be asked. */
static FXT_EMISSION bool fxt_clock_quick(struct fxt_thread *thread, uint64_t *ns)
{
	uint64_t from = thread->clock_tick, elapsed;

	/* The compiler has to load again what a signal handler may have renewed meanwhile. */
	atomic_signal_fence(memory_order_seq_cst);
	elapsed = fxt_clock_tick() - from;
	if (FXT_UNLIKELY(elapsed > thread->clock_limit))
		return false;
	elapsed = thread->clock_ns + (elapsed * thread->clock_scale >> 32);
	/* And here computes it at once, while the pair's parts need no registers. */
	__asm__ volatile("" : "+r"(elapsed) : : "memory");
	*ns = elapsed;
	return FXT_LIKELY(from == thread->clock_tick);
}

/* A time of the thread's, made later than the one before. */
static FXT_EMISSION uint64_t fxt_clock_step(struct fxt_thread *thread, uint64_t ns)
{
	if (FXT_UNLIKELY(ns <= thread->last_ns)) {
		/* Remains a branch for this: it is hardly ever taken, and a conditional move would wait for the last time's store. */
		__asm__("" : "+m"(thread->last_ns));
		ns = thread->last_ns + 1;
	}
	thread->last_ns = ns;
	return ns;
}

/* The same, and what came last before it, if that is not known to be `last_ns`: something of a handler that interrupts this. */
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
		ns = fxt_clock_renew(thread);
	return fxt_clock_step(thread, ns);
}

#endif
