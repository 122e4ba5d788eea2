/* The record that ties the clock of a trace to the time of day: a kernel object of type FXT_OBJECT_CLOCK,
 * which stands in the prologue of every trace, as no mode overwrites that. Its arguments are
 *
 *	boottime_ns     a time on the clock of the trace
 *	utc_ns          the same moment in nanoseconds since 1970, UTC
 *	zone_s          by how many seconds local time is ahead of UTC then, unless that is not known
 *	host            the host's name when the program began, unless that is not known
 */
#ifndef FXT_WALL_CLOCK_H
#define FXT_WALL_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Finds the zone and the host's name. Called once, at start. */
void fxt_wall_clock_start(char **environment);

/* Writes the record. `now_ns` is the present time. Returns its size in words, or 0 if it does not fit. */
size_t fxt_wall_clock_put(uint64_t *out, size_t capacity, uint64_t now_ns);

#endif
