/* This tests what the report says of who waited for whom. Every figure of the traces is known. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <fcntl.h>

#include "suite.h"
#include "trace_maker.h"

/* Returns for how long a thread was in the call or function of this name. */
static uint64_t doing(const struct fxt_meanwhile *m, const char *name)
{
	for (size_t i = 0; i < m->count; i++) {
		struct fxt_text t = fxt_symbol_text(&reader, m->list[i].name);

		if (fxt_text_is(&t, name))
			return m->list[i].ns;
	}
	return 0;
}

/* Writes a chain: thread 8 waits for thread 7, which has waited for thread 9, which reads. In the file the
 * wait that ended last comes first. */
static void three(bool call_first, uint64_t t, uint64_t id)
{
	woken(call_first, 2, "pthread_mutex_lock", 0x10, t + 100000, t + 200000, 1, t + 190000, id + 1);
	woken(call_first, 1, "sem_wait", 0x20, t + 120000, t + 180000, 3, t + 170000, id + 2);
	call(1, "pthread", "pthread_mutex_unlock", t + 189900, t + 190100);
	call(3, "io", "read", t + 110000, t + 165000);
	call(3, "pthread", "sem_post", t + 169950, t + 170050);
	call(3, "function", "feed", t + 105000, t + 175000);
}

START_TEST(tells_chains_of_three)
{
	struct fxt_report report;
	const struct fxt_chain_link *first, *second;

	begin_trace();
	three(_i, 0, 0);
	make_report(&report, 10);
	ck_assert_uint_eq(report.chains.count, 1);
	ck_assert_uint_eq(report.chains.list[0].count, 1);
	ck_assert_uint_eq(report.chains.list[0].total_ns, 100000);
	first = report.chains.list[0].longest;
	ck_assert_uint_eq(first->length, 2);
	ck_assert_uint_eq(first->end_ns - first->start_ns, 100000);
	ck_assert_uint_eq(first->object, 0x10);
	ck_assert_uint_eq(tid_of(first->thread), 8);
	ck_assert_uint_eq(tid_of(first->waker), 7);
	expect_symbol(first->name, "pthread_mutex_lock");
	expect_symbol(first->meanwhile.call, "pthread_mutex_unlock");
	ck_assert_uint_eq(first->meanwhile.function, 0);
	ck_assert_uint_eq(first->meanwhile.from_ns, 180000);
	ck_assert_uint_eq(doing(&first->meanwhile, "pthread_mutex_unlock"), 100);
	ck_assert_uint_eq(first->meanwhile.untold_ns, 9900);
	second = first->cause;
	ck_assert_ptr_nonnull(second);
	ck_assert_ptr_null(second->cause);
	ck_assert_uint_eq(tid_of(second->thread), 7);
	ck_assert_uint_eq(tid_of(second->waker), 9);
	expect_symbol(second->meanwhile.call, "sem_post");
	expect_symbol(second->meanwhile.function, "feed");
	ck_assert_uint_eq(doing(&second->meanwhile, "read"), 45000);
	ck_assert_uint_eq(doing(&second->meanwhile, "sem_post"), 50);
	ck_assert_uint_eq(doing(&second->meanwhile, "feed"), 4950);
	ck_assert_uint_eq(second->meanwhile.untold_ns, 0);
	end_report(&report);
}
END_TEST

START_TEST(joins_chains_that_are_alike)
{
	struct fxt_report report;

	begin_trace();
	for (uint64_t i = 0; i < 50; i++)
		three(true, i * 1000000, i * 10);
	/* This wait is longer than each of the others, and is another chain. */
	woken(true, 3, "pthread_cond_wait", 0x30, 60000000, 60300000, 1, 60299000, 1000);
	make_report(&report, 10);
	ck_assert_uint_eq(report.chains.count, 2);
	ck_assert_uint_eq(report.chains.list[0].count, 50);
	ck_assert_uint_eq(report.chains.list[0].total_ns, 50 * 100000);
	ck_assert_uint_eq(report.chains.list[1].count, 1);
	ck_assert_uint_eq(report.chains.list[1].total_ns, 300000);
	ck_assert_uint_eq(doing(&report.chains.list[1].longest->meanwhile, "read"), 0);
	ck_assert_uint_eq(report.chains.list[1].longest->meanwhile.untold_ns, 299000);
	end_report(&report);
}
END_TEST

/* Many waits overlap, and their sum is no longer than the time that they cover. Waits that come later, with
 * pauses between them and in any order in the file, each count in full. */
START_TEST(counts_no_time_twice)
{
	struct fxt_report report;
	uint64_t i, t;

	begin_trace();
	for (i = 0; i < 40; i++)
		woken(true, 2, "pthread_rwlock_rdlock", 0x10, 1000 * i, 100000 + 1000 * i, 1,
		      99000 + 1000 * i, i + 1);
	for (i = 0; i < 40; i++) {
		t = 1000000 + 10000 * (i ^ 1);
		woken(true, 2, "pthread_rwlock_rdlock", 0x10, t, t + 5000, 1, t + 4500, i + 101);
	}
	make_report(&report, 10);
	ck_assert_uint_eq(report.chains.count, 1);
	ck_assert_uint_eq(report.chains.list[0].count, 80);
	ck_assert_uint_eq(report.chains.list[0].total_ns, 139000 + 40 * 5000);
	end_report(&report);
}
END_TEST

/* None of these reads waited for another thread. The first got what was written before it began, the second
 * what its own thread had written, and the third could not wait. */
