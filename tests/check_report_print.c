/* This tests what the report prints of traces whose problems are known: which section comes first, how many
 * lines a section has, and what the lines say. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "tools/printing/print.h"
#include "trace_maker.h"

enum { TOP = 10, MS = 1000000 };

static char *text;

/* Makes the report of the trace that was put together, and keeps its text in `text`. */
static void print(size_t top)
{
	struct fxt_report report;
	size_t bytes;
	FILE *out;

	make_report(&report, top);
	free(text);
	out = open_memstream(&text, &bytes);
	print_report(&report, out);
	fclose(out);
	end_report(&report);
}

/* Returns the number of the first line that begins with `start`, from 1; 0: none does. */
static size_t line_of(const char *start)
{
	size_t number = 1;

	for (const char *line = text; *line; line = strchr(line, '\n') + 1, number++)
		if (strncmp(line, start, strlen(start)) == 0)
			return number;
	return 0;
}

static void expect(const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "there is no '%s' in:\n%.3000s", part, text);
}

static void expect_none(const char *part)
{
	ck_assert_msg(strstr(text, part) == NULL, "there is a '%s' in:\n%.3000s", part, text);
}

/* Fails unless the sections stand in this order. The list ends with NULL. */
static void expect_order(const char *const *sections)
{
	size_t before = 0;

	for (; *sections; sections++) {
		size_t line = line_of(*sections);

		ck_assert_msg(line > before, "%s is in line %zu, after line %zu:\n%.3000s", *sections, line,
			      before, text);
		before = line;
	}
}
#define EXPECT_ORDER(...) expect_order((const char *const[]){__VA_ARGS__, NULL})

static void allocation(uint64_t at, uint64_t address, uint64_t bytes)
{
	event(COMPLETE, 1, "malloc", "malloc", at, at + 100,
	      ARGS({"size", UINT, bytes}, {"ret", POINTER, address}));
}

static void read_of(unsigned fd, uint64_t from, uint64_t to)
{
	event(COMPLETE, 1, "io", "read", from, to, ARGS({"fd", INT, fd}, {"ret", INT, 8}));
}

/* -- The order of sections ------------------------------------------------------------------------------- */

/* Threads wait for a thread, for a file and for time. The section on the longest wait precedes the others. */
START_TEST(most_costly_first)
{
	const uint64_t long_ns = 50 * MS, short_ns = 1 * MS;

	begin_trace();
	woken(true, 2, "pthread_mutex_lock", 0x10, MS, MS + (_i == 0 ? long_ns : short_ns), 3,
	      MS + short_ns / 2, 1);
	read_of(5, MS, MS + (_i == 1 ? long_ns : short_ns));
	call(3, "time", "nanosleep", MS, MS + (_i == 2 ? long_ns : short_ns));
	print(TOP);
	switch (_i) {
	case 0: EXPECT_ORDER("THREADS", "LONGEST CAUSAL CHAINS", "FILES AND SOCKETS"); break;
	case 1: EXPECT_ORDER("THREADS", "FILES AND SOCKETS", "LONGEST CAUSAL CHAINS"); break;
	default: EXPECT_ORDER("THREADS", "CALLS", "LONGEST CAUSAL CHAINS"); break;
	}
}
END_TEST

/* Where functions are known, the section about calls says what a thread did while it ran. */
START_TEST(functions_explain_running)
{
	begin_trace();
	read_of(5, 10 * MS, 12 * MS);
	if (_i)
		call(1, "function", "work", 0, 50 * MS);
	else
		event(INSTANT, 1, "dl", "dlopen", 50 * MS, 0, NO_ARGS);
	print(TOP);
	if (_i)
		EXPECT_ORDER("CALLS", "FILES AND SOCKETS");
	else
		EXPECT_ORDER("FILES AND SOCKETS", "CALLS");
}
END_TEST

