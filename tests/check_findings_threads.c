/* This tests the rules of fxt report about threads that share work, loops that serve many, patterns and child
 * processes: traces that each have the fault, with random numbers of threads and of rounds, and traces that
 * nearly have it. FXT_SEED=N draws the same ones again. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/findings/rules.h"
#include "trace_maker.h"

enum { US = 1000, MS = 1000000, ROUNDS = 20, FIRST_TID = 7, MOST = 16 };
#define NODE(number) (UINT64_C(0xfff0000000000000) + (number))

static struct fxt_report report;
static struct fxt_findings findings;

/* Returns the first finding of a rule, or NULL. */
static const struct fxt_finding *find(unsigned rule)
{
	make_report(&report, 10);
	fxt_findings_make(&findings, &report, 0);
	for (size_t i = 0; i < findings.count; i++)
		if (findings.list[i].rule == &fxt_rules[rule])
			return &findings.list[i];
	return NULL;
}

static void end(void)
{
	fxt_findings_free(&findings);
	end_report(&report);
}

/* Fails unless there is a finding of the rule with this culprit and this text; with NULL there is none. */
static void expect(unsigned rule, const char *culprit, const char *text)
{
	const struct fxt_finding *x = find(rule);

	ck_assert_msg(!x == !culprit, "%s: %s", fxt_rules[rule].symbol, x ? x->what : "no finding");
	if (x) {
		char *line = fxt_who_line(report.who, x->purpose, x->innermost, 100);

		ck_assert_msg(line && strncmp(line, culprit, strlen(culprit)) == 0, "%s is told, not %s",
			      line ? line : "nobody", culprit);
		ck_assert_msg(strstr(x->what, text), "there is no '%s' in '%s'", text, x->what);
		free(line);
	}
	end();
}

static unsigned between(unsigned least, unsigned most)
{
	return least + (unsigned)random_below(most - least + 1);
}

static char *text(const char *format, unsigned number)
{
	static char line[64];

	snprintf(line, sizeof(line), format, number);
	return line;
}

/* Begins a trace whose process has so many threads. All but the first were made by `main`. */
static void begin_with(unsigned count)
{
	begin_trace();
	frame(1, 0, "main", "/bin/app", 0x10);
	frame(2, 1, "work_on", "/bin/app", 0x20);
	frame(3, 1, "rest", "/bin/app", 0x30);
	for (unsigned i = 4; i <= count; i++)
		thread(i, FIRST_TID, FIRST_TID + i - 1);
	for (unsigned i = 2; i <= count; i++)
		event(ASYNC_BEGIN, i, "pthread", "thread", 1 * MS, i,
		      ARGS({"thread", POINTER, 0x7000 + i}, {"stack", POINTER, 1}));
}

static void waits(unsigned index, const char *category, const char *name, const char *argument, uint64_t from,
		  uint64_t to, uint64_t stack)
{
	event(COMPLETE, index, category, name, from, to,
	      ARGS({argument, POINTER, 0x10}, {"stack", POINTER, stack}));
}

/* Writes `rounds` in each of which one thread reaches the barrier late: thread `last`, or if it is 0, each in
 * turn. */
static void at_a_barrier(unsigned count, unsigned rounds, unsigned last)
{
	begin_with(count);
	for (unsigned r = 0; r < rounds; r++) {
		uint64_t at = (10 + r * 100) * (uint64_t)MS;
		unsigned late = last ? last : 1 + r % count;

		for (unsigned i = 1; i <= count; i++) {
			if (i == late)
				waits(i, "io", "read", "fd", at, at + 90 * MS, 2);
			waits(i, "pthread", "pthread_barrier_wait", "barrier",
			      i == late ? at + 95 * MS : at + 1 * MS, at + 95 * MS + 3 * US, 3);
		}
	}
}

