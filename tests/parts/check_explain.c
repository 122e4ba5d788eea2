/* This tests why a call was slow (agent/emit/explain.h): when the kernel is asked, which calls keep its
 * answers, and what follows from them. The file's text is included here, with functions of ours in place of
 * the kernel's; a thread that runs, waits and is preempted at random knows what it did, and whatever is said
 * of a call has to be true of it. FXT_SEED names the choices. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/emit/in_progress.h"
#include "apps/random.h"
#include "part.h"
#include "suite.h"

/* What the thread has used by now. */
static struct {
	uint64_t cpu_ns;
	long voluntary, involuntary;
} used;
static unsigned asks;
static int fails;                       /* the number of the system call that fails */
static uint64_t passes_ns;              /* so much time passes while the kernel is asked first */
static uint64_t becomes_ready_ns;

static long kernel(long number, long what, void *answer)
{
	if (number == fails)
		return -1;
	if (number == SYS_getrusage) {
		struct rusage *usage = answer;

		EXPECT(what == RUSAGE_THREAD);
		asks++;
		memset(usage, 0, sizeof(*usage));
		usage->ru_nvcsw = used.voluntary;
		usage->ru_nivcsw = used.involuntary;
		part_thread.last_ns += passes_ns;
	} else {
		EXPECT(number == SYS_clock_gettime && what == CLOCK_THREAD_CPUTIME_ID);
		*(struct timespec *)answer = (struct timespec){(time_t)(used.cpu_ns / 1000000000u),
							       (long)(used.cpu_ns % 1000000000u)};
	}
	return 0;
}

#undef FXT_SYSCALL2
#define FXT_SYSCALL2(number, what, answer) kernel(number, (long)(what), answer)
#include "agent/emit/explain.c"

void fxt_in_progress_make_ready(struct fxt_thread *thread)
{
	thread->ready = true;
	thread->last_ns += becomes_ready_ns;
}

enum { EXPLAIN = 10 * 1000, NAME = FXT_STR_CALLS + 3, OTHER = NAME + FXT_EXPLAIN_BITS };

#define NAMES(name) fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_io, name)

static void setup(void)
{
	random_seed(0);
	part_setup();
	memset(&used, 0, sizeof(used));
	asks = 0;
	fails = -1;
	passes_ns = becomes_ready_ns = 0;
	part_thread.last_ns = 1000000;
	fxt_agent.config.explain_ns = EXPLAIN;
	fxt_explain_reset(&part_thread);
}

/* Ends a call of that name, and returns what is said of it. */
static const char *explained(uint64_t start_ns, uint64_t end_ns, uint64_t name)
{
	static char text[400];
	uint64_t record[2 + FXT_EXPLAIN_WORDS + 1], *at, words;
	unsigned arguments = 0;

	record[1] = start_ns;
	part_thread.last_ns = end_ns;
	at = fxt_explain_call(&part_thread, record + 2, start_ns, end_ns, NAMES(name), &arguments);
	EXPECT(at <= record + 2 + FXT_EXPLAIN_WORDS);
	*at++ = end_ns;
	words = (uint64_t)(at - record);
	record[0] = fxt_record_words(words) | fxt_complete_header(NAMES(name), arguments) |
		    fxt_event_thread(PART_INDEX);
	part_describe(text, record);
	*strstr(text, " ->") = 0;
	at = NULL;
	return strchr(strchr(text, '@'), ' ') ? strchr(strchr(text, '@'), ' ') + 1 : "";
}

