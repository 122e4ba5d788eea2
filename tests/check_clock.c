/* This tests the lines of agent/emit/clock.c, and how agent/clock/clock_offset.c finds that the process is
 * in a time namespace. Time that is computed from the counter agrees with the kernel's
 * time; where it cannot, the counter is given up. The counter is the real one, and this test makes up the
 * kernel's time. The seed is printed; FXT_SEED=N gives the same random numbers again.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Stands in for clock_gettime(). It computes the kernel's time from the counter, and adds `off_ns`. */
static int kernel_says(int clock, struct timespec *now);
#include "writer/sys.h"
static int link_says(const char *path, char *out, size_t bytes);
#define fxt_sys_readlink link_says
#define clock_gettime kernel_says
#include "agent/clock/clock_offset.c"
#undef fxt_sys_readlink
#include "agent/emit/clock.c"
#undef clock_gettime

#include "suite.h"

struct fxt_agent fxt_agent = {.pid = 7};
struct fxt_gate fxt_gate;
atomic_bool fxt_gate_lent;
static unsigned woken, restarted;       /* how often clock.c has said that the gate is open, and the like */
static struct fxt_thread thread;
static int64_t off_ns;
static int64_t shifted_ns, set_ns;      /* by a namespace; by who sets the time of day */
static const char *namespace;           /* what the links of the time namespaces say; NULL: there are none */
static const char *offsets;             /* what /proc/self/timens_offsets has; NULL: it cannot be read */
_Thread_local struct fxt_thread *fxt_self;
static uint64_t random_state;
static unsigned asked;                  /* how often expire() has renewed the line */

static bool is_counterless;             /* the counter may not be read */

bool fxt_gate_is_counterless(void)
{
	return is_counterless;
}

/* There is enough of the stack here. */
bool fxt_stack_has_less(size_t bytes)
{
	(void)bytes;
	return false;
}

static int below(unsigned end)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int)((random_state >> 33) % end);
}

/* A tick of the counter counts as a nanosecond, as if the counter ran at 1 GHz. */
static int kernel_says(int clock, struct timespec *now)
{
	uint64_t ns = fxt_clock_tick() + (uint64_t)off_ns;

	ns += (uint64_t)(clock == CLOCK_BOOTTIME ? shifted_ns : set_ns);
	now->tv_sec = (time_t)(ns / 1000000000);
	now->tv_nsec = (long)(ns % 1000000000);
	return 0;
}

long fxt_read_file(const char *path, void *out, size_t bytes)
{
	if (!strstr(path, "timens_offsets")) {
		memcpy(out, "tsc", 4);
		return 3;
	}
	if (!offsets)
		return -1;
	snprintf(out, bytes, "%s", offsets);
	return (long)strlen(offsets);
}

/* Says what a link to a time namespace leads to. */
static int link_says(const char *path, char *out, size_t bytes)
{
	ck_assert(strstr(path, "/ns/time") != NULL);
	return namespace ? snprintf(out, bytes, "%s", namespace) : -2 /* ENOENT */;
}

void fxt_sample_renewed(struct fxt_thread *it, uint64_t now_ns)
{
	(void)it, (void)now_ns;
}

void fxt_parts_woken(void)
{
	woken++;
}

void fxt_thread_begins_again(struct fxt_thread *it)
{
	it->starts = atomic_load(&fxt_agent.starts);
	restarted++;
}

/* Waits until the thread's line has expired, and renews it. */
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
	off_ns = shifted_ns = set_ns = 0;
	offsets = NULL;
	namespace = below(2) ? "time:[4026532999]" : NULL;
	fxt_clock_start();
	while (fxt_clock_tick() - begun < 2 * SCALE_MIN_NS)
		;
	/* There is no line yet if this thread was preempted just now, for longer than a line lasts. */
	do
		expire();
	while (clock_state.usable && !thread.clock.scale);
	ck_assert(clock_state.usable);
	ck_assert_uint_ne(thread.clock.scale, 0);
}

