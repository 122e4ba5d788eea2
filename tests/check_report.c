/* This tests what the report says of threads, of the programs that one process was, and of files. Every
 * figure of the traces is known. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "apps/random.h"
#include "suite.h"
#include "trace_maker.h"

/* -- Threads ------------------------------------------------------------------------------------------- */

static const struct fxt_thread_time *times_of(const struct fxt_report *report, uint64_t tid)
{
	for (size_t i = 0; i < report->threads.count; i++)
		if (tid_of(report->threads.list[i].thread) == tid)
			return &report->threads.list[i];
	ck_abort_msg("no thread %d", (int)tid);
}

static uint64_t longest_of(const struct fxt_report *report, const char *name)
{
	for (size_t i = 0; i < report->calls.count; i++) {
		struct fxt_text text = fxt_symbol_text(&reader, report->calls.list[i].name);

		if (fxt_text_is(&text, name))
			return report->calls.list[i].max_ns;
	}
	return 0;
}

/* The kernel uses the number of a thread again. Threads whose lifetimes are not told count once a number. */
START_TEST(counts_threads_by_their_lifetimes)
{
	struct fxt_report report;
	unsigned lives, i;

	random_seed((uint64_t)_i);
	lives = 1 + random_below(50);
	begin_trace();
	call(1, "io", "read", 1000, 2000);
	call(3, "io", "read", 1000, 2000);
	for (i = 0; i < lives; i++) {
		event(ASYNC_BEGIN, 2, "pthread", "thread", 10000 + 100 * i, 1 + i, NO_ARGS);
		call(2, "malloc", "free", 10020 + 100 * i, 10040 + 100 * i);
		event(ASYNC_END, 2, "pthread", "thread", 10050 + 100 * i, 1 + i, NO_ARGS);
		/* These are lifetimes of others. */
		event(ASYNC_BEGIN, 2, "process", "child", 10060 + 100 * i, 1000 + i, NO_ARGS);
	}
	read_trace();
	fxt_report_make(&report, &reader, &(struct fxt_report_options){.top = 10});
	ck_assert_uint_eq(fxt_overview_threads(&report.overview, &reader), 2 + lives);
	fxt_report_free(&report);
	fxt_reader_free(&reader);
}
END_TEST

/* What a signal handler waits for is none of the call that it has interrupted, and what the recording takes
 * is none of the program's calls. */
START_TEST(leaves_handlers_and_the_recording_out_of_calls)
{
	struct fxt_report report;
	const struct fxt_thread_time *t;
	uint64_t at = 0;

	random_seed((uint64_t)_i);
	begin_trace();
	for (int i = 0; i < 20; i++, at += 1000000) {
		uint64_t within = 5000 + 1000 * random_below(100), own = 4000 + random_below(10000);

		/* A handler of a handler, and a wait for room, lie within a call. */
		call(1, "pthread", "pthread_mutex_lock", at + 2000, at + 2000 + within);
		call(1, "io", "read", at + 1000, at + 3000 + within);
		call(1, "agent", "waiting for room", at + 500000, at + 700000);
		call(1, "io", "write", at, at + 700000 + own - 2000);
	}
	/* The call in progress was interrupted right after it began, and the handler never comes back. */
	event(BEGIN, 2, "io", "write", 100000, 0, NO_ARGS);
	event(BEGIN, 2, "pthread", "pthread_mutex_lock", 101000, 0, NO_ARGS);
	call(3, "io", "open", at - 2000, at);
	make_report(&report, 10);
	ck_assert_uint_lt(longest_of(&report, "write"), 700000 - 200000 - 2000 + 14000);
	ck_assert_uint_eq(longest_of(&report, "read"), 2000);
	t = times_of(&report, 7);
	ck_assert_uint_eq(t->room_ns, 20 * 200000);
	t = times_of(&report, 8);
	expect_symbol(t->open, "pthread_mutex_lock");
	expect_symbol(report.threads.calls[t->calls].name, "pthread_mutex_lock");
	ck_assert_uint_eq(t->blocked_ns, at - 101000);
	ck_assert_uint_eq(t->waiting_ns, 1000);
	end_report(&report);
}
END_TEST

