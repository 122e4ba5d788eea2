/* This tests the records that need a look (agent/emit/watched.c): which calls are left out, which are
 * explained, have a stack or meet a trigger, and which of a thread's calls do not nest. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/base/lazy_table.h"
#include "agent/base/parts.h"
#include "agent/emit/call_stack.h"
#include "agent/emit/callers.h"
#include "agent/emit/function.h"
#include "agent/emit/in_progress.h"
#include "agent/stacks/poisson.h"
#include "part.h"
#include "suite.h"

enum { INDEX = FXT_STR_CALLS + 50, EXPLAIN = 1000, STACKS = 500, LONG_CALLS = 1024 };

static bool is_wanted, is_moved;
static unsigned settled, triggered, overtaken, frames_asked;
static char met[200];

bool fxt_callers_want_this(void)
{
	return is_wanted;
}

void fxt_in_progress_settle(struct fxt_thread *thread)
{
	EXPECT(thread == &part_thread);
	settled++;
}

void fxt_thread_overtaken(struct fxt_thread *thread, unsigned events)
{
	EXPECT(thread == &part_thread && events == 1);
	overtaken++;
}

uint64_t fxt_in_progress_start_in_child(const struct fxt_thread *thread, uint64_t end_ns)
{
	EXPECT(thread == &part_thread);
	return end_ns - 7;
}

uint32_t fxt_call_stack_of(struct fxt_thread *thread, unsigned most)
{
	EXPECT(thread == &part_thread);
	frames_asked = most;
	return part.stack;
}

uint64_t *fxt_explain_call(struct fxt_thread *thread, uint64_t *at, uint64_t start_ns, uint64_t end_ns,
			   uint64_t names, unsigned *arguments)
{
	EXPECT(thread == &part_thread && start_ns < end_ns && fxt_get_event_name(names) == INDEX);
	++*arguments;
	if (is_moved)
		fxt_now(thread);
	return fxt_put_uint(at, FXT_STR_cpu_ns, end_ns - start_ns);
}

const char *fxt_function_name_of(uint32_t index, size_t *bytes)
{
	if (index != FXT_STR_CALLS + 2)
		return NULL;
	*bytes = 4;
	return "main_of_all";
}

void fxt_parts_triggered(struct fxt_thread *thread, const struct fxt_trigger *trigger, const char *name,
			 size_t bytes, uint64_t ns, int error)
{
	EXPECT(thread == &part_thread && !thread->lanes->raised_at);
	triggered++;
	snprintf(met, sizeof(met), "%d %.*s %d %d", (int)(trigger - fxt_agent.config.triggers.list),
		 (int)bytes, name, (int)ns, error);
}

void *fxt_lazy_table_make(_Atomic(void *) *table, size_t bytes)
{
	void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	atomic_store(table, made);
	return made;
}

static void setup(void)
{
	unsigned i;

	part_setup();
	for (i = 0; i < FXT_CATEGORY_COUNT; i++)
		fxt_agent.config.stack_ns[i] = UINT64_MAX;
	fxt_agent.config.least_stack_ns = UINT64_MAX;
	fxt_agent.config.triggers.most_ns = INT64_MAX;
	is_wanted = true;
	is_moved = false;
	settled = triggered = overtaken = frames_asked = 0;
	*met = 0;
}

#define NAMES(category, name) fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_##category, name)

/* Records a call of some name that took `ns`, ending now, by the slow way. */
static bool call(uint64_t ns, uint64_t names)
{
	uint64_t end = part_thread.last_ns += ns, start = end - ns;
	uint64_t *at = fxt_room_unusual(&part_thread, start, end, 1, fxt_category_of(names));

	if (!at)
		return false;
	fxt_complete(&part_thread, fxt_put_int(at, FXT_STR_fd, 3), end, names, 1);
	EXPECT(!part_thread.lanes->raised_at);
	return true;
}

