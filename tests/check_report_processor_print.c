/* This tests what the report prints of processor time: which section comes first, what its lines say, and the
 * names and lines of source of functions. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "tools/analysis/demangle.h"
#include "trace_maker.h"

enum { HZ = 1000, MS = 1000000 };
#define NODE(number) (UINT64_C(0xfff0000000000000) + (number))

static char *text;

/* Keeps the text of the report in `text`, in `top` lines of each section. */
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

static void expect(const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "there is no '%s' in:\n%.3000s", part, text);
}

static void expect_none(const char *part)
{
	ck_assert_msg(strstr(text, part) == NULL, "there is a '%s' in:\n%.3000s", part, text);
}

/* Fails unless the first part stands before the second. */
static void expect_order(const char *first, const char *second)
{
	expect(first);
	expect(second);
	ck_assert_msg(strstr(text, first) < strstr(text, second), "'%s' is behind '%s' in:\n%.3000s", first,
		      second, text);
}

static void begin_kernel(void)
{
	kernel();
	fact(7, 7, "sampling", 0, ARGS({"hz", UINT, HZ}, {"kernel", TEXT, TEXT_OF("sampled")}));
}

/* Writes so many samples of a thread in one node, each a millisecond later. */
static uint64_t samples(uint64_t tid, uint64_t at, uint64_t node, const char *name, unsigned number)
{
	for (unsigned i = 0; i < number; i++, at += MS)
		sample(7, tid, at, node, name);
	return at;
}

/* -- What is printed --------------------------------------------------------------------------------- */

/* For a program that computes, its functions come before its threads; for one that waits, behind its waits.
 * Then the first lines have the hottest. */
START_TEST(puts_first_what_took_longest)
{
	uint64_t at;

	begin_trace();
	woken(true, 2, "pthread_mutex_lock", 0x10, 0, (_i ? 400 : 20) * (uint64_t)MS, 1, 19 * MS, 1);
	call(1, "io", "read", 0, 5 * MS);
	begin_kernel();
	frame(NODE(0), 0, "main", "/bin/app", 0x10);
	frame(NODE(1), NODE(0), "ns::Sieve<int>::run(int, int)", "/usr/lib/libsieve.so", 0x20);
	frame(NODE(2), NODE(1), "[kernel]", "[kernel]", 0);
	at = samples(7, 0, NODE(1), "ns::Sieve<int>::run(int, int)", 60);
	at = samples(7, at, NODE(2), "[kernel]", 30);
	samples(8, at, NODE(0), "main", 10);
	print(10);
	if (_i) {
		expect("computed for 100 ms: 60% in ns::Sieve<int>::run, 30% in [kernel], 10% in main\n");
		expect_order("LONGEST CAUSAL CHAINS", "PROCESSOR TIME BY FUNCTION");
	} else {
		expect_none("computed for");
		expect_order("PROCESSOR TIME BY FUNCTION", "\nTHREADS ");
	}
	expect("  ns::Sieve<int>::run                     60.0%   60.0 ms  90.0%  libsieve.so\n");
	expect("  main                                    10.0%   10.0 ms 100.0%  app\n");
	expect("  100 samples of 1.00 ms: 100 ms of processor time, 30.0% of it in the kernel\n");
	expect_order("PROCESSOR TIME BY THREAD", "ns::Sieve<int>::run 67%");
	expect_none("by process:");
	print(1);
	expect("  ns::Sieve<int>::run   ");
	expect("  and 2 more\n  100 samples");
}
END_TEST

START_TEST(says_what_is_missing)
{
	begin_trace();
	kernel();
	fact(7, 7, "sampling", 0, ARGS({"hz", UINT, HZ}, {"kernel", TEXT, TEXT_OF("not sampled")}));
	fact(7, 7, "lost", 1, ARGS({"records", UINT, 1200}));
	fact(7, 7, "lost", 2, ARGS({"records", UINT, 34}));
	frame(NODE(0), 0, "main", "/bin/app", 0x10);
	samples(7, 0, NODE(0), "main", FXT_FEW_SAMPLES - 1 + (unsigned)_i);
	print(10);
	expect("  time in the kernel was not sampled");
	expect("  1 234 of the kernel's records are missing");
	expect("LOST: 1 234 of the kernel's records");
	expect_none("nothing lost");
	expect_none("in the kernel\n");
	if (_i) {
		expect(" 100.0% ");
	} else {
		expect("  19 samples, about 19.0 ms of processor time, cannot say which functions took it\n");
		expect_none("100.0%");
	}
}
END_TEST

