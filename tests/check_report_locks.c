/* This tests what the report says of locks that were taken in both orders, by the orders and by the calls
 * that take locks. Of every trace it is known whether a deadlock is possible. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lock_maker.h"
#include "suite.h"

/* -- Orders ---------------------------------------------------------------------------------------------- */

START_TEST(both_orders)
{
	uint64_t first_ns, then_ns;

	begin();
	takes(3, B, C);
	first_ns = now + 30;
	takes(1, A, B);
	takes(1, A, B);
	then_ns = now + 30;
	takes(2, B, A);
	expect_circles(1);
	ck_assert_uint_eq(report.lock_orders.circles.list[0].count, 2);
	expect_order(0, 0, A, B, 7, first_ns, 2);
	expect_order(0, 1, B, A, 8, then_ns, 1);
	end_report(&report);
}
END_TEST

START_TEST(one_order)
{
	begin();
	for (unsigned i = 1; i <= 3; i++) {
		takes(i, A, B);
		takes(i, B, C);
		takes(i, A, C);
	}
	lock(1, B);
	unlock(1, B);
	takes(2, A, B);
	expect_none();
}
END_TEST

/* A thread does not wait for itself. Two are needed, and each order may be another one's. */
START_TEST(one_thread)
{
	begin();
	takes(1, A, B);
	takes(1, B, A);
	if (_i == 1)
		takes(2, A, B);
	if (_i == 2)
		takes(2, B, C);
	expect_circles(_i == 1);
	if (_i == 1) {
		const struct fxt_lock_order *orders = report.lock_orders.circles.list[0].orders;

		ck_assert_uint_ne(orders[0].thread, orders[1].thread);
	}
	end_report(&report);
}
END_TEST

/* Another lock that both hold keeps them apart. */
START_TEST(gate)
{
	begin();
	lock(1, G);
	takes(1, A, B);
	unlock(1, G);
	if (_i != 1)
		lock(2, G);
	takes(2, B, A);
	if (_i != 1)
		unlock(2, G);
	if (_i == 2)
		takes(3, B, A);
	if (_i == 3)
		takes(1, B, A);
	expect_circles(_i == 1 || _i == 2);
	if (_i == 2)
		ck_assert_uint_eq(tid_of(report.lock_orders.circles.list[0].orders[1].thread), 9);
	end_report(&report);
}
END_TEST

/* In each of the two situations of the first thread it holds one of the locks that the second thread holds,
 * though not the same one. */
START_TEST(gates_by_situation)
{
	begin();
	lock(1, G);
	takes(1, A, B);
	unlock(1, G);
	lock(1, C);
	takes(1, A, B);
	unlock(1, C);
	lock_both(2, C, G);
	takes(2, B, A);
	unlock_both(2, C, G);
	expect_none();
}
END_TEST

/* A gate that both hold for reading keeps nobody apart. */
START_TEST(gate_for_reading)
{
	begin();
	for (unsigned thread_index = 1; thread_index <= 2; thread_index++) {
		if (_i && thread_index == 2)
			write_lock(thread_index, G);
		else
			read_lock(thread_index, G);
		takes(thread_index, thread_index == 1 ? A : B, thread_index == 1 ? B : A);
		unlock_rwlock(thread_index, G);
	}
	expect_circles(_i == 0);
	end_report(&report);
}
END_TEST

START_TEST(longer_circles)
{
	uint64_t locks = (uint64_t)_i;

	begin();
	for (uint64_t i = 0; i < locks; i++)
		make(LOCKS + i);
	for (uint64_t i = 0; i < locks; i++) {
		thread(4 + (unsigned)i, 7, 10 + i);
		takes(4 + (unsigned)i, LOCKS + i, LOCKS + (i + 1) % locks);
	}
	expect_circles(locks <= FXT_LOCK_CIRCLE_MAX);
	if (report.lock_orders.circles.count) {
		const struct fxt_lock_circle *circle = &report.lock_orders.circles.list[0];

		ck_assert_uint_eq(circle->count, locks);
		for (size_t i = 0; i < locks; i++)
			ck_assert_uint_eq(circle->orders[i].then, circle->orders[(i + 1) % locks].first);
	}
	end_report(&report);
}
END_TEST