START_TEST(the_last_at_a_barrier_is_told)
{
	random_seed((uint64_t)_i);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned count = between(3, MOST);

		at_a_barrier(count, between(3, 20), between(1, count));
		expect(FXT_RULE_unequal_work, "work_on", text("of %u threads at a barrier", count));
		at_a_barrier(count, count, 0);
		expect(FXT_RULE_unequal_work, NULL, NULL);
		at_a_barrier(2, 10, 1);
		expect(FXT_RULE_unequal_work, NULL, NULL);
	}
}
END_TEST

/* Threads end at 100 ms, and one of them goes on until `until`; then it is joined, or not. */
static void to_be_joined(unsigned count, unsigned last, uint64_t until, bool is_joined)
{
	begin_with(count);
	for (unsigned i = 2; i <= count; i++) {
		call(i, "io", "stat", 1 * MS, 1 * MS + US);
		waits(i, "io", "read", "fd", 2 * MS, 3 * MS, 2);
		call(i, "io", "stat", (i == last ? until : 100 * MS) - US, i == last ? until : 100 * MS);
	}
	if (is_joined)
		woken(true, 1, "pthread_join", 0x7000, 5 * MS, until + 100 * US, last, until, 1);
	else
		call(1, "io", "fsync", 5 * MS, until);
}

START_TEST(who_goes_on_is_told)
{
	random_seed((uint64_t)_i);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned count = between(4, MOST), last = between(2, count);

		to_be_joined(count, last, between(250, 2000) * (uint64_t)MS, true);
		expect(FXT_RULE_unequal_work, "work_on", text("of %u threads one went on", count - 1));
		to_be_joined(count, last, between(110, 180) * (uint64_t)MS, true);
		expect(FXT_RULE_unequal_work, NULL, NULL);
		to_be_joined(count, last, 1000 * MS, false);
		expect(FXT_RULE_unequal_work, NULL, NULL);
	}
}
END_TEST

/* One processor lets so many threads run in turn, for a millisecond each. */
static void in_turn(unsigned threads)
{
	unsigned slices = threads * between(10, 30);

	begin_with(threads + 1);
	for (unsigned i = 1; i <= threads + 1; i++)
		call(i, "io", "stat", 2 * MS, 2 * MS + US);
	call(1, "io", "fsync", 3 * MS, (3 + slices) * (uint64_t)MS);
	kernel();
	for (unsigned i = 0; i < slices; i++) {
		uint64_t at = (3 + i) * (uint64_t)MS;

		switched(at, 1, 0, FIRST_TID + 1 + i % threads);
		switched(at + 990 * US, 1, FIRST_TID + 1 + i % threads, 0);
	}
}

START_TEST(too_many_threads_are_told)
{
	random_seed((uint64_t)_i);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned threads = between(8, MOST - 1);

		in_turn(threads);
		expect(FXT_RULE_too_many_threads, "main", text("%u threads computed at once", threads));
		in_turn(between(2, 7));
		expect(FXT_RULE_too_many_threads, NULL, NULL);
	}
}
END_TEST

/* Workers read for each job; the first thread waits for each of them. Idle ones wait for jobs instead. Those
 * that are asked read what the first thread writes. */
static void a_pool(unsigned workers, unsigned jobs, bool is_idle, bool is_waited_for, bool is_asked)
{
	begin_with(workers + 1);
	for (unsigned j = 0; j < jobs; j++) {
		uint64_t at = (10 + j * 10) * (uint64_t)MS;

		for (unsigned i = 2; i <= workers + 1; i++) {
			if (is_idle)
				waits(i, "pthread", "sem_wait", "sem", at, at + 8 * MS, 3);
			waits(i, "io", "read", "fd", is_idle ? at + 8 * MS : at, at + 9 * MS, 2);
			if (is_asked) {
				uint64_t id = 1000 + j * MOST + i;

				event(FLOW_BEGIN, 1, "agent", "wakes", at + 8 * MS, id, NO_ARGS);
				event(FLOW_END, i, "agent", "wakes", at + 9 * MS, id, NO_ARGS);
			}
		}
		if (is_waited_for)
			woken(true, 1, "pthread_cond_wait", 0x20, at, at + 9 * MS + 5 * US, 2 + j % workers,
			      at + 9 * MS, 100 + j);
	}
}