/* Returns how far the line is from the kernel's time, at least: the kernel's time is read before and after
 * the line, and this thread may be interrupted in between. */
static uint64_t distance(void)
{
	uint64_t before = fxt_clock_kernel_ns(), ns, after;

	if (!fxt_clock_quick(&thread, &ns))
		return 0;
	after = fxt_clock_kernel_ns();
	return ns < before ? before - ns : ns > after ? ns - after : 0;
}

/* Lines follow the kernel's time while it changes by a little, as it does when the kernel corrects it. */
/* Each time of a thread is later than the one before, and no later than it has to be. A handler may have read
 * the clock since the thread has looked at its last time. */
START_TEST(each_time_is_later)
{
	uint64_t last = 1000, ns, seen, got, right, before;
	int i;

	thread.last_ns = last;
	for (i = 0; i < 100000; i++) {
		ns = last + (uint64_t)below(200) - 100;
		seen = below(4) ? last : last - 1 - (uint64_t)below(50);
		right = ns > last ? ns : last + 1;
		before = 7;
		got = below(2) ? fxt_clock_step(&thread, ns)
			       : fxt_clock_step_after(&thread, ns, seen, &before);
		if (got != right || thread.last_ns != right)
			ck_abort_msg("%llu after %llu became %llu", (unsigned long long)ns,
				     (unsigned long long)last, (unsigned long long)got);
		/* What the handler read last is what stood in the way. */
		if (before != 7 && (before != last || seen == last || ns > last))
			ck_abort_msg("a handler has read %llu", (unsigned long long)before);
		last = right;
	}
}
END_TEST

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

/* Kernel time leaps, as if the machine had slept or had been moved to another host. The lines follow it.
 * There are too few leaps for the counter to be given up. Returns false if it was. */
static bool follows_leaps(void)
{
	uint64_t ns;
	unsigned i;

	begin();
	for (i = 0; i < STRAYS_MOST - 1; i++) {
		off_ns += (1 + below(1000)) * INT64_C(1000000);
		/* After a leap there is no scale until some time has gone by. A scale is known to be right
		 * when a line that was made with it has expired. */
		do
			expire();
		while (clock_state.usable && !fxt_clock_quick(&thread, &ns));
		expire();
		if (!clock_state.usable)
			return false;
		ck_assert_uint_lt(distance(), 1000);
	}
	return true;
}

/* A thread that is preempted while it compares the clocks may take that for a leap, which is one too many. On
 * a busy machine that happens in one of some ten rounds; a clock that gives up too early does so in all. */
START_TEST(follows_a_leap)
{
	enum { ROUNDS = 20 };
	unsigned i;

	for (i = 0; i < ROUNDS && !follows_leaps(); i++)
		;
	ck_assert_uint_lt(i, ROUNDS);
}
END_TEST

/* Kernel time leaps again and again, as if the thread came to other processors with other counters. */
START_TEST(gives_up)
{
	uint64_t ns;

	begin();
	for (asked = 0; clock_state.usable;) {
		ck_assert_uint_lt(asked, 1000000);
		off_ns += (below(2) ? 1 : -1) * (STRAY_NS * INT64_C(2) + below(1000000));
		expire();
	}
	/* The last line expires, and no other line follows it. */
	expire();
	ck_assert(!fxt_clock_quick(&thread, &ns));
}
END_TEST

/* While the gate is lent no line is good, and the first reading after it was opened asks the manager. */
START_TEST(lent_gate)
{
	uint64_t ns;

	begin();
	atomic_store(&fxt_gate_lent, true);
	fxt_clock_expire(&thread);
	ck_assert(!fxt_clock_quick(&thread, &ns));
	fxt_clock_renew_line(&thread);
	ck_assert(!fxt_clock_quick(&thread, &ns));
	woken = restarted = 0;
	fxt_now(&thread);
	ck_assert_uint_eq(woken, 0);
	atomic_store(&fxt_gate.mask, UINT32_MAX);
	fxt_now(&thread);
	ck_assert_uint_eq(woken, 1);
	atomic_store(&fxt_gate_lent, false);
	atomic_fetch_add(&fxt_agent.starts, 1);
	fxt_now(&thread);
	fxt_now(&thread);
	ck_assert_uint_eq(woken, 1);
	ck_assert_uint_eq(restarted, 1);
}
END_TEST

