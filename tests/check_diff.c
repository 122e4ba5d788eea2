/* This tests fxt diff (tools/diff/): the rank test against all ways in which chance may put the values;
 * what is said of drawn figures against what was drawn; and that chance alone makes it claim changes as
 * seldom as it says. FXT_SEED draws the same ones again. */
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
#include "tools/diff/diff.h"
#include "tools/diff/rank_test.h"

enum { MOST = 10 };

/* -- The rank test --------------------------------------------------------------------------------- */

/* Returns twice the sum of ranks of the chosen values: of each it is how many are smaller, and how many
 * are not larger, and one. */
static unsigned sum_of(const double *values, unsigned count, unsigned chosen)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < count; i++) {
		if (!(chosen >> i & 1))
			continue;
		for (unsigned k = 0; k < count; k++)
			sum += (values[k] < values[i]) + (values[k] <= values[i]);
		sum++;
	}
	return sum;
}

static double by_all_ways(const double *values, unsigned count, unsigned a_count)
{
	int mean = (int)(a_count * (count + 1)), off;
	unsigned all = 0, far = 0;

	off = abs((int)sum_of(values, count, (1u << a_count) - 1) - mean);
	for (unsigned way = 0; way < 1u << count; way++) {
		if ((unsigned)__builtin_popcount(way) != a_count)
			continue;
		all++;
		far += abs((int)sum_of(values, count, way) - mean) >= off;
	}
	return (double)far / all;
}

START_TEST(rank_test_is_exact)
{
	random_seed(1);
	for (unsigned round = 0; round < 400; round++) {
		unsigned count = 2 + (unsigned)random_below(MOST - 1);
		unsigned a = 1 + (unsigned)random_below(count - 1);
		uint64_t range = random_below(2) ? 3 : 1000000;
		double values[MOST];

		for (unsigned i = 0; i < count; i++)
			values[i] = (double)random_below(range) / 7;
		ck_assert_double_eq_tol(fxt_rank_test(values, a, values + a, count - a),
					by_all_ways(values, count, a), 1e-12);
	}
}
END_TEST

/* Where there are too many values for all ways, the approximation goes on from them. */
START_TEST(approximation_is_near)
{
	enum { HALF = FXT_RANK_TEST_EXACT / 2 };
	double values[2 * HALF + 1];

	random_seed(2);
	for (unsigned round = 0; round < 20; round++) {
		double shift = (double)random_below(60) / 100, exact, near;

		for (unsigned i = 0; i < 2 * HALF; i++)
			values[i] = (double)random_below(1000) / 1000 + (i < HALF ? shift : 0);
		exact = fxt_rank_test(values, HALF, values + HALF, HALF);
		values[2 * HALF] = 0.5;
		near = fxt_rank_test(values, HALF, values + HALF, HALF + 1);
		ck_assert_msg(near < 4 * exact + 0.05 && exact < 4 * near + 0.05, "%g, and then %g", exact,
			      near);
	}
}
END_TEST

/* -- What is said of drawn figures ----------------------------------------------------------------- */

static struct fxt_diff d;

static void begin(size_t a, size_t b)
{
	d = (struct fxt_diff){.run_count = a + b, .a_count = a};
	d.runs = fxt_alloc(a + b, sizeof(*d.runs));
	for (size_t i = 0; i < a + b; i++)
		d.runs[i].path = "run";
}

static void add_noisy(uint32_t thing, enum fxt_diff_quantity q, size_t run, double value)
{
	fxt_diff_add(&d, thing, q, run, value);
	fxt_diff_noisy(&d, thing, q);
}

/* Adds a run that took so long. */
static void add_run(size_t run, double ns)
{
	add_noisy(fxt_diff_thing(&d, FXT_DIFF_RUN, "the run", FXT_DIFF_NONE), FXT_DIFF_TIME, run, ns);
}

static uint32_t call(const char *name)
{
	return fxt_diff_thing(&d, FXT_DIFF_CALL, name, FXT_DIFF_NONE);
}

static void compare(void)
{
	char *bad = fxt_diff_compare(&d);

	ck_assert_msg(!bad, "%s", bad);
}

static double noise(void)
{
	return 0.9 + (double)random_below(200001) / 1000000;
}