START_TEST(tells_running_from_waiting)
{
	struct fxt_report report;
	const struct fxt_thread_time *t;

	begin_trace();
	/* The wait of a handler within another wait is none of the outer one. */
	call(1, "pthread", "pthread_mutex_lock", 20000, 30000);
	call(1, "net", "poll", 1000, 101000);
	/* While the call used the processor it did not wait. */
	event(COMPLETE, 1, "pthread", "pthread_cond_wait", 200000, 300000,
	      ARGS({"cpu_ns", UINT, 4000}, {"voluntary", UINT, 1}));
	/* This call is too short to have waited. */
	call(1, "io", "read", 310000, 311999);
	/* These two did not wait: there was nothing to read, or the call was to take no time. */
	event(COMPLETE, 1, "net", "recv", 312000, 316000, ARGS({"fd", UINT, 5}, {"errno", UINT, 11}));
	event(COMPLETE, 1, "net", "poll", 316500, 319500, ARGS({"timeout", UINT, 0}));
	/* The thread never gave up the processor in this call. */
	event(COMPLETE, 1, "io", "read", 320000, 340000, ARGS({"voluntary", UINT, 0}));
	/* This call never blocks. */
	call(1, "pthread", "pthread_mutex_unlock", 350000, 370000);
	/* The function has a wait in it. */
	call(1, "time", "nanosleep", 400000, 450000);
	call(1, "function", "rest", 380000, 460000);
	/* The call is in progress when the trace ends, at 600000. */
	event(BEGIN, 2, "pthread", "sem_wait", 500000, 0, NO_ARGS);
	call(2, "pthread", "pthread_mutex_lock", 520000, 540000);
	call(3, "io", "open", 598000, 600000);
	make_report(&report, 10);
	t = times_of(&report, 7);
	ck_assert_uint_eq(t->first_ns, 1000);
	ck_assert_uint_eq(t->last_ns, 460000);
	ck_assert_uint_eq(t->waiting_ns, 90000 + 50000);
	ck_assert_uint_eq(t->blocked_ns, 10000 + 96000);
	ck_assert_uint_eq(t->running_ns, 459000 - 246000);
	ck_assert_uint_eq(t->open, 0);
	expect_symbol(report.threads.calls[t->calls].name, "pthread_cond_wait");
	ck_assert_uint_eq(report.threads.calls[t->calls].ns, 96000);
	t = times_of(&report, 8);
	ck_assert_uint_eq(t->first_ns, 500000);
	ck_assert_uint_eq(t->last_ns, 600000);
	ck_assert_uint_eq(t->blocked_ns, 100000);
	ck_assert_uint_eq(t->running_ns, 0);
	expect_symbol(t->open, "sem_wait");
	t = times_of(&report, 9);
	ck_assert_uint_eq(t->waiting_ns, 2000);
	/* Threads are sorted by what they did themselves. */
	ck_assert_uint_eq(tid_of(report.threads.list[0].thread), 7);
	end_report(&report);
}
END_TEST

/* -- Programs that one process was ---------------------------------------------------------------------- */

/* Writes what a program leaves open when it executes another: a descriptor and a call. The earliest event of
 * the part is not the first one in the file. */
static void leaves_open(const char *call_name, uint64_t from)
{
	event(ASYNC_BEGIN, 1, "io", "file", from + 10, from,
	      ARGS({"fd", INT, 5}, {"call", TEXT, TEXT_OF("open")}, {"pathname", TEXT, TEXT_OF("/x")}));
	event(BEGIN, 1, "io", call_name, from + 20, 0, NO_ARGS);
	call(1, "io", "stat", from, from + 5);
}

/* The parts of a process stand in any order, because the join puts the largest one first. */
START_TEST(knows_the_last_program)
{
	struct fxt_report report;

	begin_trace();
	leaves_open(_i ? "poll" : "read", _i ? 5000 : 1000);
	provider(70);
	thread(1, 7, 7);
	leaves_open(_i ? "read" : "poll", _i ? 1000 : 5000);
	make_report(&report, 10);
	ck_assert_uint_eq(fxt_calls_in_progress_count(&report.open), 1);
	expect_symbol(report.open.threads[0].list[0].name, "poll");
	ck_assert_uint_eq(report.descriptors.count, 1);
	ck_assert_uint_eq(report.descriptors.list[0].count, 1);
	ck_assert_uint_eq(report.descriptors.list[0].since_ns, 5010);
	end_report(&report);
}
END_TEST