/* A circle of three needs three threads. */
START_TEST(threads_of_a_longer_circle)
{
	begin();
	takes(1, A, B);
	takes(2, B, C);
	takes(_i ? 3 : 1, C, A);
	expect_circles(_i);
	end_report(&report);
}
END_TEST

/* -- Kinds of calls -------------------------------------------------------------------------------------- */

/* Who tries does not wait, but others wait for a lock that it got. */
START_TEST(tries)
{
	const char *const name[] = {"pthread_mutex_trylock", "pthread_mutex_timedlock"};

	begin();
	takes(1, A, B);
	if (_i < 2) {
		lock(2, B);
		call_about(2, name[_i], "mutex", A);
	} else {
		try(2, B);
		lock(2, A);
	}
	unlock_both(2, B, A);
	expect_circles(_i == 2);
	end_report(&report);
}
END_TEST

/* A call that failed took and gave up nothing. The previous owner's death is no failure. */
START_TEST(failures)
{
	begin();
	takes(1, A, B);
	failed(2, "pthread_mutex_lock", B, _i == 0 ? EINVAL : EOWNERDEAD);
	if (_i == 2)
		failed(2, "pthread_mutex_unlock", B, EPERM);
	lock(2, A);
	unlock(2, A);
	if (_i)
		unlock(2, B);
	expect_circles(_i > 0);
	end_report(&report);
}
END_TEST

/* Calls of the program's own that have the name of one of the C library's take no lock. */
START_TEST(other_categories)
{
	begin();
	takes(1, A, B);
	event(COMPLETE, 2, "function", "pthread_mutex_lock", now, now + 10, ARGS({"mutex", POINTER, B}));
	now += 20;
	lock(2, A);
	unlock_both(2, B, A);
	expect_none();
}
END_TEST

START_TEST(c11)
{
	begin();
	takes(1, A, B);
	for (int i = 0; i < 2; i++)
		event(COMPLETE, 2, "pthread", i ? "mtx_lock" : "mtx_timedlock", now + 20, now + 30,
		      ARGS({"mutex", POINTER, i ? A : B}, {"ret", INT, i ? 0 : _i}));
	now += 40;
	unlock_both(2, B, A);
	expect_circles(_i == 0);
	end_report(&report);
}
END_TEST

START_TEST(spin_locks)
{
	begin();
	for (unsigned i = 1; i <= 2; i++) {
		call_about(i, "pthread_spin_lock", "lock", i == 1 ? A : B);
		call_about(i, "pthread_spin_lock", "lock", i == 1 ? B : A);
		call_about(i, "pthread_spin_unlock", "lock", B);
		call_about(i, "pthread_spin_unlock", "lock", A);
	}
	expect_one();
}
END_TEST

/* Readers keep out writers, and not each other. Bits of _i say which of the four calls is for reading. */
START_TEST(read_write_locks)
{
	bool is_shared[4];

	begin();
	for (int i = 0; i < 4; i++) {
		is_shared[i] = _i >> i & 1;
		(is_shared[i] ? read_lock : write_lock)(1 + (unsigned)i / 2, i == 0 || i == 3 ? A : B);
		if (i % 2) {
			unlock_rwlock(1 + (unsigned)i / 2, A);
			unlock_rwlock(1 + (unsigned)i / 2, B);
		}
	}
	/* One thread has A and wants B, the other has B and wants A. */
	expect_circles(!(is_shared[0] && is_shared[3]) && !(is_shared[1] && is_shared[2]));
	end_report(&report);
}
END_TEST

