/* Readings of the kernel's clocks in nanoseconds. */
#ifndef FXT_TOOLS_KERNEL_CLOCK_H
#define FXT_TOOLS_KERNEL_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns the time by this clock; 0 if there is no such clock. */
static inline uint64_t fxt_clock_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
