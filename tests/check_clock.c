/* The clock's lines: what is read from the counter agrees with the kernel's time, and where that cannot be, the counter is given up. The real
 * counter, and a kernel's time that is the test's.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* What the kernel says is computed from the counter, `off_ns` away. */
static int kernel_says(int clock, struct timespec *now);
#define clock_gettime kernel_says
#include "agent/emit/clock.c"
#undef clock_gettime

#include "suite.h"

struct fxt_agent fxt_agent = {.pid = 7};
static struct fxt_thread thread;
static int64_t off_ns;
static uint64_t random_state;
static unsigned asked;                  /* for a renewal */

static int below(unsigned end)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int)((random_state >> 33) % end);
}

/* As a counter of 1 GHz would be: nanoseconds are ticks. */
static int kernel_says(int clock, struct timespec *now)
{
	uint64_t ns = fxt_clock_tick() + (uint64_t)off_ns;

	(void)clock;
	now->tv_sec = (time_t)(ns / 1000000000);
	now->tv_nsec = (long)(ns % 1000000000);
	return 0;
}

long fxt_read_file(const char *path, void *out, size_t bytes)
{
	(void)path, (void)bytes;
	memcpy(out, "tsc", 4);
	return 3;
}

void fxt_sample_renewed(struct fxt_thread *it, uint64_t now_ns)
{
	(void)it, (void)now_ns;
}

/* Until the thread's line has expired, and is renewed. */
static void expire(void)
{
	uint64_t ns;

	while (fxt_clock_quick(&thread, &ns))
		;
	asked++;
	fxt_clock_renew_line(&thread);
}

static void begin(void)
{
	uint64_t begun = fxt_clock_tick();

	memset(&clock_state, 0, sizeof(clock_state));
	memset(&thread, 0, sizeof(thread));
	off_ns = 0;
	fxt_clock_start();
	while (fxt_clock_tick() - begun < 2 * SCALE_MIN_NS)
		;
	expire();
	ck_assert(clock_state.usable);
	ck_assert_uint_ne(thread.clock.scale, 0);
}

/* How far the line is from the kernel's time now; at most, as this may be interrupted. */
static uint64_t distance(void)
{
	uint64_t before = fxt_clock_kernel_ns(), ns, after;

	if (!fxt_clock_quick(&thread, &ns))
		return 0;
	after = fxt_clock_kernel_ns();
	return ns < before ? before - ns : ns > after ? ns - after : 0;
}

/* Small errors are the kernel's own corrections. */
START_TEST(agrees)
{
	unsigned i;

	begin();
	for (i = 0; i < 40; i++) {
		off_ns += below(401) - 200;
		expire();
		ck_assert_uint_lt(distance(), 1000);
	}
	ck_assert(clock_state.usable);
}
END_TEST

/* The machine slept, or was moved: kernel time goes on elsewhere, and so do lines. */
START_TEST(follows_a_leap)
{
	uint64_t ns;
	unsigned i;

	begin();
	for (i = 0; i < STRAYS_MOST - 1; i++) {
		off_ns += (1 + below(1000)) * INT64_C(1000000);
		/* There is a scale only when some time has gone by, and it is known to be right when a line by it has expired. */
		do
			expire();
		while (!fxt_clock_quick(&thread, &ns));
		expire();
		ck_assert_uint_lt(distance(), 1000);
	}
	ck_assert(clock_state.usable);
}
END_TEST

/* As if the thread came to another processor, with another counter, again and again. */
START_TEST(gives_up)
{
	uint64_t ns;

	begin();
	for (asked = 0; clock_state.usable;) {
		ck_assert_uint_lt(asked, 1000000);
		off_ns += (below(2) ? 1 : -1) * (STRAY_NS * INT64_C(2) + below(1000000));
		expire();
	}
	/* What is left of the last line expires, and there is no other. */
	expire();
	ck_assert(!fxt_clock_quick(&thread, &ns));
}
END_TEST

int main(void)
{
	TCase *lines = tcase_create("lines");
	const char *seed = getenv("FXT_SEED");

	random_state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
	printf("FXT_SEED=%llu\n", (unsigned long long)random_state);
	tcase_add_test(lines, agrees);
	tcase_add_test(lines, follows_a_leap);
	tcase_add_test(lines, gives_up);
	return RUN_SUITE("clock", lines);
}
