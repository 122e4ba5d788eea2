/* This tests who is stuck when a trace ends (tools/findings/stuck.h), and the rules that tell of it.
 * Processes and threads that wait for each other are drawn at random. In the model a thread may go on if a
 * way leads from it, along those who may let each other go on, to one that waits for nobody. FXT_SEED names
 * the drawing. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/common/message.h"
#include "tools/findings/stuck.h"
#include "trace_maker.h"

enum { MS = 1000000, BEGUN = 10 * MS, TOLD = 200 * MS, LAST = 1000 * MS };
enum { PROCESSES = 4, THREADS = 4, PIPES = 4, ALL = PROCESSES * THREADS };
enum does { RUNS, ACCEPTS, COND, JOINS, READS, WRITES, HAS_ENDED, WAITS_FOR_CHILD, KINDS };

static struct fxt_report report;
static struct fxt_findings findings;

struct life {
	enum does does;
	unsigned joined, pipe;
};

static struct life lives[PROCESSES][THREADS];
static unsigned thread_counts[PROCESSES];
static unsigned holds[PROCESSES][PIPES];        /* 1: to read, 2: to write */
static int parents[PROCESSES];                  /* -1: it is nobody's child */
static const char *const pipe_names[PIPES] = {"pipe:[1]", "pipe:[2]", "pipe:[3]", "pipe:[4]"};
static const char *const holdings[] = {NULL, "read", "write", "both"};

static uint64_t pid_of(unsigned process)
{
	return 100 + 10 * process;
}

static void draw(void)
{
	for (unsigned p = 0; p < PROCESSES; p++) {
		thread_counts[p] = 1 + (unsigned)random_below(THREADS);
		parents[p] = p && random_below(2) ? (int)random_below(p) : -1;
		for (unsigned k = 0; k < PIPES; k++)
			holds[p][k] = random_below(2) ? 0 : (unsigned)random_below(4);
		for (unsigned t = 0; t < thread_counts[p]; t++) {
			struct life *life = &lives[p][t];

			life->does = (enum does)random_below(KINDS);
			/* Most wait for others, or nobody would be stuck. */
			if ((life->does == RUNS || life->does == ACCEPTS) && random_below(4))
				life->does = READS;
			if (life->does == HAS_ENDED && t == 0)
				life->does = COND;
			/* Nobody joins a first thread. */
			life->joined = 1 + (unsigned)random_below(THREADS - 1);
			if (life->does == JOINS && life->joined >= thread_counts[p])
				life->does = COND;
			life->pipe = (unsigned)random_below(PIPES);
		}
	}
}

/* -- The model ------------------------------------------------------------------------------------- */

static bool may_wake(unsigned p, unsigned t, unsigned by_p, unsigned by_t)
{
	const struct life *life = &lives[p][t];

	if (lives[by_p][by_t].does == HAS_ENDED || (p == by_p && t == by_t))
		return false;
	switch (life->does) {
	case COND: return p == by_p;
	case JOINS: return p == by_p && by_t == life->joined;
	case READS: return holds[by_p][life->pipe] & 2;
	case WRITES: return holds[by_p][life->pipe] & 1;
	case WAITS_FOR_CHILD: return parents[by_p] == (int)p;
	default: return false;
	}
}

/* Returns whether a thread goes on whatever the others do. */
static bool is_free(unsigned p, unsigned t)
{
	const struct life *life = &lives[p][t];
	bool has_any = false;

	for (unsigned other = 0; other < PROCESSES; other++) {
		has_any |= life->does == READS && holds[other][life->pipe] & 2;
		has_any |= life->does == WRITES && holds[other][life->pipe] & 1;
		has_any |= life->does == WAITS_FOR_CHILD && parents[other] == (int)p;
	}
	switch (life->does) {
	case RUNS:
	case ACCEPTS: return true;
	case JOINS: return lives[p][life->joined].does == HAS_ENDED;
	case READS:
	case WRITES:
	case WAITS_FOR_CHILD: return !has_any;
	default: return false;
	}
}

static bool goes_on(unsigned p, unsigned t, bool *seen)
{
	if (is_free(p, t))
		return true;
	seen[p * THREADS + t] = true;
	for (unsigned q = 0; q < PROCESSES; q++)
		for (unsigned u = 0; u < thread_counts[q]; u++)
			if (may_wake(p, t, q, u) && !seen[q * THREADS + u] && goes_on(q, u, seen))
				return true;
	return false;
}

/* -- The trace ------------------------------------------------------------------------------------- */

