/* This tests from which facts the report concludes that a deadlock is possible: which lock it was, who held
 * it, what the trace has lost, and how much is looked at. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>

#include "lock_maker.h"
#include "suite.h"

/* -- Which lock it is ------------------------------------------------------------------------------------ */

START_TEST(remade)
{
	begin();
	takes(1, A, B);
	if (_i == 0)
		make(A);
	else if (_i == 1)
		call_about(1, "pthread_mutex_destroy", "mutex", A);
	else if (_i == 2)
		event(COMPLETE, 1, "malloc", "calloc", now, now + 5,
		      ARGS({"nmemb", UINT, 2}, {"size", UINT, 0x10}, {"ret", POINTER, A - 0x1f}));
	else if (_i == 3)
		event(COMPLETE, 1, "malloc", "malloc", now, now + 5,
		      ARGS({"size", UINT, 0x10}, {"ret", POINTER, A - 0x10}));
	else
		event(COMPLETE, 1, "malloc", "posix_memalign", now, now + 5,
		      ARGS({"ptr", POINTER, A}, {"size", UINT, 1}, {"ret", INT, 0}));
	now += 20;
	takes(2, B, A);
	/* The block of case 3 ends before A. */
	expect_circles(_i == 3);
	end_report(&report);
}
END_TEST

/* A thread that held a lock which was there before does not hold the one that is there now. */
START_TEST(remade_while_held)
{
	begin();
	lock(1, A);
	if (_i)
		make(A);
	takes(1, B, C);
	takes(2, B, A);
	expect_circles(_i == 0);
	end_report(&report);
}
END_TEST

/* A lock of which nobody knows whether it was the same all the time is left out. One that has the name of a
 * variable is known, and so is one in a heap block. */
START_TEST(certain)
{
	enum { X = 0x2000 };
	const char *const names[] = {NULL, "mutex first used by work", "app_lock", "mutex_of_app",
				     NULL, NULL};

	begin();
	if (_i == 4)
		event(COMPLETE, 1, "malloc", "malloc", now, now + 5,
		      ARGS({"size", UINT, 0x100}, {"ret", POINTER, X - 0x10}));
	/* The program allocates from mappings as it likes. */
	if (_i == 5)
		event(COMPLETE, 1, "malloc", "mmap", now, now + 5,
		      ARGS({"length", UINT, 0x100}, {"ret", POINTER, X - 0x10}));
	if (names[_i])
		named(1, "mutex", X, names[_i], 5);
	takes(1, X, B);
	takes(2, B, X);
	expect_circles(_i >= 2 && _i <= 4);
	end_report(&report);
}
END_TEST

/* The trace says by another record that another lock is at the address. */
START_TEST(renamed)
{
	begin();
	named(1, "mutex", A, "one_lock", 5);
	takes(1, A, B);
	named(1, "mutex", A, "another_lock", now);
	takes(2, B, A);
	if (_i)
		takes(1, A, B);
	expect_circles(_i);
	end_report(&report);
}
END_TEST

/* -- Who holds it ---------------------------------------------------------------------------------------- */

/* Another thread gives the lock up: then the first one holds it no more. */
START_TEST(given_up_by_another)
{
	begin();
	takes(3, B, A);
	lock(2, A);
	if (_i)
		unlock(1, A);
	takes(2, B, C);
	expect_circles(_i == 0);
	end_report(&report);
}
END_TEST

/* Nobody was seen to give the lock up, but another thread gets it. */
START_TEST(got_by_another)
{
	begin();
	takes(3, B, A);
	lock(2, A);
	if (_i) {
		lock(1, A);
		unlock(1, A);
	}
	takes(2, B, C);
	expect_circles(_i == 0);
	end_report(&report);
}
END_TEST

/* Then the first thread gets it once more, which is no recursion. */
START_TEST(got_again)
{
	begin();
	lock(1, A);
	takes(2, A, B);
	takes(2, B, A);
	lock_both(1, B, A);
	expect_one();
}
END_TEST

/* This is the same test for a lock that was taken for reading. Which reader holds it no more is not known if
 * another thread gives it up, so the lock is left out. */
START_TEST(readers_given_up)
{
	begin();
	thread(4, 7, 10);
	lock(1, B);
	write_lock(1, A);
	unlock_rwlock(1, A);
	unlock(1, B);
	read_lock(2, A);
	read_lock(3, A);
	if (_i == 0)
		unlock_rwlock(4, A);
	if (_i == 1)
		write_lock(4, A);
	takes(2, B, C);
	expect_circles(_i == 2);
	end_report(&report);
}
END_TEST