/* Numbers that are the same in each run of a side are claimed to have changed exactly if the sides
 * differ, and those that are not are left to the rank test. The largest change comes first. */
START_TEST(numbers_are_compared_exactly)
{
	enum { THINGS = 12 };

	random_seed(3);
	for (unsigned round = 0; round < 300; round++) {
		size_t a = 1 + random_below(4), b = 1 + random_below(4), changed = 0;
		double from[THINGS], to[THINGS], last = INFINITY;
		bool is_lossy = random_below(5) == 0;
		char name[16];

		begin(a, b);
		d.runs[random_below(a + b)].lost = is_lossy;
		for (size_t run = 0; run < a + b; run++)
			add_run(run, 1e9 * noise());
		for (unsigned i = 0; i < THINGS; i++) {
			from[i] = (double)random_below(4) * 100;
			to[i] = random_below(2) ? from[i] : (double)random_below(4) * 100;
			changed += from[i] != to[i];
			snprintf(name, sizeof(name), "call_%u", i);
			for (size_t run = 0; run < a + b; run++)
				fxt_diff_add(&d, call(name), FXT_DIFF_COUNT, run, run < a ? from[i] : to[i]);
		}
		compare();
		ck_assert_uint_eq(d.changed, is_lossy ? 0 : changed);
		for (size_t i = 0; i < d.order_count; i++) {
			const struct fxt_diff_thing *t = &d.things[d.order[i]];
			unsigned which = (unsigned)strtoul(t->name + strlen("call_"), NULL, 10);
			double change = fabs(from[which] - to[which]) / fmax(from[which], to[which]);

			ck_assert(change > 0 && change <= last);
			last = change;
			ck_assert(t->figures[FXT_DIFF_COUNT].is_each);
		}
		fxt_diff_free(&d);
	}
}
END_TEST

/* A change that is beyond all noise is claimed with enough runs, and with fewer it is a perhaps. Whatever
 * costs most comes first. */
START_TEST(times_are_told_from_noise)
{
	enum { THINGS = 8 };

	random_seed(4);
	for (unsigned round = 0; round < 100; round++) {
		size_t runs = 1 + random_below(9), slower = random_below(THINGS);
		char name[16];

		begin(runs, runs);
		for (size_t run = 0; run < 2 * runs; run++) {
			double all = 0;

			for (unsigned i = 0; i < THINGS; i++) {
				double ns = 1e7 * (i + 1) * noise() + (i == slower && run >= runs ? 2e8 : 0);

				snprintf(name, sizeof(name), "call_%u", i);
				add_noisy(call(name), FXT_DIFF_TIME, run, ns);
				all += ns;
			}
			add_run(run, all);
		}
		compare();
		ck_assert_uint_ge(d.order_count, 1);
		ck_assert_uint_eq(d.compared, THINGS);
		snprintf(name, sizeof(name), "call_%zu", slower);
		/* Of all runs in a row, how likely is it that chance puts one side first or last? Of 6 a side
		 * that is 2 of 924 times 8, of 5 a side 2 of 252 times 8. */
		ck_assert_int_eq(fxt_diff_has_few_runs(&d), runs < 6);
		ck_assert_uint_eq(fxt_diff_enough_runs(&d), 6);
		ck_assert_int_eq(d.things[d.order[0]].verdict,
				 runs < 6 ? FXT_DIFF_PERHAPS : FXT_DIFF_CHANGED);
		ck_assert_str_eq(d.things[d.order[0]].name, name);
		ck_assert_int_eq(fxt_diff_whole(&d)->figures[FXT_DIFF_TIME].verdict,
				 runs < 4 ? FXT_DIFF_PERHAPS : FXT_DIFF_CHANGED);
		fxt_diff_free(&d);
	}
}
END_TEST

/* Among runs of one program, chance makes it claim a change in one diff of twenty at the most. So many of so
 * many is five deviations more than that. */