static void put_thread(unsigned p, unsigned t)
{
	const struct life *life = &lives[p][t];
	unsigned index = 1 + t;
	uint64_t handle = 0x7000 + 16 * t;

	thread(index, pid_of(p), pid_of(p) + t);
	call(index, "io", "fsync", 1 * MS, 2 * MS);
	if (t)
		event(ASYNC_BEGIN, index, "pthread", "thread", 1 * MS, 1000 * (p + 1) + t,
		      ARGS({"thread", UINT, handle}));
	switch (life->does) {
	case ACCEPTS: event(BEGIN, index, "net", "accept", BEGUN, 0, ARGS({"sockfd", INT, 5})); break;
	case COND:
		event(BEGIN, index, "pthread", "pthread_cond_wait", BEGUN, 0,
		      ARGS({"cond", POINTER, 0x5000 + p}));
		break;
	case JOINS:
		event(BEGIN, index, "pthread", "pthread_join", BEGUN, 0,
		      ARGS({"thread", UINT, 0x7000 + 16 * life->joined}));
		break;
	case READS: event(BEGIN, index, "io", "read", BEGUN, 0, ARGS({"fd", INT, 3})); break;
	case WRITES: event(BEGIN, index, "io", "write", BEGUN, 0, ARGS({"fd", INT, 4})); break;
	case WAITS_FOR_CHILD: event(BEGIN, index, "process", "wait", BEGUN, 0, NO_ARGS); break;
	case HAS_ENDED:
		event(ASYNC_END, index, "pthread", "thread", BEGUN, 1000 * (p + 1) + t, NO_ARGS);
		break;
	default: break;
	}
}

static void put_trace(void)
{
	begin_trace();
	for (unsigned p = 0; p < PROCESSES; p++) {
		provider(20 + p);
		for (unsigned t = 0; t < thread_counts[p]; t++)
			put_thread(p, t);
		for (unsigned child = 0; child < PROCESSES; child++)
			if (parents[child] == (int)p)
				event(ASYNC_BEGIN, 1, "process", "child", 1 * MS, 5000 + child,
				      ARGS({"pid", KOID, pid_of(child)}, {"stack", POINTER, 1}));
	}
	kernel();
	for (unsigned p = 0; p < PROCESSES; p++) {
		for (unsigned t = 0; t < thread_counts[p]; t++) {
			const struct life *life = &lives[p][t];

			if (life->does == READS || life->does == WRITES)
				fact(pid_of(p), pid_of(p) + t, "long blocked", TOLD,
				     ARGS({"wants", TEXT, TEXT_OF(life->does == READS ? "read" : "write")},
					  {"file", TEXT, TEXT_OF(pipe_names[life->pipe])},
					  {"by", TEXT, TEXT_OF(pipe_names[life->pipe])}));
		}
		for (unsigned k = 0; k < PIPES; k++)
			if (holds[p][k])
				fact(pid_of(p), pid_of(p), "holds", TOLD,
				     ARGS({"file", TEXT, TEXT_OF(pipe_names[k])},
					  {"to", TEXT, TEXT_OF(holdings[holds[p][k]])}));
	}
	fact(7, 7, "sampling", LAST, NO_ARGS);
}

START_TEST(those_whom_nobody_can_help)
{
	struct fxt_stuck stuck;
	bool told[PROCESSES * 10] = {false};

	random_seed(7000 + (uint64_t)_i);
	draw();
	put_trace();
	make_report(&report, 10);
	fxt_stuck_make(&stuck, &report);
	for (size_t i = 0; i < stuck.count; i++) {
		const struct fxt_trace_thread *t = &report.r->threads[stuck.list[i].thread];

		if (!stuck.list[i].may_go_on)
			told[t->tid - 100] = true;
	}
	for (unsigned p = 0; p < PROCESSES; p++)
		for (unsigned t = 0; t < thread_counts[p]; t++) {
			bool seen[ALL] = {false};

			ck_assert_msg(told[10 * p + t] == (lives[p][t].does != HAS_ENDED &&
							    !goes_on(p, t, seen)),
				      "drawing %d: thread %u of process %u, which does %d", _i, t, p,
				      lives[p][t].does);
		}
	fxt_stuck_free(&stuck);
	end_report(&report);
}
END_TEST

/* -- Rules ----------------------------------------------------------------------------------------- */

static const struct fxt_finding *found(unsigned rule)
{
	for (size_t i = 0; i < findings.count; i++)
		if (findings.list[i].rule == &fxt_rules[rule])
			return &findings.list[i];
	return NULL;
}

/* Fails unless the trace has a finding of this rule alone, and its culprit is this function. */
static void expect(unsigned rule, const char *function)
{
	char *line;

	make_report(&report, 10);
	fxt_findings_make(&findings, &report, 0);
	ck_assert_uint_eq(findings.count, 1);
	ck_assert_ptr_nonnull(found(rule));
	ck_assert_str_eq(fxt_gravity_names[found(rule)->rule->gravity], "end");
	line = fxt_who_line(report.who, found(rule)->purpose, found(rule)->innermost, 100);
	ck_assert_msg(line && strstr(line, function), "%s is not by %s", line ? line : "(null)", function);
	free(line);
	fxt_findings_free(&findings);
	end_report(&report);
}