/* A thread that gives up a lock that it was not seen to take may have held it all the time. */
START_TEST(unknown_before)
{
	begin();
	takes(1, A, B);
	takes(2, B, A);
	if (_i)
		unlock(2, 0x7777);
	if (_i == 2)
		takes(2, B, A);
	expect_circles(_i != 1);
	if (_i == 2)
		ck_assert_uint_eq(report.lock_orders.circles.list[0].orders[1].count, 1);
	end_report(&report);
}
END_TEST

/* Threads of two processes have nothing in common, nor have two programs that one process was. */
START_TEST(processes)
{
	begin();
	thread(4, _i ? 7 : 70, _i ? 10 : 71);
	takes(1, A, B);
	takes(1, B, A);
	if (_i == 1)
		lock(4, B);
	else
		takes(4, B, A);
	if (_i == 1) {
		provider(71);
		thread(4, 7, 10);
		lock(4, A);
	}
	expect_none();
}
END_TEST

/* A thread that ends has given up all, as far as one that has the same number is concerned. */
START_TEST(thread_ids_come_again)
{
	begin();
	takes(1, B, A);
	lock(2, A);
	event(ASYNC_BEGIN, 2, "pthread", "thread", now, 1, ARGS({"thread", UINT, 0x7000}));
	now += 20;
	takes(2, B, C);
	expect_none();
}
END_TEST

/* -- Losses ---------------------------------------------------------------------------------------------- */

static void lost(const char *counter, const char *told, uint64_t told_ns)
{
	event(1, 3, "agent", counter, now, 1, ARGS({"records", UINT, 3}));
	if (told)
		event(INSTANT, 3, "agent", told, told_ns, 0, ARGS({"reason", TEXT, TEXT_OF("none")}));
}

enum { LOSSES = 9 };

START_TEST(losses)
{
	static const struct {
		const char *counter, *told;
		bool before, finds;
	} cases[LOSSES] = {
		/* It is known when the first was lost, and that was before the locks were taken or after. */
		{"dropped", "buffer full", true, false},
		{"dropped", "buffer full", false, true},
		/* It is not known when that was. */
		{"dropped", NULL, false, false},
		{"dropped_signals", "dropped", false, true},
		{"dropped_size", "dropped", true, false},
		/* Functions that nest too deep are no calls. */
		{"dropped_depth", "dropped", true, true},
		/* These may have been any. */
		{"filtered", NULL, false, false},
		{"overwritten", "overwritten", false, false},
		{"unnamed", NULL, false, true},
	};

	begin();
	if (cases[_i].before)
		lost(cases[_i].counter, cases[_i].told, now);
	now += 2000000;
	takes(1, A, B);
	takes(2, B, A);
	now += 2000000;
	if (!cases[_i].before)
		lost(cases[_i].counter, cases[_i].told, now);
	expect_circles(cases[_i].finds);
	end_report(&report);
}
END_TEST

/* Another process loses nothing by it. */
START_TEST(losses_of_another_process)
{
	begin();
	thread(4, 70, 71);
	event(1, 4, "agent", "filtered", now, 1, ARGS({"records", UINT, 3}));
	takes(1, A, B);
	takes(2, B, A);
	expect_one();
}
END_TEST

START_TEST(recording_begins_or_ends)
{
	begin();
	if (_i == 0)
		event(INSTANT, 3, "agent", "recording started", now, 0, NO_ARGS);
	takes(1, A, B);
	if (_i == 1)
		event(INSTANT, 3, "agent", "recording stopped", now, 0, NO_ARGS);
	now += 100;
	takes(2, B, A);
	if (_i == 2)
		event(INSTANT, 3, "agent", "recording stopped", now, 0, NO_ARGS);
	expect_circles(_i == 2);
	end_report(&report);
}
END_TEST

/* -- Bounds ---------------------------------------------------------------------------------------------- */

/* A thread that holds too many locks at once is not followed from there on, as nobody would know how long it
 * holds the others. */
START_TEST(many_held)
{
	begin();
	takes(1, A, B);
	takes(1, B, A);
	for (uint64_t i = 0; i < (uint64_t)_i; i++)
		lock(2, LOCKS + i);
	for (uint64_t i = 0; i < (uint64_t)_i; i++)
		unlock(2, LOCKS + i);
	takes(2, B, A);
	expect_circles(_i <= FXT_LOCK_STACK_MAX);
	end_report(&report);
}
END_TEST

