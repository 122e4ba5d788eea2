/* This tests what is told of locks that are held across waits (tools/waits/lock_holders.h). Threads take a
 * lock in turn, wait in calls while they hold it, and let the next one go on; the model adds up what each
 * lost. FXT_SEED names the drawing. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/findings/rules.h"
#include "trace_maker.h"

enum { US = 1000, MS = 1000000, HOLDS = 12, LOCK = 0x5000 };

static struct fxt_report report;
static struct fxt_findings findings;

static struct hold {
	unsigned thread;
	uint64_t from, to, wanted;      /* it was wanted from then on */
	uint64_t wait_from, wait_to;    /* a wait of its holder; equal: there is none */
} holds[HOLDS];

static uint64_t common(uint64_t a_from, uint64_t a_to, uint64_t b_from, uint64_t b_to)
{
	uint64_t from = a_from > b_from ? a_from : b_from, to = a_to < b_to ? a_to : b_to;

	return to > from ? to - from : 0;
}

static void draw(void)
{
	uint64_t now = 10 * MS, free_from[4] = {0, now, now, now};

	for (unsigned i = 0; i < HOLDS; i++) {
		struct hold *hold = &holds[i];
		uint64_t bytes = (1 + random_below(20)) * MS;

		do
			hold->thread = 1 + (unsigned)random_below(3);
		while (i && hold->thread == holds[i - 1].thread);
		hold->from = now;
		hold->to = now += bytes;
		/* Who takes it next has wanted it since it was free itself, or later. */
		hold->wanted = free_from[hold->thread] +
			       (hold->from > free_from[hold->thread]
					? random_below(hold->from - free_from[hold->thread]) / 2
					: 0);
		hold->wait_from = hold->from + 1 * US + random_below(bytes / 4);
		hold->wait_to = hold->wait_from + (random_below(3) ? 150 * US + random_below(bytes / 4) : 0);
		free_from[hold->thread] = hold->to + 1 * US;
	}
}

static uint64_t lost_in_model(void)
{
	uint64_t lost = 0;

	for (unsigned i = 1; i < HOLDS; i++)
		for (unsigned k = 0; k < i; k++)
			if (holds[k].thread != holds[i].thread)
				lost += common(holds[i].wanted, holds[i].from, holds[k].wait_from,
					       holds[k].wait_to);
	return lost;
}

