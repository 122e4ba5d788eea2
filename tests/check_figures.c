/* This tests figures (tools/figures/figures.h). Calls of random times are drawn, with stacks and without;
 * some are missing. The test knows them all, and so what each figure is, and by trying all sets of the
 * calls that may count, what it may be. FXT_SEED draws the same ones again. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/common/message.h"
#include "tools/figures/figures.h"
#include "trace_maker.h"

enum { ROUNDS = 300, MOST = 12, FUNCTIONS = 3 };
#define NODE(number) (UINT64_C(0x7fe0000000000000) + (number))

static const char *const functions[FUNCTIONS] = {"load", "store<int>", "tidy"};

struct drawn {
	uint64_t ns;
	int by;                         /* place in `functions`; -1: it has no stack */
};

static struct drawn drawn[MOST];
static unsigned count, missing;
static struct fxt_report report;
static struct fxt_findings findings;

static void draw_calls(bool may_lack_stacks, bool may_be_missing)
{
	uint64_t now = 1000000;

	begin_trace();
	frame(NODE(1), 0, "main", "/bin/app", 0x10);
	for (unsigned i = 0; i < FUNCTIONS; i++)
		frame(NODE(10 + i), NODE(1), functions[i], "/bin/app", 0x100 + 16 * i);
	count = 1 + (unsigned)random_below(MOST);
	for (unsigned i = 0; i < count; i++) {
		drawn[i].ns = random_below(2) ? random_below(1000) : random_below(50000000);
		drawn[i].by = (int)random_below(FUNCTIONS + may_lack_stacks) - may_lack_stacks;
		event(COMPLETE, 1, "io", "read", now, now + drawn[i].ns,
		      drawn[i].by < 0 ? NO_ARGS : ARGS({"stack", POINTER, NODE(10 + drawn[i].by)}));
		now += drawn[i].ns + 1 + random_below(1000);
		if (random_below(3) == 0)
			call(1, "io", "write", now, now + 10);
		now += 20;
	}
	missing = may_be_missing ? (unsigned)random_below(4) : 0;
	if (missing)
		event(1, 3, "agent", random_below(2) ? "dropped" : "overwritten", now, 7,
		      ARGS({"records", UINT, missing}));
}

static void make(void)
{
	const struct fxt_report_options options = {.top = 10, .keeps_durations = true};

	make_report_with(&report, &options);
	fxt_findings_make(&findings, &report, 0);
}

static void end(void)
{
	fxt_findings_free(&findings);
	end_report(&report);
}

static struct fxt_figure figure(const char *text, const char *recorded)
{
	struct fxt_known known = {&report, &findings, recorded};
	struct fxt_asked asked;
	struct fxt_figure x;
	char *bad = fxt_asked_parse(&asked, text);

	ck_assert_msg(!bad, "%s: %s", text, bad);
	fxt_figure_find(&x, &asked, &known);
	fxt_asked_free(&asked);
	return x;
}

/* Expects a figure that is certain. */
static void expect(const char *text, uint64_t value)
{
	struct fxt_figure x = figure(text, NULL);

	ck_assert_msg(x.is_known && x.value == value && x.low == value && x.high == value,
		      "%s is %llu and not %llu..%llu (%s)", text, (unsigned long long)value,
		      (unsigned long long)x.low, (unsigned long long)x.high, x.doubt ? x.doubt : "");
	fxt_figure_free(&x);
}

/* Expects that nothing is known of a figure, for a reason with these words. */
static void expect_unknown(const char *text, const char *recorded, const char *words)
{
	struct fxt_figure x = figure(text, recorded);

	ck_assert_msg(!x.is_known && x.low == 0 && x.high == FXT_ANY && x.doubt && strstr(x.doubt, words),
		      "%s: %s", text, x.doubt ? x.doubt : "it is known");
	fxt_figure_free(&x);
}

/* -- The model ------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Returns the percentile of values, of which there is one. */
static double percentile(double *values, unsigned n, double percent)
{
	unsigned rank = (unsigned)ceil(n * percent / 100);

	qsort(values, n, sizeof(*values), ascending);
	return values[rank ? rank - 1 : 0];
}

/* Sets the least and the most of a percentile, over all sets of the calls that may count. */
static void try_all(int by, double percent, double *low, double *high)
{
	unsigned maybe[MOST], maybes = 0;
	double values[2 * MOST];

	*low = INFINITY;
	*high = 0;
	for (unsigned i = 0; i < count; i++)
		if (by >= 0 && drawn[i].by < 0)
			maybe[maybes++] = i;
	for (unsigned set = 0; set < 1u << maybes; set++) {
		for (unsigned lost = 0; lost <= missing; lost++) {
			for (int at_end = 0; at_end < 2; at_end++) {
				unsigned n = 0;
				double p;

				for (unsigned i = 0; i < count; i++)
					if (by < 0 || drawn[i].by == by)
						values[n++] = (double)drawn[i].ns;
				for (unsigned k = 0; k < maybes; k++)
					if (set >> k & 1)
						values[n++] = (double)drawn[maybe[k]].ns;
				for (unsigned k = 0; k < lost; k++)
					values[n++] = at_end ? INFINITY : 0;
				if (!n)
					continue;
				p = percentile(values, n, percent);
				*low = p < *low ? p : *low;
				*high = p > *high ? p : *high;
			}
		}
	}
}

