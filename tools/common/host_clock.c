/* See host_clock.h. The offset is read once: fxt enters no other namespace. */
#include "host_clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "kernel_clock.h"

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
