/* This tests what the report counts with: the walk in the order of time, the map and the histogram. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdlib.h>

#include "suite.h"
#include "tools/common/histogram.h"
#include "tools/common/map.h"
#include "tools/reading/order.h"
#include "tools/reading/reader.h"
#include "trace_words.h"

static bool by_end(void *context, const struct fxt_record *rec, uint64_t *key_ns)
{
	(void)context;
	*key_ns = fxt_commit_ticks(rec);
	return rec->subtype == FXT_EVENT_INSTANT;
}

struct expected {
	uint64_t ticks, tid;
	const char *name;
};

/* Fails unless the events come in the expected order, out of two stretches of the file. */
static void expect_order(const uint64_t *words, size_t bytes, fxt_order_key key_of,
			 const struct expected *want, size_t count)
{
	struct fxt_order order = {0};
	struct fxt_reader r;
	struct fxt_record rec;
	uint64_t key;
	size_t n = 0;

	fxt_reader_init(&r, words, bytes);
	while (fxt_reader_next(&r, &rec)) {
		if (rec.type == FXT_RECORD_EVENT && key_of(NULL, &rec, &key))
			fxt_order_add(&order, &rec, key);
	}
	ck_assert_uint_eq(order.count, 2);
	fxt_order_begin(&order, &r, key_of, NULL);
	for (; fxt_order_next(&order, &rec); n++) {
		ck_assert_uint_lt(n, count);
		ck_assert_uint_eq(rec.ticks, want[n].ticks);
		ck_assert_uint_eq(r.threads[rec.thread].tid, want[n].tid);
		ck_assert_msg(fxt_text_is(&rec.name, want[n].name), "'%.*s', expected '%s'",
			      (int)rec.name.bytes, rec.name.text, want[n].name);
	}
	ck_assert_uint_eq(n, count);
	fxt_order_free(&order);
	fxt_reader_free(&r);
}

/* String 2 changes its meaning half way. An event that is read again has the name it was written with. */
START_TEST(merges_runs_by_time)
{
	const uint64_t words[] = {
		PROLOGUE, HEAD(3, 3, 2), 7, 9,
		EVENT(2, 0, 0, 1, 1, 2), 30, EVENT(2, 0, 0, 1, 1, 2), 40, EVENT(2, 0, 0, 1, 1, 2), 5,
		STRING(2, 3), TEXT8('n', 'e', 'w', 0, 0, 0, 0, 0),
		EVENT(2, 0, 0, 2, 1, 2), 10, EVENT(3, 4, 0, 2, 1, 2), 1, 2, EVENT(2, 0, 0, 2, 1, 2), 35,
	};
	static const struct expected want[] = {{5, 8, "read"}, {10, 9, "new"}, {30, 8, "read"},
					       {35, 9, "new"}, {40, 8, "read"}};

	expect_order(words, sizeof(words), by_end, want, sizeof(want) / sizeof(want[0]));
}
END_TEST

/* An instant counts at its time. One of category "read" counts with the event before or after it, and so
 * makes no stretch of its own. */
static bool by_end_or_with_last(void *context, const struct fxt_record *rec, uint64_t *key_ns)
{
	bool wanted = by_end(context, rec, key_ns);

	if (fxt_text_is(&rec->category, "read"))
		*key_ns = FXT_ORDER_WITH_LAST;
	return wanted;
}

START_TEST(keeps_events_with_the_last)
{
	const uint64_t words[] = {
		PROLOGUE, HEAD(3, 3, 2), 7, 9,
		EVENT(2, 0, 0, 1, 1, 2), 30, EVENT(2, 0, 0, 2, 2, 2), 3, EVENT(2, 0, 0, 2, 2, 2), 2,
		EVENT(2, 0, 0, 1, 1, 2), 40, EVENT(2, 0, 0, 2, 2, 2), 1,
		EVENT(2, 0, 0, 2, 1, 2), 20, EVENT(2, 0, 0, 2, 1, 2), 35,
	};
	static const struct expected want[] = {{1, 9, "read"}, {20, 9, "read"}, {30, 8, "read"},
					       {3, 9, "read"}, {2, 9, "read"}, {35, 9, "read"},
					       {40, 8, "read"}};

	expect_order(words, sizeof(words), by_end_or_with_last, want, sizeof(want) / sizeof(want[0]));
}
END_TEST

START_TEST(map_survives_removals)
{
	struct fxt_map m = {0};
	bool fresh;

	for (uint64_t i = 0; i < 5000; i++)
		fxt_map_put(&m, i * 4096, i % 7, &fresh)->value[0] = i;
	for (uint64_t i = 0; i < 5000; i += 2)
		fxt_map_remove(&m, fxt_map_find(&m, i * 4096, i % 7));
	ck_assert_uint_eq(m.used, 2500);
	for (uint64_t i = 0; i < 5000; i++) {
		const struct fxt_slot *s = fxt_map_find(&m, i * 4096, i % 7);

		ck_assert((s != NULL) == (i % 2 == 1));
		ck_assert(!s || s->value[0] == i);
	}
	fxt_map_free(&m);
}
END_TEST

START_TEST(percentiles_are_within_two_percent)
{
	struct fxt_histogram h = {0};

	for (uint64_t v = 1; v <= 100000; v++)
		fxt_histogram_add(&h, v * 37);
	for (int percent = 1; percent <= 100; percent++) {
		double want = 37.0 * 1000 * percent;
		double got = (double)fxt_histogram_percentile(&h, percent);

		ck_assert_msg(got > want * 0.98 && got < want * 1.02, "p%d is %f, expected %f", percent, got,
			      want);
	}
	fxt_histogram_add(&h, UINT64_MAX);
	fxt_histogram_free(&h);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("order");

	tcase_add_test(c, merges_runs_by_time);
	tcase_add_test(c, keeps_events_with_the_last);
	tcase_add_test(c, map_survives_removals);
	tcase_add_test(c, percentiles_are_within_two_percent);
	return RUN_SUITE("order", c);
}