START_TEST(chance_is_seldom_believed)
{
	enum { ROUNDS = 1000, THINGS = 20, RUNS = 7 };
	unsigned claimed = 0, first = 0;
	const double most = ROUNDS * 0.05 + 5 * sqrt(ROUNDS * 0.05 * 0.95);

	random_seed(5);
	for (unsigned round = 0; round < ROUNDS; round++) {
		char name[16];

		begin(RUNS, RUNS);
		for (size_t run = 0; run < 2 * RUNS; run++) {
			add_run(run, 1e8 * (1 + (double)random_below(1000000) / 1e6));
			for (unsigned i = 0; i < THINGS; i++) {
				snprintf(name, sizeof(name), "call_%u", i);
				add_noisy(call(name), FXT_DIFF_TIME, run,
					  1e7 * (1 + (double)random_below(1000000) / 1e6));
			}
		}
		compare();
		claimed += d.changed > 0;
		first += fxt_diff_whole(&d)->figures[FXT_DIFF_TIME].verdict == FXT_DIFF_CHANGED;
		fxt_diff_free(&d);
	}
	ck_assert_msg(claimed <= most, "%u of %u diffs claim a change", claimed, (unsigned)ROUNDS);
	ck_assert_msg(first <= most, "%u of %u diffs claim that the run is slower", first, (unsigned)ROUNDS);
}
END_TEST

/* A category that one side alone has events of is one thing, and its calls are none. */
START_TEST(a_category_of_one_side_is_one_thing)
{
	uint32_t category, sleeps, reads;

	begin(2, 2);
	for (size_t run = 0; run < 4; run++) {
		add_run(run, 1e9);
		category = fxt_diff_thing(&d, FXT_DIFF_CATEGORY, "time", FXT_DIFF_NONE);
		sleeps = call("nanosleep");
		d.things[sleeps].category = category;
		if (run >= 2) {
			fxt_diff_add(&d, sleeps, FXT_DIFF_COUNT, run, 7);
			fxt_diff_add(&d, category, FXT_DIFF_COUNT, run, 7);
		}
		reads = call("read");
		fxt_diff_add(&d, reads, FXT_DIFF_COUNT, run, 7);
		category = fxt_diff_thing(&d, FXT_DIFF_CATEGORY, "io", FXT_DIFF_NONE);
		d.things[reads].category = category;
		fxt_diff_add(&d, category, FXT_DIFF_COUNT, run, 7 + (double)run);
	}
	compare();
	ck_assert_uint_eq(d.order_count, 1);
	ck_assert_str_eq(d.things[d.order[0]].name, "time");
	ck_assert_str_eq(d.things[d.things[d.order[0]].by].name, "nanosleep");
	fxt_diff_free(&d);
}
END_TEST

/* Runs that do more work are the same for each piece of it. */
START_TEST(figures_are_divided_by_calls)
{
	char *bad;

	random_seed(6);
	for (unsigned round = 0; round < 100; round++) {
		bool is_changed = random_below(2);

		begin(2, 3);
		d.per = "accept";
		for (size_t run = 0; run < 5; run++) {
			double requests = 1 + (double)random_below(100);

			add_run(run, 1e6 * requests);
			fxt_diff_add(&d, call("accept"), FXT_DIFF_COUNT, run, requests);
			fxt_diff_add(&d, call("read"), FXT_DIFF_COUNT, run,
				     requests * (is_changed && run >= 2 ? 4 : 3));
		}
		compare();
		ck_assert_uint_eq(d.changed, is_changed);
		fxt_diff_free(&d);
	}
	begin(1, 1);
	d.per = "accept";
	add_run(0, 1);
	add_run(1, 1);
	bad = fxt_diff_compare(&d);
	ck_assert_msg(bad && strstr(bad, "accept"), "there is no such call");
	free(bad);
	fxt_diff_free(&d);
}
END_TEST

int main(void)
{
	TCase *ranks = tcase_create("ranks"), *compares = tcase_create("compares");

	tcase_set_timeout(compares, 60);
	tcase_add_test(ranks, rank_test_is_exact);
	tcase_add_test(ranks, approximation_is_near);
	tcase_add_test(compares, numbers_are_compared_exactly);
	tcase_add_test(compares, times_are_told_from_noise);
	tcase_add_test(compares, chance_is_seldom_believed);
	tcase_add_test(compares, a_category_of_one_side_is_one_thing);
	tcase_add_test(compares, figures_are_divided_by_calls);
	return RUN_SUITE("diff", ranks, compares);
}