/* A call that ended when another thread executed a program counts as a wait until then, also in the first
 * thread, which goes on in that program. A call that ended with the process is still in progress. */
START_TEST(ends_calls_with_their_program)
{
	struct fxt_report report;
	const struct fxt_thread_time *t;

	begin_trace();
	event(BEGIN, 1, "function", "main", 1000, 0, NO_ARGS);
	event(BEGIN, 1, "pthread", "pthread_join", 10000, 0, NO_ARGS);
	event(BEGIN, 2, "io", "read", 20000, 0, NO_ARGS);
	provider(70);
	thread(1, 7, 7);
	call(1, "time", "nanosleep", 200000, 250000);
	event(BEGIN, 1, "process", "pause", 300000, 0, NO_ARGS);
	event(INSTANT, 1, "process", "exit", 400000, 0, ARGS({"signal", INT, 9}));
	event(END, 1, "process", "pause", 400000, 0, ARGS({"ended_by", TEXT, TEXT_OF("signal")}));
	provider(7);
	event(END, 1, "pthread", "pthread_join", 100000, 0, ARGS({"ended_by", TEXT, TEXT_OF("exec")}));
	event(END, 1, "function", "main", 100000, 0, ARGS({"ended_by", TEXT, TEXT_OF("exec")}));
	event(END, 2, "io", "read", 100000, 0, ARGS({"ended_by", TEXT, TEXT_OF("exec")}));
	make_report(&report, 10);
	ck_assert_uint_eq(fxt_calls_in_progress_count(&report.open), 1);
	expect_symbol(report.open.threads[0].list[0].name, "pause");
	t = times_of(&report, 7);
	ck_assert_uint_eq(t->last_ns, 400000);
	ck_assert_uint_eq(t->waiting_ns + t->blocked_ns, 90000 + 50000 + 100000);
	t = times_of(&report, 8);
	ck_assert_uint_eq(t->last_ns, 100000);
	ck_assert_uint_eq(t->waiting_ns + t->blocked_ns, 80000);
	ck_assert_uint_eq(report.calls.count, 4);
	end_report(&report);
}
END_TEST

/* Whether a call waits follows from its row in interpose/, or a line there says it. The list has calls of
 * both kinds. */
START_TEST(tells_what_rows_say)
{
	enum { RUNS, WAITS, IS_BLOCKED };
	static const struct {
		const char *category, *name;
		int what;
	} calls[] = {
		{"io", "read", WAITS}, {"io", "closedir", WAITS}, {"io", "openat2", WAITS},
		{"io", "scandirat", WAITS}, {"io", "fsetxattr", WAITS}, {"io", "sync", WAITS},
		{"io", "readdir", WAITS}, {"io", "lseek", RUNS}, {"io", "mmap", RUNS}, {"io", "dup2", RUNS},
		{"net", "getservbyname", WAITS}, {"net", "socket", RUNS},
		{"log", "vsyslog", WAITS}, {"malloc", "malloc", RUNS}, {"malloc", "free", RUNS},
		{"time", "nanosleep", WAITS}, {"process", "waitpid", WAITS}, {"process", "kill", RUNS},
		{"pthread", "pthread_join", IS_BLOCKED}, {"pthread", "mtx_lock", IS_BLOCKED},
		{"pthread", "semop", IS_BLOCKED}, {"pthread", "pthread_cond_wait", IS_BLOCKED},
		{"pthread", "futex_wait", IS_BLOCKED},
		{"pthread", "pthread_mutex_trylock", RUNS}, {"pthread", "pthread_once", RUNS},
	};
	enum { COUNT = sizeof(calls) / sizeof(calls[0]), CALL_NS = 10000 };
	const struct fxt_thread_time *t;
	struct fxt_report report;

	for (int i = 0; i < COUNT; i++) {
		begin_trace();
		call(1, calls[i].category, calls[i].name, 1000, 1000 + CALL_NS);
		make_report(&report, 10);
		t = times_of(&report, 7);
		ck_assert_msg(t->waiting_ns == (calls[i].what == WAITS ? CALL_NS : 0) &&
				      t->blocked_ns == (calls[i].what == IS_BLOCKED ? CALL_NS : 0),
			      "%s: waits %d ns, is blocked for %d ns", calls[i].name, (int)t->waiting_ns,
			      (int)t->blocked_ns);
		end_report(&report);
	}
}
END_TEST