START_TEST(a_slow_call_is_explained)
{
	const uint64_t names = NAMES(io, INDEX);

	fxt_agent.config.explain_ns = EXPLAIN;
	EXPECT(call(EXPLAIN - 1, names) && !part_thread.commit);
	SAID("slice io:call50 @1000 fd=3 -> 1999\n");
	EXPECT(call(EXPLAIN, names) && !part_thread.commit && settled == 1);
	SAID("slice io:call50 @1999 fd=3 cpu_ns=1000u -> 2999\n");
	/* Not in a critical section, and not with little stack. */
	part_thread.held_top = part_thread.held + 1;
	part_thread.held[0].since_ns = part_thread.last_ns;
	EXPECT(call(EXPLAIN, names));
	SAID("slice io:call50 @2999 fd=3 -> 3999\n");
	part_thread.held_top = part_thread.held;
	part.stack_is_short = true;
	EXPECT(call(EXPLAIN, names));
	SAID("slice io:call50 @3999 fd=3 -> 4999\n");
	part.stack_is_short = false;
	/* Work comes after it, unless the clock was read since the call ended. */
	EXPECT(part.deferred == 3);
	is_moved = true;
	EXPECT(call(EXPLAIN, names) && part.deferred == 4);
	(void)part_said();
	{
		uint64_t *at = fxt_room_kept(&part_thread, 5000, 6000, 1);

		part_thread.last_ns = 6001;
		fxt_complete(&part_thread, fxt_put_int(at, FXT_STR_fd, 3), 6000, names, 1);
		EXPECT(part.deferred == 4);
	}
	/* The flag of work that was asked for stays. */
	part_thread.commit = FXT_COMMIT_DEFERRED;
	EXPECT(call(EXPLAIN, names));
	EXPECT(part_thread.commit == (FXT_COMMIT_DEFERRED | FXT_COMMIT_WATCHED));
	EXPECT(part_thread.lanes->events == 7);
	/* There is room for the explanation. */
	part_lane(5 + 1 + 6 - 1);
	EXPECT(!call(EXPLAIN, names) && part.lost[FXT_LOSS_ROOM] == 1);
	part_lane(5 + 1 + 6 + 1);
	EXPECT(call(EXPLAIN, names));
}
END_TEST

START_TEST(a_long_call_has_a_stack)
{
	const uint64_t names = NAMES(io, INDEX);

	fxt_agent.config.least_stack_ns = STACKS;
	fxt_agent.config.stack_ns[FXT_BIT_io] = STACKS;
	fxt_agent.config.stack_frames[FXT_BIT_io] = 12;
	part.stack = 4;
	EXPECT(call(STACKS - 1, names) && !settled);
	EXPECT(call(STACKS, names) && frames_asked == 12 && settled == 1);
	SAID("slice io:call50 @1000 fd=3 -> 1499\n"
	     "slice io:call50 @1499 fd=3 stack=0x7fe0000000000004 -> 1999\n");
	/* Of a category that has none. */
	frames_asked = 0;
	EXPECT(call(STACKS, NAMES(net, INDEX)) && !frames_asked);
	SAID("slice net:call50 @1999 fd=3 -> 2499\n");
	/* Of a call that was left. */
	part_thread.left_ns = part_thread.last_ns + STACKS;
	EXPECT(call(STACKS, names) && !frames_asked);
	SAID("slice io:call50 @2499 fd=3 -> 2999\n");
	/* Where none is known; and together with an explanation. */
	part.stack = 0;
	EXPECT(call(STACKS, names) && frames_asked == 12);
	SAID("slice io:call50 @2999 fd=3 -> 3499\n");
	part.stack = 9;
	fxt_agent.config.explain_ns = EXPLAIN;
	EXPECT(call(EXPLAIN, names));
	SAID("slice io:call50 @3499 fd=3 stack=0x7fe0000000000009 cpu_ns=1000u -> 4499\n");
	part_lane(5 + 1 + 2 + 6 - 1);
	EXPECT(!call(EXPLAIN, names));
	part_lane(5 + 1 + 2 + 6 + 1);
	EXPECT(call(EXPLAIN, names));
	/* A category that no table has. */
	part_lane(FXT_CHUNK_WORDS);
	frames_asked = 0;
	{
		uint64_t *at = fxt_room_kept(&part_thread, 9000, 9000 + STACKS, 1);

		fxt_complete(&part_thread, fxt_put_int(at, FXT_STR_fd, 3), 9000 + STACKS,
			     fxt_names_of(FXT_STR_CATEGORIES + FXT_CATEGORY_COUNT, INDEX), 1);
		EXPECT(!frames_asked);
	}
	(void)part_said();
	/* The record has no start: it was begun in the parent of this process. */
	{
		uint64_t *at = fxt_room_kept(&part_thread, 9000, 9000 + STACKS, 1);

		part_thread.lanes->at[1] = 0;
		fxt_complete(&part_thread, fxt_put_int(at, FXT_STR_fd, 3), 9000 + STACKS, names, 1);
		SAID("slice io:call50 @0 fd=3 -> 9500\n");
	}
}
END_TEST