/* Begins a trace of a process 7 with two threads, and a child 200. */
static void begin_family(void)
{
	begin_trace();
	frame(1, 0, "start_child", "/bin/app", 0x10);
	frame(2, 0, "wait_here", "/bin/app", 0x20);
	call(1, "io", "fsync", 1 * MS, 2 * MS);
	event(ASYNC_BEGIN, 1, "process", "child", 3 * MS, 60,
	      ARGS({"pid", KOID, 200}, {"stack", POINTER, 1}));
}

static void begin_child(void)
{
	provider(9);
	thread(1, 200, 200);
	frame(1, 0, "wait_in_child", "/bin/app", 0x30);
	call(1, "io", "fsync", 4 * MS, 5 * MS);
}

static void tell_blocked(uint64_t pid, const char *wants, const char *file)
{
	fact(pid, pid, "long blocked", TOLD,
	     ARGS({"wants", TEXT, TEXT_OF(wants)}, {"file", TEXT, TEXT_OF(file)},
		  {"by", TEXT, TEXT_OF(file)}));
}

static void tell_holder(uint64_t pid, const char *file, const char *to)
{
	fact(pid, pid, "holds", TOLD,
	     ARGS({"file", TEXT, TEXT_OF(file)}, {"to", TEXT, TEXT_OF(to)}, {"fd", UINT, 8}));
}

START_TEST(a_child_that_keeps_a_writing_end)
{
	begin_family();
	event(COMPLETE, 1, "io", "read", 6 * MS, 7 * MS, ARGS({"fd", INT, 3}, {"ret", INT, 100}));
	event(BEGIN, 1, "io", "read", BEGUN, 0, ARGS({"fd", INT, 3}));
	begin_child();
	event(BEGIN, 1, "io", "read", BEGUN, 0, ARGS({"fd", INT, 5}));
	kernel();
	tell_blocked(7, "read", "pipe:[1]");
	tell_blocked(200, "read", "pipe:[2]");
	tell_holder(7, "pipe:[1]", "read");
	tell_holder(200, "pipe:[1]", "both");
	tell_holder(7, "pipe:[2]", "write");
	tell_holder(200, "pipe:[2]", "read");
	fact(7, 7, "sampling", LAST, NO_ARGS);
	expect(FXT_RULE_no_end_of_file, "start_child");
}
END_TEST

START_TEST(two_full_pipes)
{
	begin_family();
	event(INSTANT, 1, "agent", "blocked", BEGUN, 0, ARGS({"stack", POINTER, 2}));
	event(BEGIN, 1, "io", "write", BEGUN, 0, ARGS({"fd", INT, 4}));
	begin_child();
	event(BEGIN, 1, "io", "write", BEGUN, 0, ARGS({"fd", INT, 1}));
	kernel();
	tell_blocked(7, "write", "pipe:[1]");
	tell_blocked(200, "write", "pipe:[2]");
	tell_holder(200, "pipe:[1]", "read");
	tell_holder(7, "pipe:[2]", "read");
	fact(7, 7, "sampling", LAST, NO_ARGS);
	expect(FXT_RULE_stuck, "wait_here");
}
END_TEST

/* One that has a processor after the kernel told of it, and leaves it, is not where it was. */
START_TEST(who_went_on)
{
	begin_family();
	event(BEGIN, 1, "io", "write", BEGUN, 0, ARGS({"fd", INT, 4}));
	begin_child();
	event(BEGIN, 1, "io", "write", BEGUN, 0, ARGS({"fd", INT, 1}));
	kernel();
	tell_blocked(7, "write", "pipe:[1]");
	tell_blocked(200, "write", "pipe:[2]");
	tell_holder(200, "pipe:[1]", "read");
	tell_holder(7, "pipe:[2]", "read");
	switched(TOLD + MS, 2, 0, 200);
	switched(TOLD + 2 * MS, 2, 200, 0);
	fact(7, 7, "sampling", LAST, NO_ARGS);
	make_report(&report, 10);
	fxt_findings_make(&findings, &report, 0);
	ck_assert_uint_eq(findings.count, 0);
	fxt_findings_free(&findings);
	end_report(&report);
}
END_TEST

START_TEST(a_fifo_without_a_reader)
{
	begin_trace();
	call(1, "io", "fsync", 1 * MS, 2 * MS);
	event(BEGIN, 1, "io", "open", BEGUN, 0, NO_ARGS);
	kernel();
	frame(1, 0, "open_control", "/bin/app", 0x10);
	fact(7, 7, "long blocked", TOLD,
	     ARGS({"wants", TEXT, TEXT_OF("open to write")}, {"file", TEXT, TEXT_OF("control.fifo")},
		  {"stack", POINTER, 1}));
	fact(7, 7, "sampling", LAST, NO_ARGS);
	expect(FXT_RULE_no_end_of_file, "open_control");
}
END_TEST