START_TEST(turns)
{
	uint64_t lost, last;

	random_seed(7500 + (uint64_t)_i);
	draw();
	begin_trace();
	call(1, "io", "fsync", 1 * MS, 2 * MS);
	for (unsigned i = 0; i < HOLDS; i++) {
		/* The first one found it free. */
		if (i)
			woken(random_below(2), holds[i].thread, "pthread_mutex_lock", LOCK, holds[i].wanted,
			      holds[i].from, holds[i - 1].thread, holds[i].from - 10, 100 + i);
		if (holds[i].wait_to > holds[i].wait_from)
			call(holds[i].thread, "time", "nanosleep", holds[i].wait_from, holds[i].wait_to);
	}
	last = holds[HOLDS - 1].to;
	call(1, "io", "fsync", last, last + MS);
	make_report(&report, 10);
	lost = lost_in_model();
	ck_assert_uint_eq(report.held.count, 1);
	ck_assert_uint_eq(report.held.list[0].count, HOLDS - 1);
	ck_assert_uint_eq(report.held.list[0].lost_ns, lost);
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

static void expect(unsigned rule, const char *function)
{
	char *line = found(rule)
			     ? fxt_who_line(report.who, found(rule)->purpose, found(rule)->innermost, 100)
			     : NULL;

	ck_assert_msg(line && strstr(line, function), "%s is not by %s", line ? line : "(null)", function);
	free(line);
}

static void find(void)
{
	make_report(&report, 10);
	fxt_findings_make(&findings, &report, 0);
}

static void end(void)
{
	fxt_findings_free(&findings);
	end_report(&report);
}

static void begin(void)
{
	begin_trace();
	frame(1, 0, "renew_token", "/bin/app", 0x10);
	call(3, "io", "fsync", 1 * MS, 2 * MS);
	call(3, "io", "fsync", 199 * MS, 200 * MS);
}

static void sleep_in(unsigned thread_index, uint64_t from, uint64_t to)
{
	event(COMPLETE, thread_index, "time", "nanosleep", from, to, ARGS({"stack", POINTER, 1}));
}

/* A unit of a semaphore is held by who took one. One that only posts produces, and holds nothing. */
START_TEST(units)
{
	for (unsigned takes = 0; takes < 2; takes++) {
		begin();
		if (takes)
			event(COMPLETE, 1, "pthread", "sem_wait", 9 * MS, 9 * MS + 100,
			      ARGS({"sem", POINTER, LOCK}, {"ret", INT, 0}));
		sleep_in(1, 20 * MS, 80 * MS);
		event(COMPLETE, 1, "pthread", "sem_post", 90 * MS, 90 * MS + 100,
		      ARGS({"sem", POINTER, LOCK}, {"ret", INT, 0}));
		woken(true, 2, "sem_wait", LOCK, 10 * MS, 91 * MS, 1, 90 * MS, 100);
		find();
		if (takes)
			expect(FXT_RULE_held_lock, "renew_token");
		ck_assert_int_eq(found(FXT_RULE_held_lock) != NULL, takes);
		end();
	}
}
END_TEST

/* Processes lock a file, and nobody but the calls tells who has it. */
START_TEST(files)
{
	begin();
	event(COMPLETE, 1, "io", "open", 3 * MS, 4 * MS,
	      ARGS({"pathname", TEXT, TEXT_OF("spool.lock")}, {"ret", INT, 3}));
	event(COMPLETE, 1, "io", "flock", 5 * MS, 5 * MS + US,
	      ARGS({"fd", INT, 3}, {"operation", INT, LOCK_EX}, {"ret", INT, 0}));
	sleep_in(1, 20 * MS, 80 * MS);
	event(COMPLETE, 1, "io", "flock", 90 * MS, 90 * MS + US,
	      ARGS({"fd", INT, 3}, {"operation", INT, LOCK_UN}, {"ret", INT, 0}));
	sleep_in(1, 91 * MS, 120 * MS);
	provider(8);
	thread(1, 100, 100);
	event(COMPLETE, 1, "io", "open", 3 * MS, 4 * MS,
	      ARGS({"pathname", TEXT, TEXT_OF("spool.lock")}, {"ret", INT, 5}));
	event(COMPLETE, 1, "io", "flock", 10 * MS, 91 * MS,
	      ARGS({"fd", INT, 5}, {"operation", INT, LOCK_EX}, {"ret", INT, 0}));
	find();
	expect(FXT_RULE_held_lock, "renew_token");
	ck_assert_uint_eq(found(FXT_RULE_held_lock)->cost_ns, 60 * MS);
	end();
}
END_TEST

/* Where holders compute, samples say in what. */
START_TEST(work)
{
	begin();
	frame(2, 0, "find_session", "/bin/app", 0x20);
	event(COMPLETE, 2, "lock", "pthread_mutex_lock", 100 * MS, 190 * MS,
	      ARGS({"mutex", POINTER, LOCK}, {"at", TEXT, TEXT_OF("find_session")}, {"stack", POINTER, 2}));
	woken(true, 2, "pthread_mutex_lock", LOCK, 10 * MS, 90 * MS, 1, 89 * MS, 100);
	kernel();
	frame(3, 0, "rebuild_order", "/bin/app", 0x30);
	fact(7, 7, "sampling", 1 * MS, ARGS({"hz", UINT, 199}));
	for (unsigned i = 0; i < 10; i++)
		sample(7, 7, (15 + 5 * i) * MS, 3, "rebuild_order");
	find();
	ck_assert_ptr_null(found(FXT_RULE_held_lock));
	expect(FXT_RULE_contention, "rebuild_order");
	end();
}
END_TEST

int main(void)
{
	TCase *all = tcase_create("all");

	tcase_add_loop_test(all, turns, 0, 200);
	tcase_add_test(all, units);
	tcase_add_test(all, files);
	tcase_add_test(all, work);
	return RUN_SUITE("held", all);
}