START_TEST(chains_only_what_waited)
{
	struct fxt_report report;

	begin_trace();
	event(COMPLETE, 2, "io", "read", 50000, 90000, ARGS({"fd", INT, 5}));
	event(FLOW_BEGIN, 1, "agent", "wakes", 40000, 1, NO_ARGS);
	event(FLOW_END, 2, "agent", "wakes", 90000, 1, NO_ARGS);
	event(COMPLETE, 3, "net", "recv", 150000, 190000, ARGS({"sockfd", INT, 5}));
	event(FLOW_BEGIN, 3, "agent", "wakes", 160000, 2, NO_ARGS);
	event(FLOW_END, 3, "agent", "wakes", 190000, 2, NO_ARGS);
	event(COMPLETE, 2, "io", "fcntl", 200000, 200100,
	      ARGS({"fd", INT, 5}, {"cmd", INT, F_SETFL}, {"arg", INT, O_NONBLOCK}, {"ret", INT, 0}));
	event(COMPLETE, 2, "io", "read", 250000, 290000, ARGS({"fd", INT, 5}));
	event(FLOW_BEGIN, 1, "agent", "wakes", 260000, 3, NO_ARGS);
	event(FLOW_END, 2, "agent", "wakes", 290000, 3, NO_ARGS);
	make_report(&report, 10);
	ck_assert_uint_eq(report.chains.count, 0);
	end_report(&report);
}
END_TEST

/* A wait of the waker does not explain another wait if it was over before that began, or is too short to
 * matter. It does if it is the longer one. */
START_TEST(chains_only_what_explains)
{
	struct fxt_report report;
	const struct fxt_chain_link *link;

	begin_trace();
	woken(true, 1, "sem_wait", 0x20, 10000, 100000, 3, 99000, 1);
	woken(true, 1, "sem_wait", 0x21, 101000, 109000, 3, 108000, 2);
	woken(true, 2, "pthread_mutex_lock", 0x10, 100000, 300000, 1, 290000, 3);
	woken(true, 2, "pthread_mutex_lock", 0x11, 330000, 340000, 1, 338000, 4);
	woken(true, 1, "sem_wait", 0x22, 300000, 337000, 3, 336000, 5);
	make_report(&report, 10);
	ck_assert_uint_eq(report.chains.count, 5);
	for (size_t i = 0; i < 5; i++) {
		link = report.chains.list[i].longest;
		ck_assert((link->cause != NULL) == (link->object == 0x11));
		if (!link->cause)
			continue;
		ck_assert_uint_eq(link->cause->object, 0x22);
		ck_assert_uint_eq(link->end_ns - link->start_ns, 10000);
	}
	end_report(&report);
}
END_TEST

/* A writer in another process lets the reader go on. Its part of the file comes behind the reader's. */
START_TEST(chains_reach_other_processes)
{
	struct fxt_report report;
	const struct fxt_chain_link *link;

	begin_trace();
	event(COMPLETE, 1, "io", "read", 1000, 51000, ARGS({"fd", INT, 5}));
	call(1, "agent", "resumed", 50500, 51000);
	event(FLOW_END, 1, "agent", "wakes", 51000, 99, NO_ARGS);
	provider(70);
	thread(1, 70, 70);
	call(1, "time", "nanosleep", 2000, 42000);
	call(1, "agent", "released", 50000, 50001);
	event(FLOW_BEGIN, 1, "agent", "wakes", 50000, 99, NO_ARGS);
	call(1, "io", "write", 49000, 50400);
	make_report(&report, 10);
	ck_assert_uint_eq(report.chains.count, 1);
	link = report.chains.list[0].longest;
	ck_assert_uint_eq(tid_of(link->thread), 7);
	ck_assert_uint_eq(tid_of(link->waker), 70);
	ck_assert_uint_eq(link->end_ns - link->start_ns, 50000);
	expect_symbol(link->meanwhile.call, "write");
	ck_assert_uint_eq(doing(&link->meanwhile, "nanosleep"), 40000);
	ck_assert_uint_eq(doing(&link->meanwhile, "write"), 1000);
	/* The writer itself began after the wait did. */
	ck_assert_uint_eq(link->meanwhile.from_ns, 2000);
	ck_assert_uint_eq(link->meanwhile.untold_ns, 7000);
	end_report(&report);
}
END_TEST

/* A wait for a condition has two causes: its signal, and the release of the lock, which another thread may
 * give up much later. The later one counts if that is so. */
START_TEST(chains_take_the_cause_that_counts)
{
	struct fxt_report report;

	begin_trace();
	event(COMPLETE, 2, "pthread", "pthread_cond_wait", 0, 100000, ARGS({"cond", POINTER, 0x10}));
	event(FLOW_BEGIN, 1, "agent", "wakes", 40000, 1, NO_ARGS);
	event(FLOW_BEGIN, 3, "agent", "wakes", 40000 + 5000 * _i, 2, NO_ARGS);
	call(2, "agent", "resumed", 99000, 100000);
	event(FLOW_END, 2, "agent", "wakes", 100000, 1, NO_ARGS);
	event(FLOW_END, 2, "agent", "wakes", 100000, 2, NO_ARGS);
	make_report(&report, 10);
	ck_assert_uint_eq(report.chains.count, 1);
	ck_assert_uint_eq(tid_of(report.chains.list[0].longest->waker), _i ? 9 : 7);
	end_report(&report);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("chains");

	tcase_add_loop_test(c, tells_chains_of_three, 0, 2);
	tcase_add_test(c, joins_chains_that_are_alike);
	tcase_add_test(c, counts_no_time_twice);
	tcase_add_test(c, chains_only_what_waited);
	tcase_add_test(c, chains_only_what_explains);
	tcase_add_test(c, chains_reach_other_processes);
	tcase_add_loop_test(c, chains_take_the_cause_that_counts, 0, 2);
	return RUN_SUITE("report: chains", c);
}