static bool is_near(uint64_t found, double expected)
{
	if (isinf(expected))
		return found == FXT_ANY;
	return fabs((double)found - expected) <= expected / 60 + 1;
}

static void expect_percentile(const char *quantity, double percent, int by)
{
	char *text = by < 0 ? fxt_format("%s(read)", quantity)
			    : fxt_format("%s( read  by %s )", quantity, functions[by]);
	struct fxt_figure x = figure(text, NULL);
	double own[MOST], low, high;
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++)
		if (by < 0 || drawn[i].by == by)
			own[n++] = (double)drawn[i].ns;
	ck_assert_int_eq(x.is_known, n > 0);
	if (n) {
		try_all(by, percent, &low, &high);
		ck_assert_msg(is_near(x.value, percentile(own, n, percent)), "%s", text);
		ck_assert_msg(is_near(x.low, low) && is_near(x.high, high),
			      "%s is from %f to %f, not %llu to %llu", text, low, high,
			      (unsigned long long)x.low, (unsigned long long)x.high);
		ck_assert_msg((x.low == x.high) || x.doubt, "%s has a doubt", text);
	}
	fxt_figure_free(&x);
	free(text);
}

static void expect_sums(int by)
{
	uint64_t n = 0, total = 0, most = 0, maybe_n = 0, maybe_total = 0, maybe_most = 0;
	struct fxt_figure x;
	char *text;

	for (unsigned i = 0; i < count; i++) {
		bool is_his = by < 0 || drawn[i].by == by, may_be = !is_his && drawn[i].by < 0;

		n += is_his;
		total += is_his ? drawn[i].ns : 0;
		most = is_his && drawn[i].ns > most ? drawn[i].ns : most;
		maybe_n += may_be;
		maybe_total += may_be ? drawn[i].ns : 0;
		maybe_most = may_be && drawn[i].ns > maybe_most ? drawn[i].ns : maybe_most;
	}
	text = by < 0 ? fxt_strdup("count(read)") : fxt_format("count(read by %s)", functions[by]);
	x = figure(text, NULL);
	ck_assert(x.is_known);
	ck_assert_uint_eq(x.value, n);
	ck_assert_uint_eq(x.low, n);
	ck_assert_uint_eq(x.high, n + maybe_n + missing);
	fxt_figure_free(&x);
	free(text);
	text = by < 0 ? fxt_strdup("total(read)") : fxt_format("total(read by %s)", functions[by]);
	x = figure(text, NULL);
	ck_assert_uint_eq(x.value, total);
	ck_assert_uint_eq(x.low, total);
	ck_assert_uint_eq(x.high, missing ? FXT_ANY : total + maybe_total);
	fxt_figure_free(&x);
	free(text);
	text = by < 0 ? fxt_strdup("max(read)") : fxt_format("max(read by %s)", functions[by]);
	x = figure(text, NULL);
	ck_assert_uint_eq(x.value, most);
	ck_assert_uint_eq(x.low, most);
	ck_assert_uint_eq(x.high, missing ? FXT_ANY : maybe_most > most ? maybe_most : most);
	fxt_figure_free(&x);
	free(text);
}

START_TEST(calls_are_as_drawn)
{
	random_seed(1);
	for (unsigned round = 0; round < ROUNDS; round++) {
		draw_calls(random_below(2), random_below(2));
		make();
		for (int by = -1; by < FUNCTIONS; by++) {
			expect_percentile("p50", 50, by);
			expect_percentile("p90", 90, by);
			expect_percentile("p999", 99.9, by);
			expect_sums(by);
		}
		end();
	}
}
END_TEST

/* -- Figures of the run ---------------------------------------------------------------------------- */