/* Waiting for a condition takes the mutex again, while the thread holds what it held before. */
START_TEST(conditions)
{
	begin();
	takes(1, A, B);
	if (_i == 0) {
		/* It held A already when it took B, and takes A again while it holds B. */
		lock_both(2, A, B);
		wait_for_condition(2, A);
		unlock_both(2, A, B);
	} else if (_i == 1) {
		lock(2, A);
		wait_for_condition(2, A);
		lock(2, B);
		unlock_both(2, A, B);
	} else {
		/* This one began to hold A before the trace begins. */
		lock(2, B);
		wait_for_condition(2, A);
		unlock_both(2, A, B);
	}
	expect_circles(_i != 1);
	end_report(&report);
}
END_TEST

START_TEST(recursion)
{
	begin();
	lock_both(1, A, B);
	lock(1, A);
	unlock(1, A);
	unlock_both(1, A, B);
	lock_both(2, A, B);
	lock(2, A);
	unlock(2, A);
	unlock_both(2, A, B);
	if (_i) {
		/* It has B twice, and holds it until it has given it up as often. */
		lock_both(2, B, B);
		unlock(2, B);
		lock(2, A);
		unlock_both(2, A, B);
	}
	expect_circles(_i);
	end_report(&report);
}
END_TEST

/* -- What is printed ------------------------------------------------------------------------------------- */

static char *printed(size_t top)
{
	size_t bytes;
	char *text;
	FILE *out = open_memstream(&text, &bytes);

	make_report(&report, top);
	print_report(&report, out);
	fclose(out);
	end_report(&report);
	return text;
}

START_TEST(prints)
{
	char *text;

	begin();
	named(1, "mutex", A, "accounts_lock", 1);
	named(1, "mutex", B, "mutex of pool_create", 1);
	named(1, "mutex", C, "mutex of pool_create", 1);
	takes(1, A, B);
	takes(2, B, A);
	takes(2, B, A);
	takes(2, B, C);
	takes(3, C, B);
	text = printed(_i ? 2 : 10);
	ck_assert_msg(strstr(text, "\nLOCKS TAKEN IN BOTH ORDERS: a deadlock is possible\n"
				   "  accounts_lock, then mutex of pool_create: 7, first 110 ns after the "
				   "start, 1 time\n"
				   "    mutex of pool_create, then accounts_lock: 8, first 190 ns after "
				   "the start, 2 times\n"),
		      "%s", text);
	/* Locks of one name have their addresses, and what is too long takes two lines. */
	ck_assert_msg(_i == !strstr(text, "  mutex of pool_create 0xb0, then mutex of pool_create 0xc0:\n"
					  "          8, first 350 ns after the start, 1 time\n"
					  "    mutex of pool_create 0xc0, then mutex of pool_create 0xb0:\n"
					  "          9, first 430 ns after the start, 1 time\n"),
		      "%s", text);
	ck_assert_msg(_i == !!strstr(text, "  and 1 more\n"), "%s", text);
	free(text);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("orders"), *kinds = tcase_create("calls");

	tcase_add_test(c, both_orders);
	tcase_add_test(c, one_order);
	tcase_add_loop_test(c, one_thread, 0, 3);
	tcase_add_loop_test(c, gate, 0, 4);
	tcase_add_test(c, gates_by_situation);
	tcase_add_loop_test(c, gate_for_reading, 0, 2);
	tcase_add_loop_test(c, longer_circles, 3, FXT_LOCK_CIRCLE_MAX + 2);
	tcase_add_loop_test(c, threads_of_a_longer_circle, 0, 2);
	tcase_add_loop_test(c, prints, 0, 2);
	tcase_add_loop_test(kinds, tries, 0, 3);
	tcase_add_loop_test(kinds, failures, 0, 3);
	tcase_add_test(kinds, other_categories);
	tcase_add_loop_test(kinds, c11, 0, 2);
	tcase_add_test(kinds, spin_locks);
	tcase_add_loop_test(kinds, read_write_locks, 0, 16);
	tcase_add_loop_test(kinds, conditions, 0, 3);
	tcase_add_loop_test(kinds, recursion, 0, 2);
	return RUN_SUITE("report, locks", c, kinds);
}