static void wait_for_wakeup(uint64_t signalled_at, unsigned ended)
{
	begin_trace();
	frame(1, 0, "await_settings", "/bin/app", 0x10);
	call(1, "io", "fsync", 1 * MS, 2 * MS);
	call(2, "io", "fsync", 1 * MS, 2 * MS);
	event(ASYNC_BEGIN, 2, "pthread", "thread", 1 * MS, 50, ARGS({"thread", UINT, 0x7000}));
	event(COMPLETE, 1, "pthread", "pthread_cond_signal", signalled_at, signalled_at + 1000,
	      ARGS({"cond", POINTER, 0x5000}));
	event(BEGIN, 1, "pthread", "pthread_join", BEGUN, 0, ARGS({"thread", UINT, ended ? 0x6000 : 0x7000}));
	event(INSTANT, 2, "agent", "blocked", BEGUN + 1, 0, ARGS({"stack", POINTER, 1}));
	event(BEGIN, 2, "pthread", "pthread_cond_wait", BEGUN, 0, ARGS({"cond", POINTER, 0x5000}));
	kernel();
	fact(99, 99, "sampling", LAST, NO_ARGS);
}

START_TEST(a_wakeup_before_its_wait)
{
	wait_for_wakeup(BEGUN - MS, 0);
	expect(FXT_RULE_lost_wakeup, "await_settings");
	wait_for_wakeup(BEGUN + MS, 0);
	expect(FXT_RULE_stuck, "await_settings");
}
END_TEST

START_TEST(a_lock_of_the_parent)
{
	begin_family();
	begin_child();
	event(INSTANT, 1, "agent", "contended", BEGUN + 1, 0,
	      ARGS({"mutex", POINTER, 0x5000}, {"at", TEXT, TEXT_OF("write_log")}, {"holder", KOID, 8},
		   {"stack", POINTER, 1}));
	event(BEGIN, 1, "pthread", "pthread_mutex_lock", BEGUN, 0, ARGS({"mutex", POINTER, 0x5000}));
	provider(7);
	thread(2, 7, 8);
	call(2, "io", "fsync", 1 * MS, 2 * MS);
	kernel();
	fact(99, 99, "sampling", LAST, NO_ARGS);
	expect(FXT_RULE_fork_lock, "start_child");
}
END_TEST

/* A lock whose holder has ended is held for ever. */
START_TEST(a_lock_of_a_thread_that_ended)
{
	for (unsigned has_ended = 0; has_ended < 2; has_ended++) {
		begin_trace();
		frame(1, 0, "take_lock", "/bin/app", 0x10);
		call(1, "io", "fsync", 1 * MS, 2 * MS);
		call(2, "io", "fsync", 1 * MS, 2 * MS);
		event(ASYNC_BEGIN, 2, "pthread", "thread", 1 * MS, 50, ARGS({"thread", UINT, 0x7000}));
		if (has_ended)
			event(ASYNC_END, 2, "pthread", "thread", 5 * MS, 50, NO_ARGS);
		event(INSTANT, 1, "agent", "contended", BEGUN + 1, 0,
		      ARGS({"mutex", POINTER, 0x5000}, {"holder", KOID, 8}, {"stack", POINTER, 1}));
		event(BEGIN, 1, "pthread", "pthread_mutex_lock", BEGUN, 0, ARGS({"mutex", POINTER, 0x5000}));
		kernel();
		fact(99, 99, "sampling", LAST, NO_ARGS);
		if (has_ended) {
			expect(FXT_RULE_stuck, "take_lock");
			continue;
		}
		make_report(&report, 10);
		fxt_findings_make(&findings, &report, 0);
		ck_assert_ptr_null(found(FXT_RULE_stuck));
		fxt_findings_free(&findings);
		end_report(&report);
	}
}
END_TEST

int main(void)
{
	TCase *who = tcase_create("who"), *rules = tcase_create("rules");

	tcase_add_loop_test(who, those_whom_nobody_can_help, 0, 200);
	tcase_add_test(rules, a_child_that_keeps_a_writing_end);
	tcase_add_test(rules, two_full_pipes);
	tcase_add_test(rules, who_went_on);
	tcase_add_test(rules, a_fifo_without_a_reader);
	tcase_add_test(rules, a_wakeup_before_its_wait);
	tcase_add_test(rules, a_lock_of_the_parent);
	tcase_add_test(rules, a_lock_of_a_thread_that_ended);
	return RUN_SUITE("stuck", who, rules);
}
