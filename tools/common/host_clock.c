/* See host_clock.h. The offset is read once: fxt enters no other namespace. */
#include "host_clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "kernel_clock.h"
#include "writer/fxt_encode.h"

static int64_t offset_ns;

static void read_offset(void)
{
	FILE *f = fopen("/proc/self/timens_offsets", "re");
	char clock[16];
	int64_t seconds, ns;

	if (!f)
		return;
	while (fscanf(f, "%15s %" SCNd64 " %" SCNd64, clock, &seconds, &ns) == 3)
		if (clock[0] == 'b')
			offset_ns = seconds * 1000000000 + ns;
	fclose(f);
}

int64_t fxt_host_offset_ns(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_offset);
	return offset_ns;
}

uint64_t fxt_host_now_ns(void)
{
	return fxt_clock_ns(CLOCK_BOOTTIME) - (uint64_t)fxt_host_offset_ns();
}

int64_t fxt_host_real_ns(void)
{
	uint64_t before_ns, real_ns, after_ns, least_ns = UINT64_MAX;
	int64_t found_ns = 0;

	/* The closest of some comparisons counts: the thread may be preempted between two readings. */
	for (int i = 0; i < 8; i++) {
		before_ns = fxt_host_now_ns();
		real_ns = fxt_clock_ns(CLOCK_REALTIME);
		after_ns = fxt_host_now_ns();
		if (after_ns - before_ns < least_ns) {
			least_ns = after_ns - before_ns;
			found_ns = (int64_t)(real_ns - before_ns - least_ns / 2);
		}
	}
	return found_ns;
}

size_t fxt_host_clock_record(uint64_t *out, size_t capacity)
{
	uint64_t now_ns = fxt_host_now_ns(), utc_ns = now_ns + (uint64_t)fxt_host_real_ns();
	time_t seconds = (time_t)(utc_ns / 1000000000);
	struct tm local = {0};
	struct utsname own;
	uint32_t count = 3;
	struct fxt_arg list[4] = {
		{FXT_ARG_UINT64, FXT_INLINE("boottime_ns", 11), .u64 = now_ns},
		{FXT_ARG_UINT64, FXT_INLINE("utc_ns", 6), .u64 = utc_ns},
		{FXT_ARG_INT32, FXT_INLINE("zone_s", 6), .i32 = 0}};

	localtime_r(&seconds, &local);
	list[2].i32 = (int32_t)local.tm_gmtoff;
	if (uname(&own) == 0 && *own.nodename)
		list[count++] = (struct fxt_arg){FXT_ARG_STRING, FXT_INLINE("host", 4),
						 .string = FXT_INLINE(own.nodename, strlen(own.nodename))};
	return fxt_encode_kernel_object(out, capacity, FXT_OBJECT_CLOCK, FXT_CLOCK_KOID,
					FXT_INLINE("clock", 5), (struct fxt_args){count, list});
}