/* A case is a call that makes a descriptor or sets its mode, a call of 10 us that uses the descriptor, and
 * whether that second call counts as a wait. */
enum { MODE_CASES = 29 };

START_TEST(knows_modes)
{
	static const struct {
		const char *maker;
		struct argument made[4];
		const char *name;
		struct argument args[3];
		bool waits;
	} cases[] = {
		{"socket", {{"type", INT, 1 | O_NONBLOCK}, {"ret", INT, 5}},
		 "send", {{"sockfd", INT, 5}}, false},
		{"socket", {{"type", INT, 1}, {"ret", INT, 5}}, "send", {{"sockfd", INT, 5}}, true},
		/* A socket that may wait fails like this when a time limit is over. Where the mode is not
		 * known, the error says that the call did not wait. */
		{"socket", {{"type", INT, 1}, {"ret", INT, 5}},
		 "recv", {{"sockfd", INT, 5}, {"errno", UINT, EAGAIN}}, true},
		{"close", {{"fd", INT, 5}}, "recv", {{"sockfd", INT, 5}, {"errno", UINT, EAGAIN}}, false},
		{"close", {{"fd", INT, 5}}, "recv", {{"sockfd", INT, 5}}, true},
		{"accept4", {{"sockfd", INT, 4}, {"flags", INT, O_NONBLOCK}, {"ret", INT, 5}},
		 "writev", {{"fd", INT, 5}}, false},
		{"accept4", {{"sockfd", INT, 4}, {"flags", INT, O_NONBLOCK}, {"ret", INT, 5}},
		 "fsync", {{"fd", INT, 5}}, true},
		{"socket", {{"type", INT, 1 | O_NONBLOCK}, {"ret", INT, 5}},
		 "connect", {{"sockfd", INT, 5}, {"errno", UINT, EINPROGRESS}}, false},
		{"socket", {{"type", INT, 1 | O_NONBLOCK}, {"ret", INT, 5}},
		 "accept", {{"sockfd", INT, 5}, {"ret", INT, 6}}, false},
		{"fcntl", {{"fd", INT, 5}, {"cmd", INT, F_SETFL}, {"arg", INT, O_NONBLOCK}, {"ret", INT, 0}},
		 "read", {{"fd", INT, 5}}, false},
		{"fcntl", {{"fd", INT, 5}, {"cmd", INT, F_GETFL}, {"ret", INT, O_NONBLOCK | O_RDWR}},
		 "read", {{"fd", INT, 5}}, false},
		{"fcntl", {{"fd", INT, 5}, {"cmd", INT, F_GETFL}, {"errno", INT, EBADF}},
		 "read", {{"fd", INT, 5}}, true},
		{"ioctl", {{"fd", INT, 5}, {"arg", INT, 7}, {"ret", INT, 0}},
		 "read", {{"fd", INT, 5}}, false},
		{"open", {{"pathname", TEXT, TEXT_OF("/x")}, {"flags", INT, O_NONBLOCK}, {"ret", INT, 5}},
		 "read", {{"fd", INT, 5}}, true},
		{"open",
		 {{"pathname", TEXT, TEXT_OF("/dev/tty")}, {"flags", INT, O_NONBLOCK}, {"ret", INT, 5}},
		 "read", {{"fd", INT, 5}}, false},
		{"mq_open", {{"name", TEXT, TEXT_OF("/x")}, {"oflag", INT, O_NONBLOCK}, {"ret", INT, 5}},
		 "mq_send", {{"mqdes", INT, 5}}, false},
		{"mq_setattr", {{"mqdes", INT, 5}, {"newattr", INT, O_NONBLOCK}, {"ret", INT, 0}},
		 "mq_receive", {{"mqdes", INT, 5}}, false},
		{"eventfd", {{"flags", INT, O_NONBLOCK}, {"ret", INT, 5}},
		 "eventfd_write", {{"fd", INT, 5}}, false},
		/* A copy may wait if either of its descriptors may. */
		{"socket", {{"type", INT, 1 | O_NONBLOCK}, {"ret", INT, 5}},
		 "sendfile", {{"out_fd", INT, 5}, {"in_fd", INT, 6}}, true},
		{"pipe2", {{"fd1", INT, 5}, {"fd2", INT, 6}, {"flags", INT, O_NONBLOCK}},
		 "splice", {{"fd_in", INT, 5}, {"fd_out", INT, 6}}, false},
		/* vmsplice() does not ask for the mode. */
		{"pipe2", {{"fd1", INT, 5}, {"fd2", INT, 6}, {"flags", INT, O_NONBLOCK}},
		 "vmsplice", {{"fd", INT, 6}}, true},
		/* These use standard output or standard error, and have no argument that says so. */
		{"fcntl", {{"fd", INT, 1}, {"cmd", INT, F_SETFL}, {"arg", INT, O_NONBLOCK}, {"ret", INT, 0}},
		 "printf", {{"ret", INT, 5}}, false},
		{"fcntl", {{"fd", INT, 1}, {"cmd", INT, F_SETFL}, {"arg", INT, O_NONBLOCK}, {"ret", INT, 0}},
		 "perror", {{"ret", INT, 5}}, true},
		/* These say themselves whether they wait. */
		{"close", {{"fd", INT, 5}},
		 "flock", {{"fd", INT, 5}, {"operation", INT, LOCK_EX | LOCK_NB}}, false},
		{"close", {{"fd", INT, 5}}, "flock", {{"fd", INT, 5}, {"operation", INT, LOCK_EX}}, true},
		{"close", {{"fd", INT, 5}}, "fcntl", {{"fd", INT, 5}, {"cmd", INT, F_GETFD}}, false},
		{"close", {{"fd", INT, 5}}, "fcntl", {{"fd", INT, 5}, {"cmd", INT, F_SETLKW}}, true},
		{"close", {{"fd", INT, 5}}, "bind", {{"sockfd", INT, 5}}, false},
		{"close", {{"fd", INT, 5}},
		 "sigtimedwait", {{"timeout", INT, 10000}, {"errno", UINT, EAGAIN}}, true},
	};
	struct fxt_report report;
	size_t i = (size_t)_i;

	ck_assert_uint_eq(sizeof(cases) / sizeof(cases[0]), MODE_CASES);
	begin_trace();
	event(COMPLETE, 1, "io", cases[i].maker, 1000, 2000,
	      ARGS(cases[i].made[0], cases[i].made[1], cases[i].made[2], cases[i].made[3]));
	event(COMPLETE, 1, "io", cases[i].name, 500000, 510000, ARGS(cases[i].args[0], cases[i].args[1]));
	make_report(&report, 10);
	ck_assert_msg(times_of(&report, 7)->waiting_ns == (cases[i].waits ? 10000 : 0),
		      "%s after %s: waiting %d ns", cases[i].name, cases[i].maker,
		      (int)times_of(&report, 7)->waiting_ns);
	end_report(&report);
}
END_TEST