START_TEST(readings_come_when_they_are_due)
{
	struct fxt_usage_window *usage = &part_thread.readings.usage;

	/* At first at once, and then after so long. */
	EXPECT(!part_thread.explain_due_ns);
	used.cpu_ns = UINT64_C(3000000007);
	used.voluntary = 5;
	used.involuntary = 6;
	EXPECT(fxt_explain_begin(&part_thread, NAMES(NAME)) == 1000002 && asks == 1);
	EXPECT(usage->after.at_ns == 1000000 && usage->after.holds_until_ns == 1000002 &&
	       usage->after.asked_ns == 1000001);
	EXPECT(usage->after.cpu_ns == used.cpu_ns && usage->after.voluntary == 5 &&
	       usage->after.involuntary == 6 && !usage->before.at_ns);
	EXPECT(part_thread.explain_due_ns == 1000000 + EXPLAIN);
	part_thread.last_ns = 1000000 + EXPLAIN - 1;
	EXPECT(fxt_explain_begin(&part_thread, NAMES(NAME)) == 1000000 + EXPLAIN - 1 && asks == 1);
	part_thread.last_ns = 1000000 + EXPLAIN;
	EXPECT(fxt_explain_begin(&part_thread, NAMES(NAME)) == 1000000 + EXPLAIN + 2 && asks == 2);
	EXPECT(usage->before.at_ns == 1000000 && usage->after.at_ns == 1000000 + EXPLAIN);
	/* A call that was slow the last time, and not one that shares its bit. */
	part_thread.explain_slow = UINT64_MAX;
	part_thread.readings.names[NAME % FXT_EXPLAIN_BITS] = NAME;
	(void)fxt_explain_begin(&part_thread, NAMES(OTHER));
	EXPECT(asks == 2 && part_thread.explain_slow == UINT64_MAX);
	(void)fxt_explain_begin(&part_thread, NAMES(NAME));
	EXPECT(asks == 3 && part_thread.explain_slow == ~(UINT64_C(1) << NAME % FXT_EXPLAIN_BITS));
	/* Deferred work asks whenever it is done. */
	fxt_explain_read(&part_thread, part_thread.last_ns);
	EXPECT(asks == 4 && part_thread.explain_due_ns == part_thread.last_ns - 1 + EXPLAIN);
}
END_TEST

START_TEST(nobody_is_asked_where_that_costs_the_program)
{
	part_thread.held_top = part_thread.held + 1;
	part_thread.held[0].since_ns = part_thread.last_ns;
	EXPECT(fxt_explain_begin(&part_thread, NAMES(NAME)) == 1000000 && !asks);
	part_thread.held_top = part_thread.held;
	part.stack_is_short = true;
	(void)fxt_explain_begin(&part_thread, NAMES(NAME));
	EXPECT(!asks && part_thread.explain_due_ns == 1000000 + EXPLAIN);
	part.stack_is_short = false;
	/* The child of a vfork has the thread's state and another id. */
	part_thread.own_tid++;
	part_thread.last_ns += EXPLAIN + 10;
	(void)fxt_explain_begin(&part_thread, NAMES(NAME));
	EXPECT(!asks);
	part_thread.own_tid--;
	/* A kernel that does not say. */
	fails = SYS_getrusage;
	fxt_explain_read(&part_thread, 5000000);
	fails = SYS_clock_gettime;
	fxt_explain_read(&part_thread, 5000000);
	EXPECT(!part_thread.readings.usage.after.at_ns);
	fails = -1;
	/* A handler comes while a reading is filed. */
	part_thread.readings.changing = true;
	fxt_explain_read(&part_thread, 6000000);
	EXPECT(!part_thread.readings.usage.after.at_ns);
	ck_assert_str_eq(explained(5900000, 6000000, NAME), "");
	fxt_explain_reset(&part_thread);
	EXPECT(!part_thread.readings.changing && !part_thread.explain_due_ns && !part_thread.explain_slow);
	/* A filter of system calls may kill for one. */
	fxt_filter_begins();
	asks = 0;
	part_thread.explain_due_ns = 0;
	EXPECT(fxt_explain_begin(&part_thread, NAMES(NAME)) == 6000000 && !asks);
	fxt_explain_read(&part_thread, 6000000);
	EXPECT(!asks && part_thread.explain_due_ns == UINT64_MAX);
	ck_assert_str_eq(explained(5900000, 6000000, NAME), "");
	EXPECT(!asks);
	part_thread.explain_due_ns = 1;
	fxt_explain_reset(&part_thread);
	EXPECT(part_thread.explain_due_ns == UINT64_MAX);
	atomic_store(&fxt_agent.filtered, false);
	fxt_agent.config.explain_ns = 0;
	part_thread.explain_due_ns = 1;
	fxt_explain_read(&part_thread, 6000000);
	EXPECT(!asks && part_thread.explain_due_ns == UINT64_MAX);
}
END_TEST

/* The first call of a forked child makes the thread ready, which takes time. */
START_TEST(a_child_begins_here)
{
	becomes_ready_ns = 500;
	part_thread.ready = false;
	EXPECT(fxt_explain_begin(&part_thread, NAMES(NAME)) == 1000503 && part_thread.ready && asks == 1);
	EXPECT(part_thread.readings.usage.after.at_ns == 1000501);
	fxt_agent.config.explain_ns = 0;
	part_thread.ready = false;
	part_thread.explain_due_ns = 7;
	EXPECT(fxt_explain_begin(&part_thread, NAMES(NAME)) == 1001004 && asks == 1);
	EXPECT(part_thread.explain_due_ns == UINT64_MAX);
}
END_TEST

