/* The clock of traces: CLOCK_BOOTTIME of the host. In a time namespace this process's own is ahead of it. */
#ifndef FXT_TOOLS_HOST_CLOCK_H
#define FXT_TOOLS_HOST_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Returns how far this process's CLOCK_BOOTTIME is ahead of the host's. Any thread may call this. */
int64_t fxt_host_offset_ns(void);

/* Returns the time of the host. */
uint64_t fxt_host_now_ns(void);

/* Returns by what CLOCK_REALTIME is ahead of the time of the host: a time in a trace and this are
 * nanoseconds since 1970, UTC. */
int64_t fxt_host_real_ns(void);

/* Makes the record that ties the clock of a trace to the time of day, as the agent does
 * (agent/clock/wall_clock.h). Returns its words, or 0 if there is no room for them. */
size_t fxt_host_clock_record(uint64_t *out, size_t capacity);

#endif