/* Returns for how many calls of `ns` one that is drawn now stands. */
static double stands_for(uint64_t ns)
{
	uint64_t units = ns + FXT_CALL_SAMPLE_NS;

	return (double)fxt_poisson_weight(units, part_thread.samples.rate_ns) / (double)units;
}

START_TEST(a_drawn_call_has_its_stack_and_what_it_stands_for)
{
	const uint64_t names = NAMES(io, INDEX);
	struct fxt_call_samples before;
	char expected[200];

	fxt_agent.config.stacks = true;
	fxt_agent.config.least_stack_ns = STACKS;
	fxt_agent.config.stack_ns[FXT_BIT_io] = STACKS;
	fxt_agent.config.stack_frames[FXT_BIT_io] = 12;
	part.stack = 4;
	/* The first call of a thread only begins to count. */
	part_thread.until_sample = -1;
	EXPECT(call(10, names) && part_thread.until_sample > 0 && part_thread.samples.random && !settled);
	SAID("slice io:call50 @1000 fd=3 -> 1010\n");
	snprintf(expected, sizeof(expected),
		 "slice io:call50 @1010 fd=3 stack=0x7fe0000000000004 stands_for=%.3f -> 1020\n",
		 stands_for(10));
	part_thread.until_sample = -1;
	EXPECT(call(10, names) && part_thread.until_sample > 0 && frames_asked == 12 && settled == 1);
	EXPECT(!part_thread.samples.end_ns && !(part_thread.commit & FXT_COMMIT_WATCHED));
	SAID(expected);
	/* The next one is not drawn. The cost of a sample is found by the clock. */
	frames_asked = 0;
	part_thread.last_ns = 1020;
	EXPECT(call(10, names) && !frames_asked);
	SAID("slice io:call50 @1020 fd=3 -> 1030\n");
	/* Where no stack is known. */
	part.stack = 0;
	snprintf(expected, sizeof(expected), "slice io:call50 @1030 fd=3 stands_for=%.3f -> 1040\n",
		 stands_for(10));
	part_thread.until_sample = -1;
	EXPECT(call(10, names));
	SAID(expected);
	part.stack = 4;
	part_thread.last_ns = 1040;
	/* A long call has a stack anyway, and one of a category without stacks has none: neither changes the
	 * rate. */
	before = part_thread.samples;
	part_thread.until_sample = -1;
	EXPECT(call(STACKS, names) && part_thread.until_sample >= 0);
	part_thread.until_sample = -1;
	EXPECT(call(10, NAMES(net, INDEX)) && part_thread.until_sample >= 0);
	SAID("slice io:call50 @1040 fd=3 stack=0x7fe0000000000004 -> 1540\n"
	     "slice net:call50 @1540 fd=3 -> 1550\n");
	EXPECT(part_thread.samples.rate_ns == before.rate_ns && part_thread.samples.at_ns == before.at_ns);
	/* There is room for what a sample has. */
	part_thread.until_sample = -1;
	part_lane(5 + 1 + 4 - 1);
	EXPECT(!call(10, names));
	part_thread.samples.end_ns = 0;
	part_thread.commit = 0;
	part_thread.until_sample = -1;
	part_lane(5 + 1 + 4 + 1);
	EXPECT(call(10, names));
	(void)part_said();
	/* Without stacks nothing is ever drawn again. */
	part_lane(FXT_CHUNK_WORDS);
	fxt_agent.config.stacks = false;
	part_thread.until_sample = -1;
	EXPECT(call(10, names) && part_thread.until_sample == INT64_MAX);
}
END_TEST

START_TEST(other_events_are_committed_as_they_are)
{
	uint64_t *at = fxt_reserve(&part_thread, 1000, 2);

	part_thread.commit = FXT_COMMIT_WATCHED;
	fxt_agent.config.explain_ns = 1;
	fxt_instant(&part_thread, fxt_put_int(at, FXT_STR_fd, 3), NAMES(io, INDEX), 1);
	SAID("instant io:call50 @1000 fd=3\n");
	EXPECT(settled == 1 && part_thread.commit == FXT_COMMIT_WATCHED && part_thread.lanes->events == 1);
	/* A lane that was taken away meanwhile. */
	at = fxt_reserve(&part_thread, 1000, 2);
	fxt_lane_leave(part_thread.lanes);
	part_thread.lanes->raised_at = 0;
	at = fxt_put_int(at, FXT_STR_fd, 3);
	*at++ = 2000;
	fxt_commit_watched(&part_thread, at, fxt_complete_header(NAMES(io, INDEX), 1));
	EXPECT(overtaken == 1 && settled == 2);
}
END_TEST