/* A descriptor shares its mode with its duplicates and with a child's descriptors. The second provider is the
 * program that the child executes; it is in a call at the end. */
START_TEST(shares_modes)
{
	struct fxt_report report;

	begin_trace();
	event(COMPLETE, 1, "io", "dup", 1000, 1100, ARGS({"oldfd", INT, 5}, {"ret", INT, 6}));
	event(ASYNC_BEGIN, 1, "process", "child", 2000, 1, ARGS({"pid", UINT, 70}));
	/* The reads come before the mode is set, after that, and from a pipe that gets the same number. */
	event(COMPLETE, 1, "io", "read", 10000, 20000, ARGS({"fd", INT, 6}));
	event(COMPLETE, 1, "io", "read", 40000, 50000, ARGS({"fd", INT, 6}));
	event(COMPLETE, 1, "io", "read", 60000, 70000, ARGS({"fd", INT, 0}));
	event(COMPLETE, 1, "io", "pipe", 80000, 80100, ARGS({"fd1", INT, 6}, {"fd2", INT, 7}));
	event(COMPLETE, 1, "io", "read", 90000, 100000, ARGS({"fd", INT, 6}));
	provider(8);
	thread(1, 70, 70);
	for (uint64_t fd = 0; fd < 6; fd += 5)
		event(COMPLETE, 1, "io", "fcntl", 30000 + fd, 30001 + fd,
		      ARGS({"fd", INT, fd}, {"cmd", INT, F_SETFL}, {"arg", INT, O_NONBLOCK},
			   {"ret", INT, 0}));
	event(BEGIN, 1, "io", "read", 31000, 0, ARGS({"fd", INT, 0}));
	make_report(&report, 10);
	ck_assert_uint_eq(times_of(&report, 7)->waiting_ns, 20000);
	ck_assert_uint_eq(times_of(&report, 70)->waiting_ns, 0);
	end_report(&report);
}
END_TEST