START_TEST(a_full_pool_is_told)
{
	random_seed((uint64_t)_i);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned workers = between(2, MOST - 1), jobs = between(10, 40);

		a_pool(workers, jobs, false, true, false);
		expect(FXT_RULE_full_pool, "work_on", text("all its %u threads", workers));
		a_pool(workers, jobs, true, true, false);
		expect(FXT_RULE_full_pool, NULL, NULL);
		a_pool(workers, jobs, false, false, false);
		expect(FXT_RULE_full_pool, NULL, NULL);
		a_pool(1, jobs, false, true, false);
		expect(FXT_RULE_full_pool, NULL, NULL);
		a_pool(workers, jobs, false, true, true);
		expect(FXT_RULE_full_pool, NULL, NULL);
	}
}
END_TEST

/* A thread polls for `watched` descriptors. Between some polls it waits for so long. */
static void a_loop(unsigned watched, unsigned waits_count, uint64_t wait_ns, bool is_ready)
{
	uint64_t at = 1 * MS;

	begin_with(3);
	for (unsigned i = 0; i < 40 + waits_count; i++) {
		bool follows = i && i <= waits_count;
		uint64_t took = follows && !is_ready ? 5 * MS : 10 * US;

		event(COMPLETE, 1, "net", "poll", at, at + took,
		      ARGS({"nfds", UINT, watched}, {"timeout", INT, UINT64_MAX}, {"ret", INT, 1}));
		at += took + 10 * US;
		if (i < waits_count) {
			waits(1, "io", "read", "fd", at, at + wait_ns, 2);
			at += wait_ns + 10 * US;
		}
	}
}

START_TEST(a_blocked_loop_is_told)
{
	random_seed((uint64_t)_i);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned watched = between(3, 100), times = between(3, 30);

		a_loop(watched, times, between(21, 300) * (uint64_t)MS, true);
		expect(FXT_RULE_blocked_loop, "work_on", text("kept from it %u times", times));
		a_loop(watched, times, 60 * MS, false);
		expect(FXT_RULE_blocked_loop, NULL, NULL);
		a_loop(watched, times, between(1, 19) * (uint64_t)MS, true);
		expect(FXT_RULE_blocked_loop, NULL, NULL);
		a_loop(between(1, 2), times, 60 * MS, true);
		expect(FXT_RULE_blocked_loop, NULL, NULL);
		a_loop(watched, between(1, 2), 60 * MS, true);
		expect(FXT_RULE_blocked_loop, NULL, NULL);
	}
}
END_TEST

/* Blocks for which `function` asked the heap: so many, of 64 KiB each, of which `alive` are there at once. */
static void asked_by(const char *function, unsigned count, unsigned alive)
{
	uint64_t at = 10 * MS;

	begin_trace();
	frame(1, 0, "main", "/bin/app", 0x10);
	frame(2, 1, "is_match", "/bin/app", 0x20);
	frame(3, 2, function, "/lib/libc.so.6", 0x30);
	frame(4, 3, "grow", "/lib/libc.so.6", 0x40);
	call(1, "io", "stat", 0, US);
	for (unsigned i = 0; i < count + alive; i++, at += 1 * MS) {
		if (i < count) {
			call(1, "malloc", "malloc", at, at + 500 * US);
			event(ASYNC_BEGIN, 1, "malloc", "heap sample", at, 10 + i,
			      ARGS({"ptr", POINTER, 0x100000 + i}, {"size", UINT, 65536},
				   {"stands_for", UINT, 65536}, {"stack", POINTER, 4}));
		}
		if (i >= alive)
			event(ASYNC_END, 1, "malloc", "heap sample", at + 600 * US, 10 + i - alive, NO_ARGS);
	}
}