START_TEST(short_and_unwanted_calls_are_left_out)
{
	uint64_t filtered = 0;

	part_thread.counts.filtered = &filtered;
	fxt_agent.config.threshold_ns[FXT_BIT_io] = 300;
	EXPECT(!call(299, NAMES(io, INDEX)) && filtered == 1 && settled == 1 && part.deferred == 1);
	EXPECT(!part_thread.lanes->raised_at);
	EXPECT(call(300, NAMES(io, INDEX)) && call(3, NAMES(net, INDEX)));
	/* Calls that other code has made; functions have a filter of their own. */
	is_wanted = false;
	EXPECT(call(300, NAMES(io, INDEX)) && filtered == 1);
	fxt_agent.config.filters_callers = true;
	EXPECT(!call(300, NAMES(io, INDEX)) && filtered == 2);
	EXPECT(call(300, NAMES(function, INDEX)) && call(300, NAMES(plt, INDEX)) && filtered == 2);
	is_wanted = true;
	EXPECT(call(300, NAMES(io, INDEX)));
	/* Whoever made a call that was left is not known. */
	is_wanted = false;
	EXPECT(fxt_room_left(&part_thread, 5000, 5300, 1, FXT_BIT_io));
}
END_TEST

START_TEST(a_call_of_the_parent_begins_with_the_child)
{
	part_thread.born_ns = 3000;
	part_thread.last_ns = 3500;
	EXPECT(call(500, NAMES(io, INDEX)) && part_thread.last_ns == 4000);
	part_thread.last_ns = 2900;
	EXPECT(call(500, NAMES(io, INDEX)));
	part_thread.last_ns = 3000;
	EXPECT(call(500, NAMES(io, INDEX)));
	SAID("slice io:call50 @3500 fd=3 -> 4000\n"
	     "slice io:call50 @3393 fd=3 -> 3400\n"
	     "slice io:call50 @3000 fd=3 -> 3500\n");
}
END_TEST

/* -- Failures ------------------------------------------------------------------------------------ */

START_TEST(a_first_failure_has_a_stack)
{
	fxt_agent.config.stacks = true;
	fxt_watch_first_failure(&part_thread, 11, 13);
	EXPECT(part_thread.commit == FXT_COMMIT_WATCHED && fxt_failures[1] == 1 << 5);
	EXPECT(call(10, NAMES(io, INDEX)) && !part_thread.commit && !part_thread.first_errno);
	SAID("slice io:call50 @1000 fd=3 -> 1010\n"
	     "instant agent:failed @1011 errno=11\n");
	EXPECT(call(10, NAMES(io, INDEX)));
	SAID("slice io:call50 @1011 fd=3 -> 1021\n");
	fxt_agent.config.stacks = false;
	fxt_watch_first_failure(&part_thread, 11, 8);
	EXPECT(!part_thread.commit && !part_thread.first_errno && fxt_failures[1] == (1 << 5 | 1));
	fxt_failures_again();
	EXPECT(!fxt_failures[1]);
	/* What nobody has marked is not written to. */
	fxt_failures[1] = 3;
	fxt_failures_again();
	EXPECT(fxt_failures[1] == 3);
}
END_TEST

/* -- Triggers ------------------------------------------------------------------------------------ */

static const char *const call_list[] = {"fread", "freadx"};

static void add_trigger(const char *name, bool is_prefix, enum fxt_trigger_test test, uint64_t value)
{
	struct fxt_trigger_list *triggers = &fxt_agent.config.triggers;
	struct fxt_trigger *added = &triggers->list[triggers->count++];

	strcpy(added->name, name);
	added->is_prefix = is_prefix;
	added->test = test;
	added->value = value;
}

/* Returns what the trigger said that a call met: FXT_STR_CALLS + 0 and so on are the names above. */
static const char *meets(unsigned index, uint64_t ns, int error)
{
	*met = 0;
	if (error)
		fxt_watch_failure(&part_thread, error);
	EXPECT(call(ns, NAMES(io, FXT_STR_CALLS + index)));
	EXPECT(!part_thread.watched_errno && !part_thread.commit);
	return met;
}