/* A reading during which the thread was preempted is taken again, a few times. */
START_TEST(a_reading_that_took_long_is_taken_again)
{
	passes_ns = 20 * 1000;
	EXPECT(fxt_explain_begin(&part_thread, NAMES(NAME)) == 1000000 + 3 * (20 * 1000 + 2) && asks == 3);
	setup();
	passes_ns = 20 * 1000 - 2;
	EXPECT(fxt_explain_begin(&part_thread, NAMES(NAME)) == 1020000 && asks == 1);
	/* What lies so far before the call says nothing exact of its start. */
	setup();
	passes_ns = 30 * 1000;
	(void)fxt_explain_begin(&part_thread, NAMES(NAME));
	passes_ns = 0;
	used.voluntary = 1;
	used.cpu_ns = 1000;
	ck_assert_str_eq(explained(part_thread.last_ns, part_thread.last_ns + 100000, NAME),
			 "cpu_ns=500u involuntary=0u");
}
END_TEST

START_TEST(an_exact_reading_explains_all)
{
	uint64_t start = fxt_explain_begin(&part_thread, NAMES(NAME));

	used.cpu_ns = 70000;
	used.voluntary = 3;
	used.involuntary = 2;
	ck_assert_str_eq(explained(start, start + 100000, NAME), "cpu_ns=69998u voluntary=3u involuntary=2u");
	/* The reading at its end is filed, and the call's name is noted. */
	EXPECT(part_thread.readings.usage.after.at_ns == start + 100000 &&
	       part_thread.readings.usage.after.cpu_ns == 70000);
	EXPECT(part_thread.explain_slow == UINT64_C(1) << NAME % FXT_EXPLAIN_BITS &&
	       part_thread.readings.names[NAME % FXT_EXPLAIN_BITS] == NAME);
	EXPECT(part_thread.explain_due_ns == start + 100000 + EXPLAIN);
	/* One that was taken before says how often the thread waited only if it has not done so since. */
	used.cpu_ns += 100;
	used.voluntary++;
	ck_assert_str_eq(explained(start + 100000 + 50, start + 300000, OTHER), "cpu_ns=74u involuntary=0u");
	/* Nothing is known of the time since that was long ago. */
	used.cpu_ns += 1000000;
	used.involuntary += 7;
	ck_assert_str_eq(explained(start + 3000000, start + 3100000, OTHER), "voluntary=0u");
}
END_TEST

/* A reading just after the start has the counts of the start. */
START_TEST(a_reading_may_follow_the_start)
{
	uint64_t i, start;

	for (i = 0; i < 2; i++) {
		setup();
		start = part_thread.last_ns;
		used.voluntary = 4;
		used.involuntary = 3;
		used.cpu_ns = 500000;
		fxt_explain_read(&part_thread, start + NEXT_TO_NS + i);
		used.voluntary = 9;
		used.involuntary = 5;
		used.cpu_ns = 580000;
		/* Of the processor time so much may have been used before the reading. */
		ck_assert_str_eq(explained(start, start + 100000, NAME),
				 i ? "cpu_ns=82000u"
				   : "cpu_ns=81999u voluntary=5u involuntary=2u");
	}
}
END_TEST

/* -- Calls in progress --------------------------------------------------------------------------- */

/* Puts an entry for a call that begins now. */
static struct fxt_in_progress *enter(uint64_t start_ns)
{
	struct fxt_in_progress *entry = part_thread.open++;

	entry->frame = 1;
	entry->start_ns = start_ns;
	entry->names = NAMES(NAME);
	return entry;
}

START_TEST(entries_keep_the_readings_around_their_start)
{
	struct fxt_usage_window *windows = part_thread.usage_windows;
	uint64_t i;

	for (i = 1; i <= 6; i++) {
		used.cpu_ns = i;
		fxt_explain_read(&part_thread, i * 1000000);
		enter(i * 1000000 + 500000);
		if (i == 3)
			part_thread.open[-1].names = 0;         /* it is changing */
		enter(i * 1000000 + 600000);
	}
	for (i = 1; i < 6; i++) {
		EXPECT(windows[2 * i - 2].before.cpu_ns == i && windows[2 * i - 2].after.cpu_ns == i + 1);
		EXPECT(windows[2 * i - 1].before.cpu_ns == i && windows[2 * i - 1].after.cpu_ns == i + 1);
	}
	EXPECT(!windows[10].before.cpu_ns && !windows[11].after.cpu_ns);
	/* The one that is removed last says more of a call's start than the last two readings do. */
	part_thread.open -= 10;
	used.cpu_ns = 1000;
	ck_assert_str_eq(explained(2500000, 7000000, NAME), "cpu_ns=997u voluntary=0u involuntary=0u");
	/* Only if it is that call's. */
	for (i = 0; i < 2; i++) {
		setup();
		used.voluntary = 5;
		fxt_explain_read(&part_thread, 1000000);
		enter(1500000);
		fxt_explain_read(&part_thread, 2000000);
		used.voluntary = 9;
		fxt_explain_read(&part_thread, 3000000);
		fxt_explain_read(&part_thread, 4000000);
		used.voluntary = 12;
		part_thread.open--;
		ck_assert_str_eq(explained(1500000 + i, 5000000, NAME),
				 i ? "cpu_ns=0u involuntary=0u" : "cpu_ns=0u voluntary=7u involuntary=0u");
	}
}
END_TEST