START_TEST(a_pattern_per_item_is_told)
{
	static const char *const names[] = {
		"regcomp", "pcre2_compile_8",
		"_ZNSt7__cxx1111basic_regexIcNS_12regex_traitsIcEEEC2EPKcNSt15regex_constants"
		"18syntax_option_typeE"};

	random_seed((uint64_t)_i);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned count = between(40, 200);

		asked_by(names[between(0, 2)], count, 1);
		expect(FXT_RULE_pattern_per_item, "is_match", "compiled again and again");
		/* One pattern is compiled, and has all that in the end. */
		asked_by(names[between(0, 2)], count, between(count / 10, count));
		expect(FXT_RULE_pattern_per_item, NULL, NULL);
		asked_by("regexec", count, 1);
		expect(FXT_RULE_pattern_per_item, NULL, NULL);
	}
}
END_TEST

/* The program waits for its child, a shell, which waits for another. */
static void a_child(const char *program, uint64_t waited)
{
	begin_trace();
	frame(1, 0, "main", "/bin/app", 0x10);
	frame(2, 1, "run_tool", "/bin/app", 0x20);
	object_name(FIRST_TID, 0, program);
	call(1, "io", "stat", 0, 1000 * MS);
	waits(1, "process", "waitpid", "pid_", 100 * MS, 100 * MS + waited, 2);
	provider(8);
	thread(1, 20, 20);
	object_name(20, 0, "sh");
	frame(1, 0, "wait_for_all", "/bin/sh", 0x10);
	waits(1, "process", "wait4", "pid_", 10 * MS, 990 * MS, 1);
}

START_TEST(who_waits_for_a_child_is_told)
{
	random_seed((uint64_t)_i);
	for (unsigned round = 0; round < ROUNDS; round++) {
		a_child("app", between(501, 880) * (uint64_t)MS);
		expect(FXT_RULE_slow_child, "run_tool", "waitpid in 1 call");
		a_child("app", between(1, 499) * (uint64_t)MS);
		expect(FXT_RULE_slow_child, NULL, NULL);
		a_child("make", 800 * MS);
		expect(FXT_RULE_slow_child, NULL, NULL);
	}
}
END_TEST

/* A thread reads from a descriptor for so long; it is closed `after` the begin of that, by the same thread or
 * another one, which may have called vfork() before. */
static void a_close(uint64_t took, uint64_t after, bool is_other, bool is_vforked, int fd)
{
	begin_with(3);
	if (is_vforked)
		event(INSTANT, 2, "process", "vfork", 5 * MS, 0, NO_ARGS);
	event(COMPLETE, is_other ? 2 : 3, "io", "close", 10 * MS + after, 10 * MS + after + 5 * US,
	      ARGS({"fd", INT, (uint64_t)fd}, {"ret", INT, 0}, {"stack", POINTER, 2}));
	event(COMPLETE, 3, "io", "read", 10 * MS, 10 * MS + took,
	      ARGS({"fd", INT, 5}, {"count", UINT, 10}, {"ret", INT, 1}, {"stack", POINTER, 3}));
}

START_TEST(a_close_in_use_is_told)
{
	random_seed((uint64_t)_i);
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t took = between(4, 1000) * (uint64_t)MS, after = between(1, 2) * (uint64_t)MS;

		a_close(took, after, true, false, 5);
		expect(FXT_RULE_closed_in_use, "work_on",
		       "descriptor 5 was closed while another thread was in read");
		a_close(took, took + after, true, false, 5);
		expect(FXT_RULE_closed_in_use, NULL, NULL);
		a_close(took, after, false, false, 5);
		expect(FXT_RULE_closed_in_use, NULL, NULL);
		a_close(took, after, true, true, 5);
		expect(FXT_RULE_closed_in_use, NULL, NULL);
		a_close(took, after, true, false, 6);
		expect(FXT_RULE_closed_in_use, NULL, NULL);
	}
}
END_TEST

/* A thread takes two locks, and gives them up. The second has a stack, or none. */
static void takes(unsigned index, uint64_t at, uint64_t first, uint64_t second, uint64_t stack)
{
	event(COMPLETE, index, "pthread", "pthread_mutex_lock", at, at + 10, ARGS({"mutex", POINTER, first}));
	event(COMPLETE, index, "pthread", "pthread_mutex_lock", at + 20, at + 30,
	      ARGS({"mutex", POINTER, second}, {stack ? "stack" : NULL, POINTER, stack}));
	event(COMPLETE, index, "pthread", "pthread_mutex_unlock", at + 40, at + 50,
	      ARGS({"mutex", POINTER, second}));
	event(COMPLETE, index, "pthread", "pthread_mutex_unlock", at + 60, at + 70,
	      ARGS({"mutex", POINTER, first}));
}

