/* See wall_clock.h. */
#include "wall_clock.h"

#include <stdbool.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "clock_offset.h"
#include "writer/fxt_encode.h"
#include "writer/sys.h"
#include "zone.h"

static bool has_zone;
static int32_t zone_s;
static char host[sizeof(((struct utsname *)0)->nodename)];

void fxt_wall_clock_start(char **environment)
{
	struct timespec now;
	struct utsname names;

	clock_gettime(CLOCK_REALTIME, &now);
	has_zone = fxt_zone_find(environment, now.tv_sec, &zone_s);
	if (FXT_SYSCALL1(SYS_uname, &names) == 0)
		memcpy(host, names.nodename, sizeof(host));
}

size_t fxt_wall_clock_put(uint64_t *out, size_t capacity, uint64_t now_ns)
{
	struct fxt_arg list[4] = {
		{FXT_ARG_UINT64, FXT_INLINE("boottime_ns", 11), .u64 = now_ns},
		{FXT_ARG_UINT64, FXT_INLINE("utc_ns", 6), .u64 = now_ns + (uint64_t)fxt_clock_real_ns()},
	};
	unsigned count = 2;

	if (has_zone)
		list[count++] = (struct fxt_arg){FXT_ARG_INT32, FXT_INLINE("zone_s", 6), .i32 = zone_s};
	if (*host)
		list[count++] = (struct fxt_arg){FXT_ARG_STRING, FXT_INLINE("host", 4),
						 .string = FXT_INLINE(host, strlen(host))};
	return fxt_encode_kernel_object(out, capacity, FXT_OBJECT_CLOCK, FXT_CLOCK_KOID,
					FXT_INLINE("clock", 5), (struct fxt_args){count, list});
}