/* -- At random ----------------------------------------------------------------------------------- */

static struct {
	uint64_t cpu_ns;
	long voluntary, involuntary;
} at_start;

/* The thread runs, waits or is preempted for a while. Nobody waits for less than NEXT_TO_NS. */
static void pass(uint64_t most_ns)
{
	uint64_t ns = 1 + random_below(most_ns);

	part_thread.last_ns += ns;
	switch (ns < NEXT_TO_NS + 500 ? 0 : random_below(3)) {
	case 0:
		used.cpu_ns += ns;
		break;
	case 1:
		used.cpu_ns += random_below(ns);
		used.voluntary++;
		break;
	default:
		used.cpu_ns += random_below(ns);
		used.involuntary++;
	}
}

/* Returns the number behind `name`, or -1. */
static long said_of(const char *text, const char *name)
{
	const char *found = strstr(text, name);

	return found ? atol(found + strlen(name)) : -1;
}

START_TEST(what_is_said_is_true)
{
	static unsigned said[3], calls;
	uint64_t start, duration;
	const char *text;
	long cpu, count;
	unsigned step;

	for (step = 0; step < 20000; step++) {
		bool has_entry = random_below(2);

		if (random_below(4) == 0)
			fxt_explain_read(&part_thread, fxt_now(&part_thread));
		pass(random_below(2) ? 1500 : 400000);
		start = fxt_now(&part_thread);
		if (start >= part_thread.explain_due_ns ||
		    part_thread.explain_slow & fxt_explain_bit(NAMES(NAME)))
			start = fxt_explain_begin(&part_thread, NAMES(NAME));
		at_start.cpu_ns = used.cpu_ns;
		at_start.voluntary = used.voluntary;
		at_start.involuntary = used.involuntary;
		if (has_entry)
			enter(start);
		do {
			pass(random_below(2) ? 1500 : 300000);
			if (random_below(3) == 0)
				fxt_explain_read(&part_thread, fxt_now(&part_thread));
		} while (random_below(3));
		part_thread.open -= has_entry;
		if (part_thread.last_ns - start < EXPLAIN)
			continue;
		duration = fxt_now(&part_thread) - start;
		text = explained(start, start + duration, NAME);
		calls++;
		cpu = said_of(text, "cpu_ns=");
		if (cpu >= 0) {
			int64_t is = (int64_t)(used.cpu_ns - at_start.cpu_ns);

			said[0]++;
			/* The kernel may look at the time so long after a reading says. */
			ck_assert_msg(llabs(cpu - is) <= (int64_t)duration / 40 + 2100, "%ld of %ld in %ld",
				      cpu, (long)is, (long)duration);
		}
		count = said_of(text, " voluntary=");
		if (count >= 0) {
			said[1]++;
			ck_assert_int_eq(count, used.voluntary - at_start.voluntary);
		}
		count = said_of(text, "involuntary=");
		if (count >= 0) {
			said[2]++;
			ck_assert_int_eq(count, used.involuntary - at_start.involuntary);
		}
	}
	/* Calls whose start is known exactly are more than a few. */
	EXPECT(calls > 5000 && said[0] > calls / 3 && said[1] > calls / 3 && said[2] > calls / 3);
}
END_TEST

int main(void)
{
	TCase *explain = tcase_create("explain");

	tcase_add_checked_fixture(explain, setup, NULL);
	tcase_add_test(explain, readings_come_when_they_are_due);
	tcase_add_test(explain, nobody_is_asked_where_that_costs_the_program);
	tcase_add_test(explain, a_child_begins_here);
	tcase_add_test(explain, a_reading_that_took_long_is_taken_again);
	tcase_add_test(explain, an_exact_reading_explains_all);
	tcase_add_test(explain, a_reading_may_follow_the_start);
	tcase_add_test(explain, entries_keep_the_readings_around_their_start);
	tcase_add_test(explain, what_is_said_is_true);
	return RUN_SUITE("explain", explain);
}