START_TEST(leaks_first)
{
	enum { BLOCKS = 100 };

	begin_trace();
	for (uint64_t i = 0; i < BLOCKS; i++)
		allocation(1000 * i, 0x10000 + 0x10000 * i, 20000);
	for (uint64_t i = 0; i < BLOCKS; i++)
		event(ASYNC_BEGIN, 1, "io", "file", 1000 * i, i + 1,
		      ARGS({"fd", INT, 3 + i}, {"call", TEXT, TEXT_OF("open")}));
	/* In case 0 every block is freed and every descriptor is closed. */
	for (uint64_t i = 0; _i == 0 && i < BLOCKS; i++) {
		event(COMPLETE, 1, "malloc", "free", MS + i * 1000, MS + i * 1000 + 1,
		      ARGS({"ptr", POINTER, 0x10000 + 0x10000 * i}));
		event(ASYNC_END, 1, "io", "file", MS + 1000 * i, i + 1, NO_ARGS);
	}
	call(1, "time", "nanosleep", 10 * MS, 20 * MS);
	call(2, "time", "nanosleep", 10 * MS, 20 * MS);
	print(TOP);
	if (_i)
		EXPECT_ORDER("HEAP", "NEVER FREED", "DESCRIPTORS STILL OPEN", "THREADS", "CALLS");
	else
		EXPECT_ORDER("THREADS", "CALLS", "HEAP");
}
END_TEST

/* If the first thread is in a call at the end, the program has hung or crashed. Then the sections about the
 * calls that are still open and about the program's texts come first. */
START_TEST(crash_first)
{
	begin_trace();
	call(1, "io", "open", 0, 100);
	call(2, "time", "nanosleep", 0, 20 * MS);
	said(1, 20 * MS, "fatal: no more");
	event(BEGIN, _i ? 1 : 2, "process", "abort", 21 * MS, 0, NO_ARGS);
	print(TOP);
	if (_i)
		EXPECT_ORDER("STILL OPEN AT THE END", "SAID", "THREADS", "CALLS");
	else
		EXPECT_ORDER("THREADS", "CALLS", "SAID", "STILL OPEN AT THE END");
	expect("fatal: no more\n");
}
END_TEST

/* -- Sections -------------------------------------------------------------------------------------------- */

START_TEST(one_thread_is_a_line)
{
	begin_trace();
	call(1, "time", "nanosleep", 0, 30 * MS);
	call(1, "net", "poll", 40 * MS, 50 * MS);
	call(1, "io", "open", 100 * MS, 100 * MS + 10);
	if (_i == 1)
		call(2, "time", "nanosleep", 0, MS);
	if (_i == 2) {
		kernel();
		fact(7, 7, "ended", 200 * MS, NO_ARGS);
	}
	print(TOP);
	if (_i == 1) {
		ck_assert_uint_ne(line_of("THREADS"), 0);
		ck_assert_uint_eq(line_of("ran "), 0);
		ck_assert_uint_eq(line_of("what it did "), 0);
		return;
	}
	ck_assert_uint_eq(line_of("THREADS"), 0);
	if (_i == 2)
		expect("\nran 160 ms (80%), waited 40.0 ms (20%), of which 30.0 ms in nanosleep\n\n");
	else
		expect("\nran 60.0 ms (60%), waited 40.0 ms (40%), of which 30.0 ms in nanosleep\n"
		       "what it did before its first event is not known\n");
}
END_TEST

/* What the recording has taken is not one of the waits whose longest call is told. */
START_TEST(room_comes_last_in_the_line)
{
	begin_trace();
	if (_i)
		call(1, "time", "nanosleep", 0, 30 * MS);
	else
		call(1, "time", "nanosleep", 0, 1000);
	call(1, "agent", "waiting for room", 40 * MS, 50 * MS);
	call(1, "io", "open", 100 * MS, 100 * MS + 10);
	print(TOP);
	if (_i)
		expect("\nran 60.0 ms (60%), waited 30.0 ms (30%), of which 30.0 ms in nanosleep, "
		       "recording took 10.0 ms (10%)\n");
	else
		expect("\nran 90.0 ms (90%), recording took 10.0 ms (10%)\n");
}
END_TEST

