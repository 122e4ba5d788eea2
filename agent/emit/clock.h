/* The clock: CLOCK_BOOTTIME of the host in nanoseconds, read from the processor's counter where the kernel
 * itself uses that counter. Every emission reads it, in any context.
 *
 * Each thread keeps a straight line (struct fxt_clock_line) that leads from the counter to kernel time. A
 * line expires after 10 ms at the latest, so it strays from the kernel's clock by no more than the kernel's
 * own corrections in that time (500 ppm of 10 ms: 5 microseconds). Renewing a line takes some system calls,
 * so it is deferred work (deferred.h), and the other threads take the newest line as it is. The kernel is
 * asked for the time in these cases:
 *
 *	a line has expired and is not renewed yet;
 *	the process is only some milliseconds old, and there is no scale yet;
 *	the process's lines were wrong several times in a row: then the counter is given up;
 *	the thread may not read the counter (PR_SET_TSC): then its line stays expired.
 *
 * Within a thread time increases strictly, because viewers drop one of two slices that begin in the same
 * nanosecond.
 */
#ifndef FXT_CLOCK_H
#define FXT_CLOCK_H

#include "agent/base/agent.h"

/* The number of bits by which a scale (nanoseconds per tick) is shifted. The product of a scale and 32 bits
 * of the counter has to fit into 64 bits. Counters below 4 MHz are not used. */
enum { FXT_CLOCK_SHIFT = 24 };

/* Finds out whether the counter may be used. Called once, at start. */
void fxt_clock_start(void);

/* Called in the child of a fork: frees the lock, which another thread may have held. The child may be in
 * another time namespace. */
void fxt_clock_after_fork(void);

/* Called when the process has entered a namespace by setns(): clock_offset.h. */
void fxt_clock_enters(void);

/* Compares the clock with what the manager says: fxt_clock_offset_compare(). */
void fxt_clock_compare(int64_t host_real_ns);

/* Returns kernel time, as it is on the host. It needs no thread state, and may be called in any context. */
uint64_t fxt_clock_kernel_ns(void);

/* Returns kernel time to a thread whose line is not good now, and asks for the line's renewal as deferred
 * work. It makes no system call where the kernel's clock needs none. It may be called in any context. */
uint64_t fxt_clock_from_kernel(struct fxt_thread *thread);

/* Makes the thread ask the kernel for the time when it next needs it. Any thread may call this. */
static inline void fxt_clock_expire(struct fxt_thread *thread)
{
	*(volatile uint32_t *)&thread->clock.until = 0;
}

/* Renews the thread's line if it has expired. Called as deferred work. */
void fxt_clock_renew_line(struct fxt_thread *thread);

/* Gives a thread that begins the line of another one, if there is one. It makes no system call. */
void fxt_clock_begin_line(struct fxt_thread *thread);

/* Reads the counter as two halves of 32 bits, because x86 delivers it so. */
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

/* Reads the counter. */
static inline uint64_t fxt_clock_tick(void)
{
	uint32_t high;
	uint64_t low;

	fxt_clock_halves(&high, &low);
	return (uint64_t)high << 32 | low;
}

/* Computes the time of a reading of the counter by the thread's line; fxt_clock_step() has not been applied
 * yet. Returns false if the line is not good for the reading: the kernel has to be asked. */
static FXT_EMISSION bool fxt_clock_at(const struct fxt_thread *thread, uint32_t high, uint64_t low,
				      uint64_t *ns)
{
	uint32_t until = thread->clock.until;
	uint64_t at_ns;

	/* A signal handler may renew the line at any point of what follows, so `until` is read at the
	 * beginning and again at the end. */
	atomic_signal_fence(memory_order_seq_cst);
	if (FXT_UNLIKELY(high != thread->clock.high) || FXT_UNLIKELY((uint32_t)low > until))
		return false;
	at_ns = thread->clock.origin_ns + (low * thread->clock.scale >> FXT_CLOCK_SHIFT);
	/* Makes the compiler compute the time at once, so that the line's parts take no registers further
	 * on. */
	__asm__ volatile("" : "+r"(at_ns) : : "memory");
	*ns = at_ns;
	return FXT_LIKELY(until == thread->clock.until);
}

/* Computes the present time by the thread's line. Returns false if the kernel has to be asked. The line of a
 * thread that may not read the counter stays expired, so it does not read it here. */
static FXT_EMISSION bool fxt_clock_quick(const struct fxt_thread *thread, uint64_t *ns)
{
	uint32_t high;
	uint64_t low;

	if (FXT_UNLIKELY(!*(const volatile uint32_t *)&thread->clock.until))
		return false;
	fxt_clock_halves(&high, &low);
	return fxt_clock_at(thread, high, low, ns);
}

/* Returns `ns`, or a later time if the thread has given out one that is not earlier; and notes it as the
 * thread's last time. */
static FXT_EMISSION uint64_t fxt_clock_step(struct fxt_thread *thread, uint64_t ns)
{
	if (FXT_UNLIKELY(ns <= thread->last_ns)) {
		/* This keeps the compiler from making a conditional move of the branch, which is hardly ever
		 * taken: a conditional move would wait for the store of the last time. */
		__asm__("" : "+m"(thread->last_ns));
		ns = thread->last_ns + 1;
	}
	thread->last_ns = ns;
	return ns;
}

/* Does what fxt_clock_step() does; `last_ns` is the thread's last time. If a signal handler has interrupted
 * this and read the clock, sets *before_ns to the time that the handler read last. */
static inline uint64_t fxt_clock_step_after(struct fxt_thread *thread, uint64_t ns, uint64_t last_ns,
					    uint64_t *before_ns)
{
	uint64_t stepped = fxt_clock_step(thread, ns);

	if (FXT_UNLIKELY(stepped != (ns > last_ns ? ns : last_ns + 1)))
		*before_ns = stepped - 1;
	return stepped;
}

/* Returns the present time. It is later than any time that the thread got before. */
static FXT_EMISSION uint64_t fxt_now(struct fxt_thread *thread)
{
	uint64_t ns;

	if (FXT_UNLIKELY(!fxt_clock_quick(thread, &ns)))
		ns = fxt_clock_from_kernel(thread);
	return fxt_clock_step(thread, ns);
}

#endif