/* The deepest situation that there is, with all of its orders. */
START_TEST(deep)
{
	enum { DEPTH = FXT_LOCK_STACK_MAX };

	begin();
	for (uint64_t i = 0; i < DEPTH; i++)
		make(LOCKS + i);
	for (uint64_t i = 0; i < DEPTH; i++)
		lock(1, LOCKS + i);
	for (uint64_t i = 0; i < DEPTH; i++)
		unlock(1, LOCKS + i);
	takes(2, LOCKS + DEPTH - 1, LOCKS);
	takes(2, LOCKS + 1, LOCKS);
	expect_circles(2);
	end_report(&report);
}
END_TEST

/* Of many threads that do the same, eight are known. That is enough for any circle. */
START_TEST(many_threads)
{
	enum { THREADS = 20 };

	begin();
	for (unsigned i = 0; i < THREADS; i++) {
		thread(4 + i, 7, 10 + i);
		takes(4 + i, A, B);
	}
	takes(4, B, A);
	expect_one();
}
END_TEST

/* More situations than are kept. Those that come first are. */
START_TEST(many_situations)
{
	enum { PAIRS = FXT_LOCK_NOTED_MAX / 2 + 10 };

	begin();
	lock(1, 0x99999000);
	for (uint64_t i = 0; i < PAIRS; i++) {
		uint64_t one = 0x100000 + 0x100 * i;

		named(1, "mutex", one, "app_lock", 1);
		named(1, "mutex", one + 0x80, "app_lock", 1);
		call_about(2, "pthread_mutex_lock", "mutex", one);
		lock(2, one + 0x80);
		unlock_both(2, one, one + 0x80);
		lock_both(3, one + 0x80, one);
		unlock_both(3, one + 0x80, one);
	}
	expect_circles(FXT_LOCK_CIRCLES_MAX);
	ck_assert_uint_eq(report.lock_orders.replay.count, FXT_LOCK_NOTED_MAX);
	end_report(&report);
}
END_TEST

/* -- The file -------------------------------------------------------------------------------------------- */

/* A thread's chunks need not stand in the order of time. What it holds at the end of one it holds in the
 * next, which may stand anywhere. */
START_TEST(chunks_out_of_order)
{
	uint64_t begin_ns;

	begin();
	takes(1, A, B);
	begin_ns = now;
	thread(2, 7, 8);
	now = begin_ns + 1000;
	lock(2, A);
	unlock_both(2, B, A);
	if (_i) {
		/* Between these two it had given B up. */
		now = begin_ns + 500;
		thread(2, 7, 8);
		unlock(2, B);
	}
	thread(2, 7, 8);
	now = begin_ns;
	lock(2, B);
	expect_circles(_i == 0);
	end_report(&report);
}
END_TEST

/* It holds the lock throughout a chunk. */
START_TEST(held_throughout_chunks)
{
	uint64_t begin_ns;

	begin();
	takes(1, A, B);
	begin_ns = now;
	thread(2, 7, 8);
	now = begin_ns + 1000;
	takes(2, C, A);
	thread(2, 7, 8);
	now = begin_ns;
	lock(2, B);
	thread(2, 7, 8);
	now = begin_ns + 2000;
	unlock(2, B);
	expect_one();
}
END_TEST

int main(void)
{
	TCase *who = tcase_create("which and whose"), *bounds = tcase_create("losses and bounds");

	tcase_add_loop_test(who, remade, 0, 5);
	tcase_add_loop_test(who, remade_while_held, 0, 2);
	tcase_add_loop_test(who, certain, 0, 6);
	tcase_add_loop_test(who, renamed, 0, 2);
	tcase_add_loop_test(who, given_up_by_another, 0, 2);
	tcase_add_loop_test(who, got_by_another, 0, 2);
	tcase_add_test(who, got_again);
	tcase_add_loop_test(who, readers_given_up, 0, 3);
	tcase_add_loop_test(who, unknown_before, 0, 3);
	tcase_add_loop_test(who, processes, 0, 2);
	tcase_add_test(who, thread_ids_come_again);
	tcase_add_loop_test(bounds, losses, 0, LOSSES);
	tcase_add_test(bounds, losses_of_another_process);
	tcase_add_loop_test(bounds, recording_begins_or_ends, 0, 3);
	tcase_add_loop_test(bounds, many_held, FXT_LOCK_STACK_MAX - 1, FXT_LOCK_STACK_MAX + 2);
	tcase_add_test(bounds, deep);
	tcase_add_test(bounds, many_threads);
	tcase_add_test(bounds, many_situations);
	tcase_add_loop_test(bounds, chunks_out_of_order, 0, 2);
	tcase_add_test(bounds, held_throughout_chunks);
	return RUN_SUITE("report, facts about locks", who, bounds);
}