START_TEST(a_call_meets_a_trigger)
{
	static const struct {
		enum fxt_trigger_test test;
		bool met[3];            /* at one less than the value, at it, and at one more */
	} tests[] = {{FXT_LONGER, {false, false, true}},
		     {FXT_AT_LEAST, {false, true, true}},
		     {FXT_SHORTER, {true, false, false}},
		     {FXT_AT_MOST, {true, true, false}},
		     {FXT_FAILED_WITH, {false, false, false}},
		     {FXT_FAILED_OTHERWISE, {false, false, false}}};
	unsigned i, n;

	fxt_agent.calls.list = call_list;
	fxt_agent.calls.count = 2;
	fxt_agent.config.triggers.most_ns = 0;
	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		fxt_agent.config.triggers.count = 0;
		add_trigger("fread", false, tests[i].test, 50);
		for (n = 0; n < 3; n++)
			EXPECT((*meets(0, 49 + n, 0) != 0) == tests[i].met[n]);
	}
	/* Other errors than the one that is named. */
	EXPECT(*meets(0, 10, 51) && !*meets(0, 10, 50));
	fxt_agent.config.triggers.count = 0;
	add_trigger("freadxy", true, FXT_AT_LEAST, 0);
	add_trigger("fread", false, FXT_FAILED_WITH, 5);
	add_trigger("frea", true, FXT_FAILED_OTHERWISE, 6);
	add_trigger("main", false, FXT_AT_LEAST, 70);
	add_trigger("fread", false, FXT_AT_LEAST, 0);
	ck_assert_str_eq(meets(0, 40, 5), "1 fread 40 5");
	ck_assert_str_eq(meets(0, 41, 6), "4 fread 41 6");
	ck_assert_str_eq(meets(0, 41, 7), "2 fread 41 7");
	ck_assert_str_eq(meets(0, 41, 0), "4 fread 41 0");
	ck_assert_str_eq(meets(1, 41, 5), "2 freadx 41 5");
	ck_assert_str_eq(meets(1, 41, 0), "");
	ck_assert_str_eq(meets(2, 70, 0), "3 main 70 0");
	ck_assert_str_eq(meets(2, 69, 0), "");
	ck_assert_str_eq(meets(3, 70, 0), "");
	/* Names of the agent, and those that have no index. */
	*met = 0;
	EXPECT(call(80, NAMES(io, FXT_STR_CALLS - 1)) && !*met);
	/* Only calls of some lengths are looked at, and those that failed. */
	fxt_agent.config.triggers.most_ns = 100;
	fxt_agent.config.triggers.least_ns = 20;
	ck_assert_str_eq(meets(0, 20, 0), "");
	ck_assert_str_eq(meets(0, 99, 0), "");
	ck_assert_str_eq(meets(0, 19, 0), "4 fread 19 0");
	ck_assert_str_eq(meets(0, 100, 0), "4 fread 100 0");
	ck_assert_str_eq(meets(0, 50, 9), "2 fread 50 9");
	fxt_agent.config.triggers.count = 0;
	ck_assert_str_eq(meets(0, 100, 0), "");
	/* Another name of that length, and a beginning that is the whole name. */
	add_trigger("freud", false, FXT_AT_LEAST, 0);
	add_trigger("freadx", true, FXT_AT_LEAST, 0);
	ck_assert_str_eq(meets(0, 100, 0), "");
	ck_assert_str_eq(meets(1, 100, 0), "1 freadx 100 0");
}
END_TEST

/* -- Calls that do not nest ---------------------------------------------------------------------- */

static bool nests(uint64_t start_ns, uint64_t end_ns)
{
	return fxt_call_nests(&part_thread, start_ns, end_ns);
}

/* Makes a list, as a thread has that made a call on another stack than its own. */
static void begin_list(void)
{
	fxt_handlers_begin();
	EXPECT(nests(1, 2) && part_thread.long_calls);
}

START_TEST(only_coroutines_have_a_list)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	EXPECT(nests(10, 20) && nests(15, 25) && !part_thread.long_calls);
	fxt_handlers_begin();
	part_thread.stack.low = here - 10000;
	part_thread.stack.high = here + 10000;
	EXPECT(nests(10, 20) && nests(15, 25) && !part_thread.long_calls);
	EXPECT(part_thread.last_long_call.start_ns == 15 && part_thread.last_long_call.end_ns == 25);
	part_thread.stack.low = here + 5000;
	part_thread.stack.alternate_low = here - 10000;
	part_thread.stack.alternate_high = here + 10000;
	EXPECT(nests(16, 26) && !part_thread.long_calls);
	part_thread.stack.alternate_high = here - 5000;
	/* The last one that the thread had made is known. */
	EXPECT(!nests(20, 30) && part_thread.long_calls);
	EXPECT(nests(26, 30));
}
END_TEST