static void make_much(void)
{
	enum { MANY = 40 };
	static char names[MANY][24];

	begin_trace();
	for (unsigned i = 0; i < MANY; i++) {
		uint64_t at = MS * (i + 1);

		snprintf(names[i], sizeof(names[i]), "call_%u", i);
		thread(4 + i, 7, 100 + i);
		woken(true, 4 + i, "pthread_mutex_lock", 0x1000 + i, at, at + 50000 + i, 1, at + 40000,
		      1 + i);
		event(COMPLETE, 4 + i, "pthread", "pthread_mutex_lock", at + 100000, at + 110000,
		      ARGS({"mutex", POINTER, 0x1000 + i}, {"at", TEXT, TEXT_OF(names[i])}));
		read_of(10 + i, at + 200000, at + 210000);
		call(1, "io", names[i], at + 220000, at + 225000 + i);
		call(1, "process", names[i], at + 230000, at + 235000 + i);
		said(1, at + 240000, "a line");
		event(ASYNC_BEGIN, 1, "malloc", "heap block", at + 250000, 1000 + i,
		      ARGS({"ptr", POINTER, 0x100000 + i}, {"size", UINT, 70000},
			   {"function", TEXT, TEXT_OF(names[i])}));
		event(ASYNC_BEGIN, 1, "io", "file", at + 260000, 2000 + i,
		      ARGS({"fd", INT, 10 + i}, {"call", TEXT, TEXT_OF("open")},
			   {"path", TEXT, TEXT_OF(names[i])}));
		event(BEGIN, 4 + i, "pthread", "sem_wait", at + 300000, 0, NO_ARGS);
	}
}

/* Returns the lines of the longest section and copies its name. Sets *sections to the number of sections. */
static size_t longest_section(char *name, size_t bytes, size_t *sections)
{
	size_t longest = 0, lines = 0;
	const char *title = NULL;

	*sections = 0;
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		if (*line == '\n') {
			title = line + 1;
			lines = 0;
			++*sections;
		} else if (title && ++lines > longest) {
			longest = lines;
			snprintf(name, bytes, "%.12s", title);
		}
	}
	return longest;
}

/* Besides its lines a section has a title and a line for what is left out. The section about calls has two
 * lines more for each category. */
START_TEST(sections_are_short)
{
	enum { ALL_SECTIONS = 10, TITLE = 1, MORE = 1, CATEGORIES = 3 };
	char name[13] = "";
	size_t sections, lines;

	make_much();
	print(TOP);
	lines = longest_section(name, sizeof(name), &sections);
	ck_assert_msg(lines <= TOP + TITLE + MORE + 2 * CATEGORIES, "%s: %zu lines:\n%.3000s", name, lines,
		      text);
	ck_assert_msg(sections >= ALL_SECTIONS, "%zu sections:\n%.3000s", sections, text);
	expect("  and 31 more    ");
	expect(" of 41:\n");
	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		ck_assert_msg(strcspn(line, "\n") <= FXT_COLUMNS, "%zu columns: %s", strcspn(line, "\n"),
			      line);
	print(FXT_TOP_ALL);
	expect_none("and 31 more");
	expect_none("the longest ");
	expect("call_0 ");
	expect("call_39 ");
}
END_TEST

/* All blocks without a known caller are one line, whatever their sizes. Those of one function are, too. */
START_TEST(leaks_are_told_by_caller)
{
	enum { SMALL = 500 };

	begin_trace();
	for (uint64_t i = 0; i < SMALL; i++)
		allocation(1000 * i, 0x10000 + 0x1000 * i, 100 + i);
	for (uint64_t i = 0; i < 2; i++) {
		allocation(MS + 1000 * i, 0x9000000 + 0x100000 * i, 70000 + 20000 * i);
		event(ASYNC_BEGIN, 1, "malloc", "heap block", MS + 100 + 1000 * i, 1 + i,
		      ARGS({"ptr", POINTER, 0x9000000 + 0x100000 * i}, {"size", UINT, 70000 + 20000 * i},
			   {"function", TEXT, TEXT_OF("make_session")}));
	}
	print(TOP);
	expect("\n  (caller not recorded)               171 KiB          500     349 B  app 7\n"
	       "  make_session                        156 KiB            2  78.1 KiB  app 7\n"
	       "  with FXT_HEAP_TRACK_BYTES=1 the trace has the callers for smaller blocks as well\n");
	expect_none("more");
}
END_TEST