/* A descriptor that is closed by another call than close() has no mode any more. */
START_TEST(forgets_modes)
{
	static const struct {
		const char *call;
		struct argument args[4];
		bool forgets;
	} cases[] = {
		{"close_range",
		 {{"first", UINT, 5}, {"last", UINT, UINT32_MAX}, {"flags", INT, 0}, {"ret", INT, 0}}, true},
		{"close_range",
		 {{"first", UINT, 4}, {"last", UINT, 5}, {"flags", INT, 4}, {"ret", INT, 0}}, false},
		{"close_range",
		 {{"first", UINT, 6}, {"last", UINT, 900}, {"flags", INT, 0}, {"ret", INT, 0}}, false},
		{"closefrom", {{"lowfd", INT, 4}}, true},
		{"fclose", {{"stream", POINTER, 0x77}, {"ret", INT, 0}}, true},
		{"fclose", {{"stream", POINTER, 0x78}, {"ret", INT, 0}}, false},
	};
	struct fxt_report report;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_trace();
		event(COMPLETE, 1, "net", "socket", 1000, 1100,
		      ARGS({"type", INT, 1 | O_NONBLOCK}, {"ret", INT, 5}));
		event(COMPLETE, 1, "io", "fdopen", 2000, 2100, ARGS({"fd", INT, 5}, {"ret", POINTER, 0x77}));
		event(COMPLETE, 1, "io", cases[i].call, 3000, 3100,
		      ARGS(cases[i].args[0], cases[i].args[1], cases[i].args[2], cases[i].args[3]));
		event(COMPLETE, 1, "io", "read", 10000, 20000, ARGS({"fd", INT, 5}));
		make_report(&report, 10);
		ck_assert_uint_eq(times_of(&report, 7)->waiting_ns, cases[i].forgets ? 10000 : 0);
		end_report(&report);
	}
}
END_TEST

/* However many calls lie within a wait, they are not counted besides it. The calls before it are. */
START_TEST(counts_nothing_twice)
{
	struct fxt_report report;
	const struct fxt_thread_time *t;

	begin_trace();
	for (uint64_t i = 0; i < 1000; i++)
		call(1, "io", "read", 10000 * i, 10000 * i + 4000);
	call(1, "process", "system", 5000000 - 3000, 10000000);
	make_report(&report, 10);
	t = times_of(&report, 7);
	ck_assert_uint_eq(t->last_ns - t->first_ns, 10000000);
	/* The sum may be wrong by one of the entries that stand for several calls. */
	ck_assert_uint_ge(t->waiting_ns, 5003000 + 498 * 4000);
	ck_assert_uint_le(t->waiting_ns, 5003000 + 502 * 4000);
	end_report(&report);
}
END_TEST

/* -- Files --------------------------------------------------------------------------------------------- */