START_TEST(calls_overlap_or_nest)
{
	begin_list();
	EXPECT(nests(1000, 2000));
	/* Within, around, and behind. */
	EXPECT(nests(1200, 1300) && nests(900, 2100) && nests(2100, 2200));
	EXPECT(nests(1001, 1999) && nests(1002, 1999) && nests(2000, 2100));
	/* Two that begin at the same time cannot both be shown. */
	EXPECT(!nests(1000, 1999) && !nests(1000, 2001));
	EXPECT(!nests(1500, 2001) && !nests(999, 1250));
	/* What does not nest is not noted. */
	EXPECT(nests(2200, 2300) && !nests(1500, 2001));
	EXPECT(!nests(899, 901) && nests(800, 900) && nests(899, 900) && nests(2300, 2301));
}
END_TEST

/* As many calls are known as the list has places, unless so many in a row ended before. */
START_TEST(old_calls_are_not_looked_for)
{
	unsigned i;

	begin_list();
	EXPECT(nests(1000, 100000));
	for (i = 0; i < 31; i++)
		EXPECT(nests(2000 + i * 10, 2005 + i * 10));
	EXPECT(!nests(50000, 100001));
	EXPECT(nests(2310, 2315));
	EXPECT(nests(50000, 100001));
	/* One that ended later in between makes it look further. */
	setup();
	begin_list();
	EXPECT(nests(1000, 100000));
	for (i = 0; i < 31; i++)
		EXPECT(nests(2000 + i * 10, 2005 + i * 10));
	EXPECT(nests(60000, 60001));
	for (i = 0; i < 31; i++)
		EXPECT(nests(3000 + i * 10, 3005 + i * 10));
	EXPECT(!nests(50000, 100001));
	/* The list is a ring. */
	setup();
	begin_list();
	EXPECT(nests(1000, 100000));
	for (i = 0; i < LONG_CALLS - 2; i++)
		EXPECT(nests(60000 - i, 60001 + i));
	EXPECT(!nests(50000, 100001));
	EXPECT(nests(50000, 100001));
}
END_TEST

START_TEST(what_does_not_nest_is_lost)
{
	const uint64_t names = NAMES(io, INDEX);

	begin_list();
	part_thread.last_ns = 5000;
	EXPECT(call(FXT_SWITCH_NS, names));
	(void)part_said();
	part_thread.last_ns = 7000;
	EXPECT(!call(FXT_SWITCH_NS, names) && part.lost[FXT_LOSS_SIGNALS] == 1 && settled == 1 &&
	       part.deferred == 1);
	SAID("");
	/* Short calls are not looked at, and long ones that nest are written. */
	part_thread.last_ns = 8000;
	EXPECT(call(FXT_SWITCH_NS - 1, names));
	part_thread.last_ns = 9000;
	EXPECT(call(FXT_SWITCH_NS, names) && part.lost[FXT_LOSS_SIGNALS] == 1);
}
END_TEST

int main(void)
{
	TCase *watched = tcase_create("watched"), *nesting = tcase_create("nesting");

	tcase_add_checked_fixture(watched, setup, NULL);
	tcase_add_test(watched, a_slow_call_is_explained);
	tcase_add_test(watched, a_long_call_has_a_stack);
	tcase_add_test(watched, a_drawn_call_has_its_stack_and_what_it_stands_for);
	tcase_add_test(watched, other_events_are_committed_as_they_are);
	tcase_add_test(watched, short_and_unwanted_calls_are_left_out);
	tcase_add_test(watched, a_call_of_the_parent_begins_with_the_child);
	tcase_add_test(watched, a_first_failure_has_a_stack);
	tcase_add_test(watched, a_call_meets_a_trigger);
	tcase_add_checked_fixture(nesting, setup, NULL);
	tcase_add_test(nesting, only_coroutines_have_a_list);
	tcase_add_test(nesting, calls_overlap_or_nest);
	tcase_add_test(nesting, old_calls_are_not_looked_for);
	tcase_add_test(nesting, what_does_not_nest_is_lost);
	return RUN_SUITE("watched", watched, nesting);
}