/* Blocks that the C++ library keeps for itself are no leak, whatever else there is. */
START_TEST(nothing_of_the_library_is_a_leak)
{
	begin_trace();
	allocation(1000, 0x10000, 72704);
	event(ASYNC_BEGIN, 1, "malloc", "heap block", 1100, 1,
	      ARGS({"ptr", POINTER, 0x10000}, {"size", UINT, 72704},
		   {"function", TEXT, TEXT_OF("libstdc++.so.6.0.30+0xa57b9")}));
	if (_i) {
		allocation(2000, 0x90000, 100000);
		event(ASYNC_BEGIN, 1, "malloc", "heap block", 2100, 2,
		      ARGS({"ptr", POINTER, 0x90000}, {"size", UINT, 100000},
			   {"function", TEXT, TEXT_OF("make_session")}));
	}
	print(TOP);
	if (_i) {
		expect("      never freed: 97.7 KiB in 1 block: 1 x 97.7 KiB\n"
		       "      kept by the C++ library for itself, which is normal: 71.0 KiB\n");
		expect("\n  make_session                       97.7 KiB            1  97.7 KiB  app 7\n");
	} else {
		expect("      kept by the C++ library for itself, which is normal: 71.0 KiB\n");
		expect_none("never freed");
		expect_none("NEVER FREED");
	}
	expect_none("libstdc++");
}
END_TEST

/* All locks that one function has made are one line, whichever thread waited for which. */
START_TEST(waits_are_told_by_name)
{
	begin_trace();
	for (uint64_t i = 0; i < 6; i++)
		event(COMPLETE, 1 + i % 2, "pthread", "pthread_mutex_lock", MS * i, MS * i + 10000 * (1 + i),
		      ARGS({"mutex", POINTER, 0x1000 + i / 2},
			   {"object", TEXT, TEXT_OF(i < 4 ? "mutex of pool_create" : "app_lock")}));
	print(TOP);
	expect("\n  mutex app_lock                       110 us            2   60.0 us  8 55%, 7 45%\n"
	       "  2 x mutex of pool_create             100 us            4   40.0 us  8 60%, 7 40%\n");
}
END_TEST

/* The idle threads of a pool come last. They have been blocked for longest, but nobody wants to see them. */
START_TEST(idle_threads_last)
{
	begin_trace();
	call(1, "pthread", "sem_wait", 0, 90 * MS);
	call(1, "pthread", "sem_wait", 90 * MS, 100 * MS);
	call(2, "net", "poll", 0, 60 * MS);
	call(2, "io", "open", 100 * MS, 100 * MS + 10);
	print(TOP);
	expect("  8                            100 ms  40.0 ms        -  60.0 ms  poll 60%\n"
	       "  7                            100 ms        -   100 ms        -  sem_wait 100%\n");
}
END_TEST

/* -- The agent ----------------------------------------------------------------------------------------- */

/* Nobody knows what threads did while recording was stopped (0), or while records were lost (1), but for a
 * call that is there all the same. */
START_TEST(what_is_unknown_is_not_running)
{
	begin_trace();
	call(1, "time", "nanosleep", 0, 10 * MS);
	call(2, "time", "nanosleep", 0, 5 * MS);
	call(1, "time", "nanosleep", 30 * MS, 40 * MS);
	if (_i) {
		event(INSTANT, 1, "agent", "lost", 80 * MS, 0,
		      ARGS({"records", UINT, 100}, {"ns", UINT, 60 * MS}));
	} else {
		event(INSTANT, 1, "agent", "recording stopped", 20 * MS, 0, NO_ARGS);
		event(INSTANT, 1, "agent", "recording started", 80 * MS, 0, NO_ARGS);
	}
	call(1, "time", "nanosleep", 90 * MS, 100 * MS);
	call(2, "time", "nanosleep", 90 * MS, 100 * MS);
	print(TOP);
	/* thread 1: 100 = 10 + 60 unknown + 30 in three calls; thread 2: 100 = 25 + 60 + 15 */
	expect(" 100 ms  25.0 ms        -  15.0 ms  nanosleep 15%\n");
	expect(" 100 ms  10.0 ms        -  30.0 ms  nanosleep 30%\n"
	       "  while nothing was recorded it is not known what 2 threads did: 120 ms in all\n");
}
END_TEST

