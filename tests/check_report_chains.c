/* This tests what the report says of who waited for whom. Every figure of the traces is known. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <fcntl.h>

#include "apps/random.h"
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

static uint64_t within(uint64_t from, uint64_t to, uint64_t low, uint64_t high)
{
	from = from > low ? from : low;
	to = to < high ? to : high;
	return to > from ? to - from : 0;
}

static const struct fxt_wait *wait_for(const struct fxt_report *report, uint64_t object)
{
	for (size_t i = 0; i < report->waits.count; i++)
		if (report->waits.list[i].object == object)
			return &report->waits.list[i];
	ck_abort_msg("nobody has waited for %#lx", (unsigned long)object);
}

/* Writes what woken() does; the call's argument is named as in the manual page, so that it counts as a wait.
 * */
static void waited(unsigned thread_index, const char *name, const char *what, uint64_t object, uint64_t from,
		   uint64_t to, unsigned waker, uint64_t at, uint64_t id)
{
	bool call_first = random_below(2);

	if (call_first)
		event(COMPLETE, thread_index, "pthread", name, from, to, ARGS({what, POINTER, object}));
	event(FLOW_BEGIN, waker, "agent", "wakes", at, id, NO_ARGS);
	call(thread_index, "agent", "resumed", at + 2, to);
	event(FLOW_END, thread_index, "agent", "wakes", to, id, NO_ARGS);
	if (!call_first)
		event(COMPLETE, thread_index, "pthread", name, from, to, ARGS({what, POINTER, object}));
}

/* A thread that waits for room for its records keeps others: the one that wants its lock, and whoever wants
 * one of that. The time is no wait of theirs, nor the longest one. */
START_TEST(charges_no_lock_for_the_recording)
{
	enum { ROUNDS = 200, FIRST = 0x10, SECOND = 0x20 };
	uint64_t total[2] = {0}, most[2] = {0}, room_ns = 0;
	struct fxt_report report;

	random_seed(0);
	begin_trace();
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t t = 1000000 + i * 10000000;
		/* What is shorter than the report looks at does not count. */
		const uint64_t least = FXT_STANDING_LEAST_NS;
		uint64_t room = t + random_below(2000000), room_end = room + least + random_below(3000000);
		uint64_t unlock = room_end + random_below(100000), got = unlock + 3 + random_below(1000);
		/* The first may begin to wait before the room or within it, and the second at any time. */
		uint64_t from = t + random_below(room_end - t - least + 1);
		uint64_t second = t + random_below(unlock - t - least + 1);
		uint64_t release = got + random_below(10000), end = release + 3 + random_below(1000);
		uint64_t kept = within(room, room_end, from, got);
		uint64_t waits[2] = {got - from - kept,
				     end - second -
					     within(room, room_end, from > second ? from : second, end)};

		call(1, "agent", "waiting for room", room, room_end);
		waited(2, "pthread_mutex_lock", "mutex", FIRST, from, got, 1, unlock, 2 * i + 1);
		waited(3, "sem_wait", "sem", SECOND, second, end, 2, release, 2 * i + 2);
		room_ns += room_end - room;
		for (unsigned n = 0; n < 2; n++) {
			total[n] += waits[n];
			most[n] = waits[n] > most[n] ? waits[n] : most[n];
		}
	}
	make_report(&report, 10);
	for (unsigned n = 0; n < 2; n++) {
		const struct fxt_wait *wait = wait_for(&report, n ? SECOND : FIRST);

		ck_assert_uint_eq(wait->count, ROUNDS);
		ck_assert_uint_eq(wait->total_ns, total[n]);
		ck_assert_uint_eq(wait->max_ns, most[n]);
	}
	for (size_t i = 0; i < report.calls.count; i++) {
		unsigned n = report.calls.list[i].total_ns == total[1];

		ck_assert_uint_eq(report.calls.list[i].total_ns, total[n]);
		ck_assert_uint_eq(report.calls.list[i].max_ns, most[n]);
	}
	for (size_t i = 0; i < report.threads.count; i++) {
		const struct fxt_thread_time *one = &report.threads.list[i];
		uint64_t blocked[] = {0, total[0], total[1]};

		ck_assert_uint_eq(one->blocked_ns, blocked[tid_of(one->thread) - 7]);
	}
	ck_assert_uint_eq(report.agent.list[0].total_ns, room_ns);
	for (size_t i = 0; i < report.chains.count; i++) {
		const struct fxt_chain_link *link = report.chains.list[i].longest;

		ck_assert_uint_le(link->end_ns - link->start_ns, most[0] > most[1] ? most[0] : most[1]);
	}
	end_report(&report);
}
END_TEST

/* Another thread may have taken the lock between its holder and who waited for it. */
START_TEST(charges_no_lock_for_its_first_holder)
{
	struct fxt_report report;
	const struct fxt_wait *wait;

	begin_trace();
	call(1, "agent", "waiting for room", 20000, 80000);
	event(COMPLETE, 2, "pthread", "pthread_mutex_lock", 10000, 100000,
	      ARGS({"mutex", POINTER, 0x10}, {"at", TEXT, TEXT_OF("f")}, {"holder", UINT, _i ? 7 : 9}));
	event(FLOW_BEGIN, 3, "agent", "wakes", 99000, 1, NO_ARGS);
	call(2, "agent", "resumed", 99500, 100000);
	event(FLOW_END, 2, "agent", "wakes", 100000, 1, NO_ARGS);
	make_report(&report, 10);
	wait = wait_for(&report, 0x10);
	ck_assert_uint_eq(wait->max_ns, _i ? 30000 : 90000);
	ck_assert_uint_eq(report.contention.list[0].max_ns, wait->max_ns);
	ck_assert_uint_eq(report.contention.list[0].total_ns, wait->max_ns);
	end_report(&report);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("chains");

	tcase_add_test(c, charges_no_lock_for_the_recording);
	tcase_add_loop_test(c, charges_no_lock_for_its_first_holder, 0, 2);
	tcase_add_loop_test(c, tells_chains_of_three, 0, 2);
	tcase_add_test(c, joins_chains_that_are_alike);
	tcase_add_test(c, counts_no_time_twice);
	tcase_add_test(c, chains_only_what_waited);
	tcase_add_test(c, chains_only_what_explains);
	tcase_add_test(c, chains_reach_other_processes);
	tcase_add_loop_test(c, chains_take_the_cause_that_counts, 0, 2);
	return RUN_SUITE("report: chains", c);
}