/* Where many processes ran few programs, a line is about a program. */
START_TEST(sums_up_programs)
{
	uint64_t at = 0;

	begin_trace();
	kernel();
	fact(100, 100, "sampling", 0, ARGS({"hz", UINT, HZ}, {"kernel", TEXT, TEXT_OF("sampled")}));
	for (uint64_t pid = 100; pid < 111 + (uint64_t)_i; pid++)
		for (uint64_t i = 0; i <= pid % 3; i++, at += MS)
			sample(pid, pid, at, 0, "work");
	for (uint64_t pid = 100; pid < 111 + (uint64_t)_i; pid++)
		object_name(pid, 0, pid % 3 ? "gzip" : "sh");
	print(10);
	if (!_i) {
		expect("\nPROCESSOR TIME BY THREAD ");
		expect_none("PROCESSOR TIME BY PROGRAM");
		return;
	}
	/* 100 to 111: four of three samples, four of two, and four of one */
	expect_none("PROCESSOR TIME BY THREAD");
	expect_order("PROCESSOR TIME BY PROGRAM", "  gzip ");
	expect(" 20.0 ms        -        -         -          8\n");
	expect("  sh ");
	expect(" 4.00 ms        -        -         -          4\n");
}
END_TEST

/* A program that was only watched is named as the kernel names it, and has processes and threads. */
START_TEST(tells_of_what_was_only_watched)
{
	begin_trace();
	kernel();
	fact(7, 7, "sampling", 0, ARGS({"hz", UINT, HZ}, {"kernel", TEXT, TEXT_OF("sampled")}));
	frame(NODE(0), 0, "main", "/bin/app", 0x10);
	samples(7, 0, NODE(0), "main", 50);
	for (unsigned i = 0; i < 25; i++)
		sample(70, 70, (50 + i) * (uint64_t)MS, NODE(0), "main");
	switched(40 * MS, 1, 70, 0);
	switched(50 * MS, 1, 0, 70);
	object_name(7, 0, "worker");
	object_name(7, 7, "worker");
	object_name(70, 0, "helper");
	object_name(70, 70, "helper");
	print(10);
	expect("2 processes, 2 threads, 76 events");
	expect("  by process: worker 7 66.7%, helper 70 33.3%\n");
	expect("  7/7 worker ");
	expect_none("CALLS");
	expect_none("\nTHREADS");
	expect("  threads were ready for 10.0 ms in all, while no processor was free for them\n");
}
END_TEST

/* -- Names ---------------------------------------------------------------------------------------------- */

START_TEST(shortens_names)
{
	static const struct {
		const char *full, *shortened;
	} names[] = {
		{"main", "main"},
		{"libz.so.1+0x1234", "libz.so.1+0x1234"},
		{"[code in no file]", "[code in no file]"},
		{"ns::Stack::push(int)", "ns::Stack::push"},
		{"void ns::sort<int>(int*, int*)", "ns::sort<int>"},
		{"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
		{"ns::(anonymous namespace)::f(int) [clone .isra.0]", "ns::(anonymous namespace)::f"},
		{"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"},
		{"f(int)::{lambda()#1}::operator()() const", "f(int)::{lambda()#1}::operator()"},
		{"operator new(unsigned long)", "operator new"},
		{"bool operator< <int>(A<int> const&, A<int> const&)", "operator< <int>"},
		{"std::ostream& operator<<(std::ostream&, int)", "operator<<"},
		{"std::function<void (int)>::operator()(int) const", "std::function<void (int)>::operator()"},
		{"decltype (f({parm#1})) g<int>(int)", "g<int>"},
		{"<core::T as core::U>::next", "<core::T as core::U>::next"},
		{"f(", "f"},
		{"((((", "(((("},
		{"operator", "operator"},
		{"<<<", "<<<"},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct fxt_text full = fxt_text_of(names[i].full);
		char *found = fxt_shorten_demangled(&full, 60);

		ck_assert_str_eq(found, names[i].shortened);
		free(found);
	}
}
END_TEST

/* No line is known of what is no regular file, no program, or no code; nobody waits for what is opened. */
START_TEST(finds_no_lines)
{
	static const char *const paths[] = {"/dev/zero", "/nonexistent/file", "/etc/passwd", "/proc/kcore",
					    "/proc/self/mem", "relative", "", "/proc/self/exe"};
	struct fxt_frame_names *s = fxt_frame_names_open(INT64_MAX);
	struct fxt_source_place place;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const struct fxt_frame_at at = {fxt_text_of(paths[i]), fxt_text_of(""),
						i == 7 ? UINT64_MAX : 1};

		ck_assert(!fxt_source_line(s, &at, &place));
	}
	fxt_frame_names_close(s);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("processor");

	tcase_add_loop_test(c, puts_first_what_took_longest, 0, 2);
	tcase_add_loop_test(c, says_what_is_missing, 0, 2);
	tcase_add_test(c, tells_of_what_was_only_watched);
	tcase_add_test(c, shortens_names);
	tcase_add_loop_test(c, sums_up_programs, 0, 2);
	tcase_add_test(c, finds_no_lines);
	return RUN_SUITE("report: processor time, printed", c);
}
