/* This tests limits (tools/limits/limit.h): how they are read, what the verdict on a figure is, and that
 * docs/trace-limits.md has the table of quantities. FXT_SEED draws the same figures again. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/common/message.h"
#include "tools/limits/limit.h"

static bool holds(enum fxt_comparison comparison, uint64_t x, uint64_t v)
{
	switch (comparison) {
	case FXT_LESS: return x < v;
	case FXT_AT_MOST: return x <= v;
	case FXT_MORE: return x > v;
	case FXT_AT_LEAST: return x >= v;
	case FXT_EQUAL: return x == v;
	default: return x != v;
	}
}

/* A verdict is what all values that the figure may be say, and unknown if they do not agree. */
START_TEST(verdicts_are_those_of_all_values)
{
	enum { VALUES = 12 };

	random_seed(3);
	for (unsigned round = 0; round < 20000; round++) {
		struct fxt_limit limit = {.comparison = (enum fxt_comparison)random_below(6),
					  .value = random_below(VALUES)};
		uint64_t low = random_below(VALUES), high = low + random_below(VALUES - low);
		struct fxt_figure x = {.is_known = true, .value = low, .low = low, .high = high};
		bool all = true, none = true;

		if (random_below(4) == 0)
			x.high = FXT_ANY;
		for (uint64_t v = low; v <= (x.high == FXT_ANY ? 2 * VALUES : high); v++) {
			bool is_met = holds(limit.comparison, v, limit.value);

			all &= is_met;
			none &= !is_met;
		}
		ck_assert_int_eq(fxt_limit_verdict(&limit, &x),
				 all ? FXT_MET : none ? FXT_BROKEN : FXT_UNTOLD);
	}
}
END_TEST

START_TEST(limits_are_read_as_written)
{
	static const struct {
		const char *text;
		enum fxt_comparison comparison;
		uint64_t value;
	} good[] = {
		{"heap.peak<24MB", FXT_LESS, 24000000},
		{" heap.left <= 1.5 KiB ", FXT_AT_MOST, 1536},
		{"leaks=0", FXT_EQUAL, 0},
		{"leaks == 17", FXT_EQUAL, 17},
		{"duration>=0.3ms", FXT_AT_LEAST, 300000},
		{"waits(mutex of a<b>)!=0", FXT_NOT_EQUAL, 0},
		{"p99(operator<=(int) by x<y>::f()) > 2us", FXT_MORE, 2000},
		{"max(read under main)<1h", FXT_LESS, UINT64_C(3600000000000)},
	};
	static const struct {
		const char *text, *words;
	} bad[] = {
		{"heap.peak", "compares nothing"},
		{"heap.peek<1MB", "did you mean heap.peak?"},
		{"heap.peak<1", "B, kB, MB"},
		{"heap.peak<1.0000001MB2", "B, kB, MB"},
		{"heap.peak<-1MB", "B, kB, MB"},
		{"heap.peak<.5MB", "B, kB, MB"},
		{"duration<5.MB", "ns, us, ms, s, min or h"},
		{"duration<1.5ns", "ns, us, ms, s, min or h"},
		{"leaks<1.5", "a whole number without a unit"},
		{"leaks<1B", "a whole number without a unit"},
		{"leaks<18446744073709551615", "a whole number without a unit"},
		{"count<1", "write count(CALL [by FUNCTION])"},
		{"count()<1", "write count(CALL [by FUNCTION])"},
		{"count(read by )<1", "write count(CALL [by FUNCTION])"},
		{"count(by load)<1", "write count(CALL [by FUNCTION])"},
		{"count(read<1", "compares nothing"},
		{"lost(x)<1", "write lost"},
		{"findings(lek)=0", "did you mean leak?"},
		{"heap.left()<1B", "write heap.left[(by FUNCTION)]"},
		{"", "compares nothing"},
	};
	struct fxt_limits limits = {0};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		char *message = fxt_limits_add(&limits, good[i].text);

		ck_assert_msg(!message, "%s: %s", good[i].text, message);
		ck_assert_uint_eq(limits.count, i + 1);
		ck_assert_int_eq(limits.list[i].comparison, good[i].comparison);
		ck_assert_uint_eq(limits.list[i].value, good[i].value);
	}
	ck_assert_str_eq(limits.list[5].asked.of, "mutex of a<b>");
	ck_assert_str_eq(limits.list[6].asked.of, "operator<=(int)");
	ck_assert_str_eq(limits.list[6].asked.by, "x<y>::f()");
	ck_assert_int_eq(limits.list[7].asked.how, FXT_BY_ANY_CALLER);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char *message = fxt_limits_add(&limits, bad[i].text);

		ck_assert_msg(message && strstr(message, bad[i].words), "%s: %s", bad[i].text,
			      message ? message : "it is accepted");
		ck_assert_msg(!strchr(message, '\n'), "%s: the message is one line", bad[i].text);
		free(message);
	}
	ck_assert_uint_eq(limits.count, sizeof(good) / sizeof(*good));
	fxt_limits_free(&limits);
}
END_TEST

/* Each quantity has its row in the page, and the page has no other. */
START_TEST(the_page_has_the_table)
{
	const char *source = getenv("abs_top_srcdir");
	char *path = fxt_format("%s/docs/trace-limits.md", source ? source : "."), line[512];
	const struct fxt_quantity *q = fxt_quantities;
	FILE *page = fopen(path, "re");

	free(path);
	if (!source && !page)
		return;
	ck_assert_ptr_nonnull(page);
	while (fgets(line, sizeof(line), page)) {
		char *form, *expected;

		if (strncmp(line, "| `", 3) != 0)
			continue;
		ck_assert_ptr_nonnull(q->name);
		form = fxt_quantity_form(q);
		expected = fxt_format("| `%s` | %s |\n", form, q->says);
		ck_assert_str_eq(line, expected);
		free(expected);
		free(form);
		q++;
	}
	fclose(page);
	ck_assert_ptr_null(q->name);
}
END_TEST

int main(void)
{
	TCase *limits = tcase_create("limits");

	tcase_add_test(limits, verdicts_are_those_of_all_values);
	tcase_add_test(limits, limits_are_read_as_written);
	tcase_add_test(limits, the_page_has_the_table);
	return RUN_SUITE("limits", limits);
}
