/* See wall_clock.h. */
#include "wall_clock.h"

#include <stdbool.h>
#include <time.h>

#include "clock_offset.h"
#include "writer/fxt_encode.h"
#include "zone.h"

static bool has_zone;
static int32_t zone_s;

void fxt_wall_clock_start(char **environment)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	has_zone = fxt_zone_find(environment, now.tv_sec, &zone_s);
}

size_t fxt_wall_clock_put(uint64_t *out, size_t capacity, uint64_t now_ns)
{
	const struct fxt_arg list[] = {
		{FXT_ARG_UINT64, FXT_INLINE("boottime_ns", 11), .u64 = now_ns},
		{FXT_ARG_UINT64, FXT_INLINE("utc_ns", 6), .u64 = now_ns + (uint64_t)fxt_clock_real_ns()},
		{FXT_ARG_INT32, FXT_INLINE("zone_s", 6), .i32 = zone_s},
	};

	return fxt_encode_kernel_object(out, capacity, FXT_OBJECT_CLOCK, FXT_CLOCK_KOID,
					FXT_INLINE("clock", 5), (struct fxt_args){has_zone ? 3 : 2, list});
}