START_TEST(tells_latencies_by_file)
{
	struct fxt_report report;
	const struct fxt_file *file;

	begin_trace();
	for (uint64_t i = 0; i < 3; i++)
		event(COMPLETE, 1, "io", "write", 1000 * i, 1000 * i + 30 - 10 * i,
		      ARGS({"fd", INT, 5}, {"ret", INT, 6 * i}));
	for (uint64_t i = 1; i <= 100; i++)
		event(COMPLETE, 1, "io", "read", 100000 + 1000 * i, 100000 + 1001 * i,
		      ARGS({"fd", INT, 6}, {"ret", INT, 8}));
	event(COMPLETE, 1, "io", "fsync", 300000, 300040, ARGS({"fd", INT, 5}, {"ret", INT, 0}));
	make_report(&report, 10);
	ck_assert_uint_eq(report.files.count, 2);
	file = &report.files.list[0];
	ck_assert_str_eq(file->label, "descriptor 6 of 7");
	ck_assert_ptr_null(file->uses[FXT_FILE_WRITE]);
	ck_assert_uint_eq(file->uses[FXT_FILE_READ]->calls, 100);
	ck_assert_uint_eq(file->uses[FXT_FILE_READ]->bytes, 800);
	ck_assert_uint_eq(file->uses[FXT_FILE_READ]->total_ns, 5050);
	ck_assert_uint_eq(fxt_transfers_mean_bytes(file->uses[FXT_FILE_READ]), 8);
	ck_assert_uint_eq(fxt_transfers_percentile(file->uses[FXT_FILE_READ], 50), 50);
	ck_assert_uint_eq(fxt_transfers_percentile(file->uses[FXT_FILE_READ], 99), 99);
	ck_assert_uint_eq(file->uses[FXT_FILE_READ]->max_ns, 100);
	file = &report.files.list[1];
	ck_assert_uint_eq(file->calls, 4);
	ck_assert_uint_eq(file->total_ns, 60 + 40);
	ck_assert_uint_eq(file->out_bytes, 18);
	ck_assert_uint_eq(fxt_transfers_mean_bytes(file->uses[FXT_FILE_WRITE]), 6);
	ck_assert_uint_eq(fxt_transfers_percentile(file->uses[FXT_FILE_WRITE], 50), 20);
	ck_assert_uint_eq(fxt_transfers_percentile(file->uses[FXT_FILE_WRITE], 99), 30);
	ck_assert_uint_eq(file->uses[FXT_FILE_OTHER]->total_ns, 40);
	end_report(&report);
}
END_TEST

/* Two programs have the begin of a descriptor's lifetime with the same id. The last one counts. The indices
 * of both programs, put together, would be the index of a third program or of none. */
START_TEST(an_id_of_two_programs)
{
	const struct argument *args =
		ARGS({"fd", INT, 5}, {"call", TEXT, TEXT_OF("open")}, {"path", TEXT, TEXT_OF("/b")});
	struct fxt_report report;

	begin_trace();
	event(ASYNC_BEGIN, 1, "fd", "file", 10, 77, args);
	provider(8);
	thread(1, 8, 8);
	event(ASYNC_BEGIN, 1, "fd", "file", 20, 77, args);
	make_report(&report, 10);
	ck_assert_uint_eq(report.descriptors.count, 1);
	ck_assert_uint_eq(report.descriptors.list[0].pid, 8);
	end_report(&report);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("report");

	tcase_add_loop_test(c, leaves_handlers_and_the_recording_out_of_calls, 0, 5);
	tcase_add_test(c, tells_running_from_waiting);
	tcase_add_loop_test(c, knows_the_last_program, 0, 2);
	tcase_add_test(c, ends_calls_with_their_program);
	tcase_add_test(c, tells_what_rows_say);
	tcase_add_loop_test(c, knows_modes, 0, MODE_CASES);
	tcase_add_test(c, shares_modes);
	tcase_add_test(c, forgets_modes);
	tcase_add_test(c, counts_threads_by_their_lifetimes);
	tcase_add_test(c, counts_nothing_twice);
	tcase_add_test(c, tells_latencies_by_file);
	tcase_add_test(c, an_id_of_two_programs);
	return RUN_SUITE("report", c);
}
