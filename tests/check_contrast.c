/* This tests blame by contrast (tools/callers/contrast.h). Helpers are called by random numbers of callers,
 * through random numbers of further helpers, and one caller, or none, or all do what is wrong. The test knows
 * which, and what chance allows. FXT_SEED=N draws the same ones again. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/callers/contrast.h"
#include "trace_maker.h"

enum { CALLERS = 200, LEVELS = 3, ROUNDS = 60 };
#define NODE(number) (UINT64_C(0x7fe0000000000000) + (number))

static struct fxt_report report;
static struct fxt_contrast_item items[CALLERS];

/* Writes main, a chain of callers that all items go through, `callers` functions, and behind each of them the
 * same helpers. The innermost helper of caller i is node 1000 * (i + 1) + LEVELS. */
static void write_callers(unsigned callers, unsigned helpers)
{
	static char names[CALLERS + LEVELS][32];

	begin_trace();
	frame(NODE(1), 0, "main", "/bin/app", 0x10);
	frame(NODE(2), NODE(1), "serve", "/bin/app", 0x20);
	for (unsigned h = 0; h < helpers; h++)
		snprintf(names[CALLERS + h], sizeof(names[0]), "helper_%u", h);
	for (unsigned i = 0; i < callers; i++) {
		unsigned base = 1000 * (i + 1);

		snprintf(names[i], sizeof(names[i]), "caller_%u", i);
		frame(NODE(base), NODE(2), names[i], "/bin/app", base);
		for (unsigned h = 0; h < helpers; h++)
			frame(NODE(h + 1 == helpers ? base + LEVELS : base + h + 1), NODE(base + h),
			      names[CALLERS + h], "/bin/app", base + h + 1);
	}
	call(1, "io", "fsync", 0, 1000);
	make_report(&report, 10);
}

static uint32_t place_of(unsigned number)
{
	const struct fxt_call_stacks *stacks = &report.who->stacks;

	for (uint32_t i = 0; i < stacks->count; i++)
		if (stacks->frames[i].id == NODE(number))
			return i;
	ck_abort_msg("there is no node %u", number);
}

/* Fails unless caller `wrong` is told, or if it is negative, nobody. */
static void expect_told(unsigned callers, int wrong, enum fxt_contrast_by by)
{
	unsigned from = wrong < 0 ? 0 : (unsigned)wrong;
	struct fxt_contrast found;
	bool is_found = fxt_contrast_find(report.who, FXT_FOR_CALL, items[from].innermost, by, items, callers,
					  &found);

	ck_assert_msg(is_found == (wrong >= 0), "%u callers: of caller %d, %d", callers, wrong, is_found);
	if (!is_found)
		return;
	ck_assert_uint_eq(found.frame, place_of(1000 * (from + 1)));
	ck_assert_uint_eq(found.callers, callers - 1);
	ck_assert_double_eq(found.own.all, items[from].all);
	ck_assert_double_eq(found.own.bad, items[from].bad);
	ck_assert_ptr_nonnull(strstr(found.helper, "helper_"));
	free(found.helper);
}

static void set_items(unsigned callers)
{
	for (unsigned i = 0; i < callers; i++)
		items[i].innermost = place_of(1000 * (i + 1) + LEVELS);
}

START_TEST(one_caller_is_told)
{
	random_seed(1);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned callers = 2 + (unsigned)random_below(CALLERS - 2);
		unsigned wrong = (unsigned)random_below(callers);

		write_callers(callers, 1 + (unsigned)random_below(LEVELS));
		set_items(callers);
		/* 30 of 30 against nothing, or a tenth, of at least 10. */
		for (unsigned i = 0; i < callers; i++) {
			items[i].all = 10 + (double)random_below(100);
			items[i].bad = (double)random_below(2)
					       ? 0
					       : (double)random_below((unsigned)items[i].all / 10 + 1);
		}
		items[wrong].all = items[wrong].bad = 30 + (double)random_below(100);
		expect_told(callers, (int)wrong, FXT_BY_SHARE);
		end_report(&report);
	}
}
END_TEST

START_TEST(what_all_do_is_told_of_nobody)
{
	random_seed(2);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned callers = 2 + (unsigned)random_below(CALLERS - 2);

		write_callers(callers, 1 + (unsigned)random_below(LEVELS));
		set_items(callers);
		for (unsigned i = 0; i < callers; i++)
			items[i].all = items[i].bad = 1 + (double)random_below(100);
		expect_told(callers, -1, FXT_BY_SHARE);
		for (unsigned i = 0; i < callers; i++)
			items[i] = (struct fxt_contrast_item){items[i].innermost, 20, 10};
		expect_told(callers, -1, FXT_BY_SHARE);
		end_report(&report);
	}
}
END_TEST

/* One of one, or two of two, may be chance where others have done it once or twice. */
START_TEST(a_small_sample_tells_nothing)
{
	random_seed(3);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned callers = 2, wrong = (unsigned)random_below(2);

		write_callers(callers, 1 + (unsigned)random_below(LEVELS));
		set_items(callers);
		items[wrong].all = items[wrong].bad = 1 + (double)random_below(2);
		items[!wrong].all = 1 + (double)random_below(2);
		items[!wrong].bad = 0;
		expect_told(callers, -1, FXT_BY_SHARE);
		end_report(&report);
	}
}
END_TEST

START_TEST(the_slow_one_is_told)
{
	random_seed(4);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned callers = 2 + (unsigned)random_below(20), wrong = (unsigned)random_below(callers);
		double others = 0;

		write_callers(callers, 1 + (unsigned)random_below(LEVELS));
		set_items(callers);
		for (unsigned i = 0; i < callers; i++) {
			items[i].all = 3 + (double)random_below(20);
			items[i].bad = items[i].all * (500 + (double)random_below(500));
			others += items[i].bad;
		}
		/* It takes four times as long at least, and four fifths of all. */
		items[wrong].all = 3;
		items[wrong].bad = 5 * others + 3 * 5000;
		expect_told(callers, (int)wrong, FXT_BY_MEAN);
		/* Two calls say too little. */
		items[wrong].all = 2;
		expect_told(callers, -1, FXT_BY_MEAN);
		/* Nobody is slow. */
		for (unsigned i = 0; i < callers; i++)
			items[i].bad = items[i].all * 700;
		expect_told(callers, -1, FXT_BY_MEAN);
		end_report(&report);
	}
}
END_TEST

int main(void)
{
	TCase *contrast = tcase_create("contrast");

	random_begin();
	tcase_add_test(contrast, one_caller_is_told);
	tcase_add_test(contrast, what_all_do_is_told_of_nobody);
	tcase_add_test(contrast, a_small_sample_tells_nothing);
	tcase_add_test(contrast, the_slow_one_is_told);
	return RUN_SUITE("contrast", contrast);
}
