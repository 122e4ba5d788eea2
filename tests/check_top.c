/* This tests the sums of fxt top. Every figure of the traces is known; a log record ends an interval. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>

#include "suite.h"
#include "tools/common/message.h"
#include "tools/top/top_print.h"
#include "tools/top/top_sums.h"
#include "trace_maker.h"

enum { COUNTER = 1 };

static struct fxt_top_sums sums;
static uint64_t gone;                   /* the process that is there no more; 0: none */

static bool is_gone(uint64_t pid, const struct fxt_provider *program)
{
	(void)program;
	return pid == gone;
}

/* Takes one interval, and completes it. */
static void take(void)
{
	struct fxt_record rec;

	while (fxt_reader_next(&reader, &rec) && rec.type != FXT_RECORD_LOG)
		fxt_top_take(&sums, &rec);
	ck_assert_uint_eq(reader.damaged_records, 0);
	fxt_top_sort(&sums, is_gone);
}

/* Begins to read the trace, and takes its first interval. */
static void begin(void)
{
	gone = 0;
	read_trace();
	fxt_top_begin(&sums, &reader);
	take();
}

/* Takes the next interval, which began at that time. */
static void next(uint64_t from_ns)
{
	fxt_top_next(&sums, from_ns);
	take();
}

static void end(void)
{
	fxt_top_free(&sums);
	fxt_reader_free(&reader);
}

static void counter(unsigned thread_index, const char *name, const char *argument, uint64_t at,
		    uint64_t value)
{
	event(COUNTER, thread_index, "counter", name, at, 0, ARGS({argument, INT, value}));
}

static void opens(unsigned thread_index, uint64_t at, uint64_t id, const char *by)
{
	event(ASYNC_BEGIN, thread_index, "io", "file", at, id,
	      ARGS({"fd", INT, id}, {"call", TEXT, TEXT_OF(by)}));
}

static void closes(unsigned thread_index, uint64_t at, uint64_t id)
{
	event(ASYNC_END, thread_index, "io", "file", at, id, NO_ARGS);
}

START_TEST(counts_each_call_once)
{
	begin_trace();
	call(1, "io", "read", 1000, 1100);
	call(2, "malloc", "malloc", 1000, 1100);
	call(1, "function", "main", 900, 1200);
	call(1, "agent", "resumed", 900, 1200);
	event(INSTANT, 1, "process", "vfork", 1300, 0, NO_ARGS);
	said(1, 2000, "");
	thread(4, 70, 70);
	call(4, "io", "read", 2100, 2200);
	call(4, "io", "read", 2300, 2400);
	call(3, "io", "read", 2100, 2200);
	said(1, 3000, "");
	begin();
	ck_assert_uint_eq(sums.calls, 3);
	ck_assert_uint_eq(sums.count, 1);
	ck_assert_uint_eq(sums.list[0].calls, 3);
	ck_assert_uint_eq(sums.list[0].threads, 2);
	next(2000);
	ck_assert_uint_eq(sums.calls, 3);
	ck_assert_uint_eq(sums.count, 2);
	ck_assert_uint_eq(sums.list[0].pid, 70);
	ck_assert_uint_eq(sums.list[0].calls, 2);
	ck_assert_uint_eq(sums.list[0].threads, 1);
	ck_assert_uint_eq(sums.list[1].calls, 1);
	/* The place of process 7 is another one now, and its threads are still those that it was. */
	ck_assert_uint_eq(sums.list[1].threads, 3);
	next(3000);
	ck_assert_uint_eq(sums.calls, 0);
	ck_assert_uint_eq(sums.count, 2);
	end();
}
END_TEST