/* Gives the thread a line that is good, and returns whether another thread has got the same by `get`, which
 * may come too late. */
static bool gets_the_same(void (*get)(struct fxt_thread *), struct fxt_thread *other)
{
	uint64_t ns;

	expire();
	memset(other, 0, sizeof(*other));
	get(other);
	return !fxt_clock_quick(&thread, &ns) || !memcmp(&other->clock, &thread.clock, sizeof(thread.clock));
}

/* A thread that begins, or whose line has expired, takes the newest line as it is. It takes none that has
 * expired, none while the gate is lent, and none that was half written at a fork. */
START_TEST(shared_lines)
{
	static struct fxt_thread other;
	uint64_t ns;
	unsigned i;

	begin();
	for (i = 0; i < 40; i++) {
		ck_assert(gets_the_same(fxt_clock_begin_line, &other));
		ck_assert(gets_the_same(fxt_clock_renew_line, &other));
	}
	while (fxt_clock_quick(&thread, &ns))
		;
	memset(&other, 0, sizeof(other));
	fxt_clock_begin_line(&other);
	ck_assert(!fxt_clock_quick(&other, &ns));
	atomic_store(&fxt_gate_lent, true);
	expire();
	fxt_clock_begin_line(&other);
	ck_assert(!fxt_clock_quick(&other, &ns));
	atomic_store(&fxt_gate_lent, false);
	expire();
	atomic_fetch_add(&clock_state.turn, 1);
	memset(&other, 0, sizeof(other));
	fxt_clock_begin_line(&other);
	ck_assert(!fxt_clock_quick(&other, &ns));
	fxt_clock_after_fork();
	fxt_clock_begin_line(&other);
	ck_assert(!fxt_clock_quick(&other, &ns));
	for (i = 0; i < 10; i++)
		ck_assert(gets_the_same(fxt_clock_begin_line, &other));
}
END_TEST

#if defined(__x86_64__)
/* What a clock of the kernel says, by a system call. */
static int64_t asked_ns(clockid_t clock)
{
	struct timespec now;

	ck_assert(!syscall(SYS_clock_gettime, clock, &now));
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A thread for which reading the counter is an error reads it nowhere, whatever is asked of its clock in
 * whatever order: the signal for such a reading would end this test. The kernel tells it the time. Later the
 * counter is used again, unless the scale had to be learnt meanwhile. */
START_TEST(counterless)
{
	int64_t before_ns, after_ns, ns;
	bool has_learnt = false;
	unsigned i;

	begin();
	expire();
	ck_assert(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0));
	is_counterless = true;
	fxt_clock_expire(&thread);
	for (i = 0; i < 300; i++) {
		switch (below(7)) {
		case 0:
			fxt_clock_begin_line(&thread);
			break;
		case 1:
			fxt_clock_renew_line(&thread);
			break;
		case 2:
			if (below(10) == 0) {
				atomic_store(&clock_state.lock.taken, 1);
				has_learnt = true;
			}
			fxt_clock_after_fork();
			break;
		case 3:
			fxt_clock_enters();
			break;
		case 4:
			fxt_now(&thread);
			break;
		case 5:
			fxt_clock_real_ns();
			break;
		default:
			before_ns = asked_ns(CLOCK_BOOTTIME);
			ns = (int64_t)fxt_clock_kernel_ns() + fxt_clock_offset_ns;
			after_ns = asked_ns(CLOCK_BOOTTIME);
			ck_assert_int_ge(ns, before_ns);
			ck_assert_int_le(ns, after_ns);
		}
	}
	is_counterless = false;
	ck_assert(!prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0));
	ck_assert_int_eq(clock_state.usable, !has_learnt);
}
END_TEST
#endif

