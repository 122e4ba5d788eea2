/* What ties the clock of a trace to the time of day: the agent's record of it (agent/clock/wall_clock.h) or
 * an initialization record with a time, as some other writers have it. The first one of a trace counts. */
#ifndef FXT_TOOLS_UTC_TIME_H
#define FXT_TOOLS_UTC_TIME_H

#include "tools/printing/print.h"
#include "tools/reading/reader.h"

struct fxt_wall_clock {
	bool is_known, has_zone;
	bool is_of_agent;               /* a clock object tells it, as only our agent writes one */
	uint64_t real_ns;               /* by so much UTC, since 1970, is ahead of the trace; modulo 2^64 */
	int32_t zone_s;                 /* by so much local time was ahead of UTC */
};

/* Takes any record. */
void fxt_wall_clock_take(struct fxt_wall_clock *w, const struct fxt_reader *r, const struct fxt_record *rec);

/* Finds it in all that a reader of its own reads from the same memory, up to the record that has it. */
void fxt_wall_clock_find(struct fxt_wall_clock *w, const struct fxt_reader *r);

/* Returns a time of the trace as "2026-11-27T02:41:07.123456789Z". Only if the clock is known. */
struct fxt_short fxt_utc(const struct fxt_wall_clock *w, uint64_t ns);

/* Returns the zone as "+01:00". */
struct fxt_short fxt_utc_zone(const struct fxt_wall_clock *w);

struct fxt_json;
/* Prints an object with when the trace began and ended, if the clock is known. */
void fxt_wall_clock_json(const struct fxt_wall_clock *w, struct fxt_json *j, uint64_t first_ns,
			 uint64_t last_ns);

#endif