START_TEST(counts_time_of_the_interval)
{
	begin_trace();
	said(1, 1000, "");
	call(1, "io", "read", 100000, 150000);
	call(1, "io", "read", 190000, 220000);
	call(2, "pthread", "pthread_mutex_lock", 200000, 201000);
	event(COMPLETE, 3, "io", "recv", 200000, 250000, ARGS({"flags", INT, 0x40}));
	event(COMPLETE, 3, "io", "write", 300000, 350000,
	      ARGS({"cpu_ns", UINT, 20000}, {"voluntary", UINT, 1}));
	event(COMPLETE, 3, "io", "write", 400000, 450000, ARGS({"voluntary", UINT, 0}));
	begin();
	next(200000);
	/* The first read was over, the second counts from then on; of the locks none was waited for, recv()
	 * was told not to wait, and the last write never gave up the processor. */
	ck_assert_uint_eq(sums.list[0].blocked_ns, 20000 + 30000);
	ck_assert_uint_eq(sums.list[0].wait_count, 3);
	ck_assert_uint_eq(sums.list[0].slowest[0].ns, 50000);
	ck_assert_uint_eq(sums.list[0].slowest[2].ns, 30000);
	end();
}
END_TEST

START_TEST(tells_who_let_go_on)
{
	struct fxt_top_wait slowest[FXT_TOP_WAITS];

	begin_trace();
	thread(4, 70, 70);
	woken(_i, 1, "pthread_mutex_lock", 0x10, 10000, 60000, 2, 50000, 1);
	/* Nobody is known to have ended this one: its arrow began before it. */
	woken(_i, 1, "sem_wait", 0x20, 70000, 90000, 2, 65000, 2);
	woken(_i, 4, "sem_wait", 0x30, 10000, 80000, 3, 70000, 3);
	for (unsigned i = 0; i < 5; i++)
		call(1, "io", "read", 100000 + i * 10000, 105000 + i * 10000 + i);
	begin();
	ck_assert_uint_eq(fxt_top_slowest(&sums, slowest), FXT_TOP_WAITS);
	ck_assert_uint_eq(slowest[0].ns, 70000);
	ck_assert_uint_eq(tid_of(slowest[0].thread), 70);
	ck_assert(slowest[0].has_waker);
	ck_assert_uint_eq(tid_of(slowest[0].waker), 9);
	ck_assert_uint_eq(slowest[1].ns, 50000);
	ck_assert(slowest[1].has_waker);
	ck_assert_uint_eq(tid_of(slowest[1].waker), 8);
	expect_symbol(slowest[1].name, "pthread_mutex_lock");
	ck_assert_uint_eq(slowest[2].ns, 20000);
	ck_assert(!slowest[2].has_waker);
	end();
}
END_TEST

START_TEST(knows_what_is_held)
{
	const struct fxt_top_process *p;

	begin_trace();
	opens(1, 1000, 100, "open");
	counter(1, "heap bytes", "bytes", 2000, 5000);
	counter(1, "descriptors", "count", 2000, 4);
	opens(1, 3000, 101, "open");
	opens(1, 3100, 102, "socket");
	opens(1, 3200, 103, "connect");
	/* The counter has this one already. */
	opens(2, 1900, 104, "open");
	/* Another thread's end comes before the begin, in the next interval. */
	closes(2, 3500, 105);
	closes(1, 3600, 101);
	said(1, 4000, "");
	opens(1, 3300, 105, "open");
	closes(1, 4100, 103);
	counter(1, "heap bytes", "bytes", 4200, (uint64_t)-300);
	/* This one was read too late. */
	counter(2, "heap bytes", "bytes", 4150, 7);
	begin();
	p = &sums.list[0];
	ck_assert_int_eq(p->descriptors.value, 5);
	ck_assert_int_eq(p->heap.value, 5000);
	ck_assert_int_eq(p->heap_before, 5000);
	next(4000);
	p = &sums.list[0];
	ck_assert_int_eq(p->descriptors.value, 5);
	ck_assert_int_eq(p->heap.value, -300);
	ck_assert_int_eq(p->heap_before, 5000);
	end();
}
END_TEST