/* Returns a random offset of a namespace, of a millisecond at least. */
static int64_t some_offset(void)
{
	return (below(2) ? 1 : -1) * (1000000 + (int64_t)below(1000000) * 1000 * below(1000));
}

static uint64_t as_thread(void)
{
	return fxt_clock_from_kernel(&thread);
}

/* Returns how far a time is from that of the host, at least. */
static int64_t from_host(uint64_t (*time_ns)(void))
{
	int64_t before = (int64_t)fxt_clock_tick(), ns = (int64_t)time_ns();
	int64_t after = (int64_t)fxt_clock_tick();

	return ns < before ? before - ns : ns > after ? ns - after : 0;
}

/* The process enters namespaces, and the time of day is set. The time stays that of the host. */
START_TEST(namespaces)
{
	uint64_t ns;
	unsigned i;

	begin();
	for (i = 0; i < 40; i++) {
		if (below(2))
			shifted_ns = some_offset();
		else
			set_ns = some_offset();
		if (below(2))
			fxt_clock_enters();
		else
			fxt_clock_after_fork();
		ck_assert_int_lt(from_host(fxt_clock_kernel_ns), 50000);
		while (fxt_clock_quick(&thread, &ns))
			;
		/* This was not seen: a call by an instruction. */
		if (below(2))
			shifted_ns = some_offset();
		ck_assert_int_lt(from_host(as_thread), 50000);
		expire();
		ck_assert_uint_lt(distance(), 1000);
	}
	ck_assert(clock_state.usable);
}
END_TEST

/* What /proc says counts, to the nanosecond. What another process says counts for one that has no /proc. */
START_TEST(offsets_read)
{
	char text[96];

	begin();
	shifted_ns = some_offset();
	snprintf(text, sizeof(text), "monotonic           7         8\nboottime   %lld %9lld\n",
		 (long long)(shifted_ns / 1000000000 - (shifted_ns < 0)),
		 (long long)(shifted_ns - (shifted_ns / 1000000000 - (shifted_ns < 0)) * 1000000000));
	offsets = text;
	namespace = "time:[4026532999]";
	fxt_clock_enters();
	ck_assert(is_known);
	ck_assert_int_eq(fxt_clock_offset_ns, shifted_ns);
	ck_assert_int_lt(llabs((long long)(fxt_clock_offset_ns - shifted_ns)), 50000);
	is_known = false;
	fxt_clock_offset_ns = 0;
	set_ns = some_offset();
	own_real_ns = compare();
	fxt_clock_compare(set_ns);
	ck_assert_int_lt(llabs((long long)(fxt_clock_offset_ns - shifted_ns)), 50000);
}
END_TEST

/* The first namespace has no offsets, and its file is not read; that of others is. */
START_TEST(first_namespace)
{
	char other[] = "time:[4026531834]";

	begin();
	offsets = "boottime  1  5\n";
	namespace = other;
	fxt_clock_offset_again(true);
	ck_assert(is_known);
	ck_assert_int_eq(fxt_clock_offset_ns, 0);
	other[6 + below(10)] ^= 1;
	fxt_clock_offset_again(true);
	ck_assert(is_known);
	ck_assert_int_eq(fxt_clock_offset_ns, 1000000005);
}
END_TEST

int main(void)
{
	TCase *lines = tcase_create("lines");
	const char *seed = getenv("FXT_SEED");

	random_state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
	printf("FXT_SEED=%llu\n", (unsigned long long)random_state);
	tcase_set_timeout(lines, 60);
	tcase_add_test(lines, each_time_is_later);
	tcase_add_test(lines, agrees);
	tcase_add_test(lines, follows_a_leap);
	tcase_add_test(lines, shared_lines);
	tcase_add_test(lines, lent_gate);
#if defined(__x86_64__)
	tcase_add_test(lines, counterless);
#endif
	tcase_add_test(lines, gives_up);
	tcase_add_test(lines, namespaces);
	tcase_add_test(lines, offsets_read);
	tcase_add_test(lines, first_namespace);
	return RUN_SUITE("clock", lines);
}