START_TEST(who_took_locks_in_another_order_is_told)
{
	random_seed((uint64_t)_i);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned times = between(1, 9), known = between(0, times - 1);
		const struct fxt_finding *x;

		begin_with(3);
		for (uint64_t lock = 0x100; lock <= 0x200; lock += 0x100)
			event(COMPLETE, 1, "pthread", "pthread_mutex_init", 5 * MS, 5 * MS + 10,
			      ARGS({"mutex", POINTER, lock}));
		for (unsigned i = 0; i < times; i++)
			takes(2, (10 + i) * (uint64_t)MS, 0x100, 0x200, 0);
		/* One of these is known by its stack. */
		for (unsigned i = 0; i < times; i++)
			takes(3, (30 + i) * (uint64_t)MS, 0x200, 0x100, i == known ? 2 : 0);
		x = find(FXT_RULE_lock_order);
		ck_assert_ptr_nonnull(x);
		ck_assert_ptr_null(strstr(x->evidence[0], " in "));
		ck_assert_ptr_nonnull(strstr(x->evidence[1], " in work_on"));
		end();
	}
}
END_TEST

/* Threads of a program that fxt record -p has watched wait for each other in a circle. It is none if one of
 * them waits for nobody, or for one that is not there. A trace that was made up may say both of a thread. */
START_TEST(a_circle_that_was_watched_is_told)
{
	enum { WHOLE, OPEN, TWICE, KINDS };

	random_seed((uint64_t)_i);
	for (unsigned round = 0; round < ROUNDS * KINDS; round++) {
		unsigned count = between(1, MOST), kind = round % KINDS, odd = between(0, count - 1);

		begin_trace();
		kernel();
		frame(NODE(1), 0, "main", "/bin/app", 0x10);
		frame(NODE(2), NODE(1), "work_on", "/bin/app", 0x20);
		for (unsigned i = 0; i < count; i++) {
			uint64_t next = FIRST_TID + (i + 1) % count;

			fact(FIRST_TID, FIRST_TID + i, "blocked", 5 * MS,
			     ARGS({"waits_for", KOID, kind == OPEN && i == odd ? 999 : next},
				  {"lock", POINTER, 0x1000 + i}, {"stack", POINTER, NODE(2)}));
		}
		if (kind == TWICE)
			fact(FIRST_TID, FIRST_TID + odd, "blocked", 5 * MS, NO_ARGS);
		expect(FXT_RULE_deadlock, kind == WHOLE ? "work_on" : NULL,
		       text("deadlock: %u thread", count));
	}
}
END_TEST

int main(void)
{
	TCase *threads = tcase_create("threads"), *others = tcase_create("others");

	random_begin();
	tcase_add_loop_test(threads, the_last_at_a_barrier_is_told, 1, 3);
	tcase_add_loop_test(threads, who_goes_on_is_told, 3, 5);
	tcase_add_loop_test(threads, too_many_threads_are_told, 5, 7);
	tcase_add_loop_test(threads, a_full_pool_is_told, 7, 9);
	tcase_add_loop_test(others, a_blocked_loop_is_told, 9, 11);
	tcase_add_loop_test(others, a_pattern_per_item_is_told, 11, 13);
	tcase_add_loop_test(others, who_waits_for_a_child_is_told, 13, 15);
	tcase_add_loop_test(others, a_close_in_use_is_told, 15, 17);
	tcase_add_loop_test(others, who_took_locks_in_another_order_is_told, 17, 19);
	tcase_add_loop_test(others, a_circle_that_was_watched_is_told, 19, 21);
	return RUN_SUITE("findings of threads", threads, others);
}