START_TEST(begins_anew_with_another_program)
{
	begin_trace();
	call(1, "io", "read", 1000, 1100);
	call(2, "io", "read", 1000, 1100);
	opens(1, 1000, 100, "open");
	opens(1, 1000, 101, "open");
	provider(8);
	thread(1, 7, 7);
	call(1, "io", "read", 2000, 2100);
	opens(1, 2000, 102, "open");
	/* What the first program recorded comes late: its calls count, and what it held is over. */
	provider(7);
	thread(1, 7, 7);
	call(1, "io", "read", 1200, 1300);
	opens(1, 1300, 103, "open");
	begin();
	ck_assert_uint_eq(sums.count, 1);
	ck_assert_uint_eq(sums.list[0].calls, 4);
	ck_assert_uint_eq(sums.list[0].threads, 1);
	ck_assert_int_eq(sums.list[0].descriptors.value, 1);
	end();
}
END_TEST

START_TEST(forgets_who_is_over)
{
	begin_trace();
	call(1, "io", "read", 1000, 1100);
	provider(8);
	thread(1, 70, 70);
	call(1, "io", "read", 1000, 1100);
	event(INSTANT, 1, "process", "exit", 1200, 0, ARGS({"status", INT, 0}));
	provider(9);
	thread(1, 71, 71);
	/* This end was that of an earlier process with the number. */
	event(INSTANT, 1, "process", "exit", 100, 0, ARGS({"status", INT, 0}));
	call(1, "io", "read", 1000, 1100);
	said(1, 2000, "");
	said(1, 3000, "");
	said(1, 4000, "");
	begin();
	ck_assert_uint_eq(sums.count, 3);
	for (size_t i = 0; i < sums.count; i++)
		ck_assert_uint_eq(sums.list[i].over, sums.list[i].pid == 70);
	gone = 7;
	next(2000);
	ck_assert_uint_eq(sums.count, 3);
	next(3000);
	ck_assert_uint_eq(sums.count, 2);
	next(4000);
	ck_assert_uint_eq(sums.count, 1);
	ck_assert_uint_eq(sums.list[0].pid, 71);
	ck_assert_uint_eq(reader.providers[2]->has_strings, 0);
	ck_assert_uint_ne(reader.providers[3]->has_strings, 0);
	end();
}
END_TEST

/* Returns how many lines the text has; fails if one of them is longer than that. */
static size_t lines_of(const char *text, size_t columns)
{
	size_t lines = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		ck_assert_uint_le((size_t)(end - text), columns);
		lines++;
	}
	ck_assert_str_eq(text, "");
	return lines;
}

START_TEST(fits_the_room)
{
	const struct fxt_top_view view = {.time = "12:00:00", .state = "STARTED", .elapsed_ns = 2000000000,
					  .processes = SIZE_MAX, .lines = 8 + (size_t)_i, .columns = 40};
	char *text;
	size_t bytes;
	FILE *out = fxt_text_stream(&text, &bytes);

	begin_trace();
	for (unsigned pid = 10; pid < 20; pid++) {
		thread(pid, pid, pid);
		call(pid, "io", "read", 1000, 90000 + pid);
	}
	begin();
	fxt_top_print(&sums, &view, out);
	fclose(out);
	ck_assert_uint_eq(lines_of(text, 40), view.lines < 17 ? (size_t)view.lines : 17);
	ck_assert_ptr_nonnull(strstr(text, " 5 calls/s "));
	free(text);
	end();
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("sums");

	tcase_add_test(c, counts_each_call_once);
	tcase_add_test(c, counts_time_of_the_interval);
	tcase_add_loop_test(c, tells_who_let_go_on, 0, 2);
	tcase_add_test(c, knows_what_is_held);
	tcase_add_test(c, begins_anew_with_another_program);
	tcase_add_test(c, forgets_who_is_over);
	tcase_add_loop_test(c, fits_the_room, 0, 12);
	return RUN_SUITE("top", c);
}