START_TEST(sums_are_those_of_the_trace)
{
	uint64_t peak = 0, in_use = 0, all = 0, left = 0, waited = 0, longest = 0, failed = 0, now = 1000;
	unsigned blocks, waits;

	random_seed(2);
	begin_trace();
	blocks = 1 + (unsigned)random_below(20);
	for (unsigned i = 0; i < blocks; i++) {
		uint64_t bytes = 1 + random_below(100000);
		bool is_freed = random_below(2);

		event(COMPLETE, 1, "malloc", "malloc", now, now + 5,
		      ARGS({"size", UINT, bytes}, {"ret", POINTER, 0x1000 + i * 0x100000}));
		all += bytes;
		in_use += bytes;
		peak = in_use > peak ? in_use : peak;
		now += 10;
		if (is_freed) {
			event(COMPLETE, 1, "malloc", "free", now, now + 5,
			      ARGS({"ptr", POINTER, 0x1000 + i * 0x100000}));
			in_use -= bytes;
		}
		left += !is_freed;
		now += 10;
	}
	waits = 1 + (unsigned)random_below(10);
	for (unsigned i = 0; i < waits; i++) {
		uint64_t ns = 5000 + random_below(1000000);

		event(COMPLETE, 2, "pthread", "pthread_mutex_lock", now, now + ns,
		      ARGS({"mutex", POINTER, 0x5000}));
		waited += ns;
		longest = ns > longest ? ns : longest;
		now += ns + 10;
		if (random_below(2)) {
			event(COMPLETE, 1, "io", "open", now, now + 5,
			      ARGS({"ret", INT, (uint64_t)-1}, {"errno", INT, 2}));
			failed++;
		} else {
			call(1, "io", "open", now, now + 5);
		}
		now += 10;
	}
	make();
	expect("leaks", left);
	expect("heap.peak", peak);
	expect("heap.left", in_use);
	expect("heap.allocated", all);
	expect("waits", waited);
	expect("waits(mutex)", waited);
	expect("waits(cond)", 0);
	expect("waits.count", waits);
	expect("waits.max", longest);
	expect("failures", failed);
	expect("failures(open)", failed);
	expect("failures(o*n)", failed);
	expect("failures(close)", 0);
	expect("threads", 2);
	expect("processes", 1);
	expect("lost", 0);
	expect("findings", 0);
	expect("findings(leak)", 0);
	expect("count(malloc)", blocks);
	expect("count(*alloc)", blocks);
	expect("duration", report.overview.last_ns - report.overview.first_ns);
	end();
}
END_TEST

START_TEST(what_is_not_told_is_unknown)
{
	struct fxt_figure x;

	begin_trace();
	call(1, "io", "read", 10, 20);
	make();
	expect_unknown("heap.peak", NULL, "no event of category malloc");
	expect_unknown("leaks", "#default,-malloc", "no event of category malloc");
	expect_unknown("count(nanosleep)", NULL, "no event of category time");
	expect_unknown("count(raed)", NULL, "did you mean read?");
	expect_unknown("failures(connect)", NULL, "no event of category net");
	expect_unknown("p99(write)", NULL, "no such call");
	expect_unknown("cpu", NULL, "no context switches");
	expect_unknown("cpu(load)", NULL, "no samples");
	expect("count(write)", 0);
	expect("count(read)", 1);
	/* What was recorded without a call had none. */
	x = figure("count(nanosleep)", "#default");
	ck_assert(x.is_known && x.low == 0 && x.high == 0);
	fxt_figure_free(&x);
	end();
	/* With a loss nothing is known of a sum that a free lowers, and what only grows has a least. */
	begin_trace();
	event(COMPLETE, 1, "malloc", "malloc", 10, 20, ARGS({"size", UINT, 100}, {"ret", POINTER, 0x1000}));
	event(1, 3, "agent", "dropped", 30, 7, ARGS({"records", UINT, 5}));
	make();
	expect_unknown("heap.peak", NULL, "5 calls");
	expect_unknown("leaks", NULL, "5 calls");
	x = figure("heap.allocated", NULL);
	ck_assert(x.is_known && x.low == 100 && x.high == FXT_ANY);
	fxt_figure_free(&x);
	x = figure("findings", NULL);
	ck_assert(x.is_known && x.low == 0 && x.high == FXT_ANY);
	fxt_figure_free(&x);
	expect("lost", 5);
	end();
}
END_TEST

/* A call that has not returned is the longest if it took longer than all that have. */
START_TEST(an_open_call_may_be_the_longest)
{
	random_seed(4);
	for (unsigned round = 0; round < 50; round++) {
		uint64_t finished = 5000 + random_below(100000), open = 5000 + random_below(100000);
		uint64_t later = 1000000 + open;

		begin_trace();
		call(1, "io", "read", 10, 10 + finished);
		event(BEGIN, 1, "io", "read", 1000000, 0, NO_ARGS);
		call(2, "io", "write", 20, later);
		make();
		expect("max(read)", open > finished ? open : finished);
		expect("count(read)", 1);
		end();
	}
}
END_TEST

int main(void)
{
	TCase *figures = tcase_create("figures");

	tcase_add_test(figures, calls_are_as_drawn);
	tcase_add_test(figures, sums_are_those_of_the_trace);
	tcase_add_test(figures, what_is_not_told_is_unknown);
	tcase_add_test(figures, an_open_call_may_be_the_longest);
	return RUN_SUITE("figures", figures);
}