/* A long reason that many processes share stands once; the process that stands for many has no number. */
START_TEST(says_a_reason_once)
{
	enum { LOSERS = 4 };

	begin_trace();
	for (unsigned i = 0; i < LOSERS; i++) {
		uint64_t pid = i == 3 ? FXT_OTHERS_ID : 100 + i;

		provider(100 + i);
		thread(1, pid, pid);
		object_name(pid, 0, i == 3 ? "7 other programs" : "app");
		event(INSTANT, 1, "agent", "dropped", MS, 0,
		      ARGS({"reason", TEXT, TEXT_OF(_i && i == 1 ? "another" : "the file is full")}));
		event(1, 1, "agent", "dropped", MS + 1 + i, 5, ARGS({"records", UINT, 50 - i}));
	}
	print(TOP);
	if (_i) {
		expect("LOST: 194 records in 4 processes:\n"
		       "  50 in app 100 (no room; dropped: the file is full), ");
		expect("  49 in app 101 (no room; dropped: another), ");
		expect("  47 in 7 other programs (no room; dropped: the file is full), ");
	} else {
		expect("LOST: 194 records in 4 processes (no room; dropped: the file is full):\n"
		       "  50 in app 100, from ");
		expect("  47 in 7 other programs, from ");
	}
}
END_TEST

START_TEST(keeps_the_agent_out_of_the_calls)
{
	struct fxt_report report;

	begin_trace();
	woken(true, 2, "pthread_mutex_lock", 0x10, 100000, 200000, 1, 190000, 1);
	call(1, "agent", "waiting for room", 500000, 530000);
	call(2, "agent", "waiting for room", 500000, 512000);
	make_report(&report, 10);
	for (size_t i = 0; i < report.calls.count; i++) {
		struct fxt_text category = fxt_symbol_text(&reader, report.calls.list[i].category);

		ck_assert(!fxt_text_is(&category, "agent"));
	}
	ck_assert_uint_eq(report.agent.count, 1);
	expect_symbol(report.agent.list[0].name, "waiting for room");
	ck_assert_uint_eq(report.agent.list[0].count, 2);
	ck_assert_uint_eq(report.agent.list[0].total_ns, 42000);
	end_report(&report);
	print(TOP);
	expect("the agent itself: waiting for room 42.0 us in 2\n");
	expect_none("released");
}
END_TEST

/* Nothing that was not looked at is said to be without a fault. */
START_TEST(judges_no_trace_without_events)
{
	begin_trace();
	if (_i)
		call(1, "io", "read", 5000, 9000);
	print(TOP);
	if (_i)
		expect("no fault found by ");
	else
		expect_none("no fault found by ");
	ck_assert_int_eq(strstr(text, "there are no events: ") != NULL, !_i);
	ck_assert_int_eq(strstr(text, "The tables are below") != NULL, _i);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("report, printed");

	tcase_add_loop_test(c, most_costly_first, 0, 3);
	tcase_add_loop_test(c, functions_explain_running, 0, 2);
	tcase_add_loop_test(c, leaks_first, 0, 2);
	tcase_add_loop_test(c, crash_first, 0, 2);
	tcase_add_loop_test(c, one_thread_is_a_line, 0, 3);
	tcase_add_loop_test(c, room_comes_last_in_the_line, 0, 2);
	tcase_add_test(c, sections_are_short);
	tcase_add_test(c, leaks_are_told_by_caller);
	tcase_add_loop_test(c, nothing_of_the_library_is_a_leak, 0, 2);
	tcase_add_test(c, waits_are_told_by_name);
	tcase_add_test(c, idle_threads_last);
	tcase_add_loop_test(c, what_is_unknown_is_not_running, 0, 2);
	tcase_add_loop_test(c, says_a_reason_once, 0, 2);
	tcase_add_test(c, keeps_the_agent_out_of_the_calls);
	tcase_add_loop_test(c, judges_no_trace_without_events, 0, 2);
	return RUN_SUITE("report, printed", c);
}
