/* This tests what is built on the reader: the rules of fxt check between records, the sums of fxt report, and
 * the joining of parts. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "tools/check/check.h"
#include "tools/join/merge.h"
#include "tools/reading/reader.h"
#include "tools/report/report.h"
#include "trace_words.h"

static void expect_text(const struct fxt_text *t, const char *text)
{
	ck_assert_msg(fxt_text_is(t, text), "'%.*s', expected '%s'", (int)t->bytes, t->text, text);
}

/* -- Check, report, merge -------------------------------------------------------------------------- */

static const struct {
	enum fxt_fault fault;           /* FXT_FAULT_COUNT: none */
	uint64_t words[9];
	size_t count;
} meanings[] = {
	{FXT_FAULT_COUNT, {EVENT(3, 4, 0, 1, 1, 2), 12, 18, EVENT(3, 4, 0, 1, 1, 2), 10, 20}, 6},
	{FXT_FAULT_OVERLAP, {EVENT(3, 4, 0, 1, 1, 2), 10, 20, EVENT(3, 4, 0, 1, 1, 2), 15, 25}, 6},
	{FXT_FAULT_SAME_TICK, {EVENT(3, 4, 0, 1, 1, 2), 10, 20, EVENT(3, 4, 0, 1, 1, 2), 10, 15}, 6},
	{FXT_FAULT_END_WITHOUT_BEGIN, {EVENT(2, 3, 0, 1, 1, 2), 10}, 2},
	{FXT_FAULT_END_NAMES_ANOTHER, {EVENT(2, 2, 0, 1, 1, 2), 10, EVENT(2, 3, 0, 1, 1, 3), 20}, 4},
	{FXT_FAULT_FLOW_OUTSIDE, {EVENT(3, 8, 0, 1, 1, 2), 10, 99}, 3},
	{FXT_FAULT_FLOW_END_ORPHAN, {EVENT(2, 2, 0, 1, 1, 2), 10, EVENT(3, 10, 0, 1, 1, 2), 11, 99}, 5},
	{FXT_FAULT_ASYNC_END_ORPHAN, {EVENT(3, 7, 0, 1, 1, 2), 10, 99}, 3},
	{FXT_FAULT_ASYNC_TWO_NAMES, {EVENT(3, 5, 0, 1, 1, 2), 10, 99, EVENT(3, 7, 0, 1, 1, 3), 11, 99}, 6},
	/* An instant of an async has a name of its own, and does not give the async one. */
	{FXT_FAULT_COUNT,
	 {EVENT(3, 5, 0, 1, 1, 2), 10, 99, EVENT(3, 6, 0, 1, 1, 3), 11, 99, EVENT(3, 7, 0, 1, 1, 2), 12, 99},
	 9},
	{FXT_FAULT_ASYNC_INSTANT_ORPHAN,
	 {EVENT(3, 6, 0, 1, 1, 3), 10, 99, EVENT(3, 5, 0, 1, 1, 2), 11, 99, EVENT(3, 7, 0, 1, 1, 2), 12, 99},
	 9},
};

START_TEST(checks_what_is_meant)
{
	const uint64_t prologue[] = {PROLOGUE};
	const struct fxt_check_options options = {0};
	uint64_t words[12 + 9];
	struct fxt_reader r;
	struct fxt_check c;

	memcpy(words, prologue, sizeof(prologue));
	memcpy(words + 12, meanings[_i].words, meanings[_i].count * 8);
	fxt_reader_init(&r, words, (12 + meanings[_i].count) * 8);
	fxt_check(&c, &r, &options);
	for (int fault = 0; fault < FXT_FAULT_COUNT; fault++)
		ck_assert_msg((c.violations[fault].count > 0) == ((int)meanings[_i].fault == fault),
			      "case %d: %s x %d", _i, fxt_fault_text[fault],
			      (int)c.violations[fault].count);
	fxt_check_free(&c);
	fxt_reader_free(&r);
}
END_TEST

/* These define the strings 4 "malloc", 5 "free", 6 "size", 7 "ret" and 8 "ptr", and thread 2 (thread 9 of
 * process 7). */
#define HEAP_STRINGS                                               \
	STRING(4, 6), TEXT8('m', 'a', 'l', 'l', 'o', 'c', 0, 0),   \
	STRING(5, 4), TEXT8('f', 'r', 'e', 'e', 0, 0, 0, 0),       \
	STRING(6, 4), TEXT8('s', 'i', 'z', 'e', 0, 0, 0, 0),       \
	STRING(7, 3), TEXT8('r', 'e', 't', 0, 0, 0, 0, 0),         \
	STRING(8, 3), TEXT8('p', 't', 'r', 0, 0, 0, 0, 0),         \
	HEAD(3, 3, 2), 7, 9
#define MALLOC(thread, start, end, bytes, block) \
	EVENT(6, 4, 2, thread, 4, 4), start, ARG(2, 1, 6, bytes), ARG(7, 2, 7, 0), block, end
#define FREE(thread, start, end, block) EVENT(5, 4, 1, thread, 4, 5), start, ARG(7, 2, 8, 0), block, end

/* In the file the second thread comes first. Block 0x100 is handed out again while its free has not
 * returned yet. */
START_TEST(replays_the_heap_in_time)
{
	const uint64_t words[] = {
		PROLOGUE, HEAP_STRINGS,
		MALLOC(2, 55, 60, 30, 0x100), FREE(2, 70, 71, 0xbad),
		MALLOC(1, 10, 20, 100, 0x100), MALLOC(1, 30, 40, 7, 0x200), FREE(1, 50, 90, 0x100),
	};
	const struct fxt_report_options options = {.top = 10};
	struct fxt_report report;
	const struct fxt_process_heap *heap;
	struct fxt_reader r;

	fxt_reader_init(&r, words, sizeof(words));
	fxt_report_make(&report, &r, &options);
	ck_assert_uint_eq(report.heaps.count, 1);
	heap = &report.heaps.list[0];
	ck_assert_uint_eq(heap->calls, 3);
	ck_assert_uint_eq(heap->allocated_bytes, 137);
	ck_assert_uint_eq(heap->peak_bytes, 107);
	ck_assert_uint_eq(heap->peak_ns, 40);
	ck_assert_uint_eq(heap->in_use_bytes, 37);
	ck_assert_uint_eq(heap->live_blocks, 2);
	ck_assert_uint_eq(heap->frees, 2);
	ck_assert_uint_eq(heap->unknown_frees, 1);
	ck_assert_uint_eq(heap->leaks[0].size, 30);
	ck_assert_uint_eq(report.calls.list[0].count, 2);       /* free: 41 ns in all, before malloc's 25 */
	ck_assert_uint_eq(report.calls.list[0].total_ns, 41);
	fxt_report_free(&report);
	fxt_reader_free(&r);
}
END_TEST

/* -- Files ---------------------------------------------------------------------------------------- */

static const struct fxt_file *file_named(const struct fxt_report *report, const char *label)
{
	for (size_t i = 0; i < report->files.count; i++) {
		if (strcmp(report->files.list[i].label, label) == 0)
			return &report->files.list[i];
	}
	ck_abort_msg("no file '%s'", label);
}

/* What is written to one end of a pipe is read from the other, so both ends are one file. Strings are
 * 4 "pipe2", 5 "fd1", 6 "fd2", 7 "write", 8 "ret", 9 "connect", 10 "sockfd", 11 "addr", 12 "send", 13 "fputs"
 * and 14 "stream". */
START_TEST(names_what_descriptors_stand_for)
{
	const uint64_t words[] = {
		PROLOGUE,
		STRING(4, 5), TEXT8('p', 'i', 'p', 'e', '2', 0, 0, 0),
		STRING(5, 3), TEXT8('f', 'd', '1', 0, 0, 0, 0, 0),
		STRING(6, 3), TEXT8('f', 'd', '2', 0, 0, 0, 0, 0),
		STRING(7, 5), TEXT8('w', 'r', 'i', 't', 'e', 0, 0, 0),
		STRING(8, 3), TEXT8('r', 'e', 't', 0, 0, 0, 0, 0),
		STRING(9, 7), TEXT8('c', 'o', 'n', 'n', 'e', 'c', 't', 0),
		STRING(10, 6), TEXT8('s', 'o', 'c', 'k', 'f', 'd', 0, 0),
		STRING(11, 4), TEXT8('a', 'd', 'd', 'r', 0, 0, 0, 0),
		STRING(12, 4), TEXT8('s', 'e', 'n', 'd', 0, 0, 0, 0),
		STRING(13, 5), TEXT8('f', 'p', 'u', 't', 's', 0, 0, 0),
		STRING(14, 6), TEXT8('s', 't', 'r', 'e', 'a', 'm', 0, 0),
		EVENT(6, 4, 3, 1, 1, 4), 10, ARG(1, 1, 5, 3), ARG(1, 1, 6, 4), ARG(1, 1, 8, 0), 20,
		EVENT(5, 4, 2, 1, 1, 7), 30, ARG(1, 1, 3, 4), ARG(1, 1, 8, 100), 40,
		EVENT(5, 4, 2, 1, 1, 2), 50, ARG(1, 1, 3, 3), ARG(1, 1, 8, 60), 60,
		EVENT(7, 4, 3, 1, 1, 9), 70, ARG(1, 1, 10, 5), ARG(6, 2, 11, 0x8007),
			TEXT8('1', '.', '2', '.', '3', ':', '4', 0), ARG(1, 1, 8, 0), 80,
		EVENT(5, 4, 2, 1, 1, 12), 90, ARG(1, 1, 10, 5), ARG(1, 1, 8, 7), 95,
		EVENT(6, 4, 2, 1, 1, 13), 100, ARG(7, 2, 14, 0), 0x77, ARG(1, 1, 8, 1), 110,
		EVENT(6, 4, 2, 1, 1, 13), 120, ARG(7, 2, 14, 0), 0x77, ARG(1, 1, 8, 0xffffffff), 130,
	};
	const struct fxt_report_options options = {.top = 10};
	const struct fxt_file *file;
	struct fxt_report report;
	struct fxt_reader r;

	fxt_reader_init(&r, words, sizeof(words));
	fxt_report_make(&report, &r, &options);
	ck_assert_uint_eq(r.damaged_records, 0);
	file = file_named(&report, "pipe");
	ck_assert_uint_eq(file->in_bytes, 60);
	ck_assert_uint_eq(file->out_bytes, 100);
	ck_assert_uint_eq(file->unsaid, 0);
	ck_assert_uint_eq(file_named(&report, "1.2.3:4")->out_bytes, 7);
	file = file_named(&report, "stream 0x77");
	ck_assert_uint_eq(file->calls, 2);
	ck_assert_uint_eq(file->unsaid, 1);
	ck_assert_uint_eq(report.files.count, 3);
	fxt_report_free(&report);
	fxt_reader_free(&r);
}
END_TEST

/* -- Losses and parts ------------------------------------------------------------------------------ */

/* Counters are running totals: the loss is the sum of each thread's largest one. The reason for it is taken
 * from an instant that tells of a loss, and from no other instant of the agent. Strings are 4 "agent",
 * 5 "dropped", 6 "filtered", 7 "overwritten" (in two words), 8 "records" and 9 "contended". */
START_TEST(sums_what_is_missing)
{
	const uint64_t words[] = {
		PROLOGUE,
		STRING(4, 5), TEXT8('a', 'g', 'e', 'n', 't', 0, 0, 0),
		STRING(5, 7), TEXT8('d', 'r', 'o', 'p', 'p', 'e', 'd', 0),
		STRING(6, 8), TEXT8('f', 'i', 'l', 't', 'e', 'r', 'e', 'd'),
		HEAD(2, 3, 7 | AT(16, 11)), TEXT8('o', 'v', 'e', 'r', 'w', 'r', 'i', 't'),
			TEXT8('t', 'e', 'n', 0, 0, 0, 0, 0),
		STRING(8, 7), TEXT8('r', 'e', 'c', 'o', 'r', 'd', 's', 0),
		HEAD(2, 3, 9 | AT(16, 9)), TEXT8('c', 'o', 'n', 't', 'e', 'n', 'd', 'e'),
			TEXT8('d', 0, 0, 0, 0, 0, 0, 0),
		EVENT(2, 0, 0, 1, 4, 9), 5,
		EVENT(2, 0, 0, 1, 4, 5), 6,
		EVENT(5, 1, 1, 1, 4, 5), 10, ARG(4, 2, 8, 0), 3, 8,
		EVENT(5, 1, 1, 1, 4, 5), 20, ARG(4, 2, 8, 0), 5, 8,
		EVENT(5, 1, 1, 1, 4, 5), 30, ARG(4, 2, 8, 0), 2, 9,
		EVENT(5, 1, 1, 1, 4, 6), 30, ARG(4, 2, 8, 0), 11, 8,
		EVENT(5, 1, 1, 1, 4, 7), 40, ARG(4, 2, 8, 0), 1204, 0,
	};
	struct fxt_overview o = {0};
	struct fxt_reader r;
	struct fxt_record rec;

	fxt_reader_init(&r, words, sizeof(words));
	while (fxt_reader_next(&r, &rec))
		fxt_overview_take(&o, &r, &rec);
	ck_assert_uint_eq(r.damaged_records, 0);
	ck_assert_uint_eq(fxt_overview_lost(&o, FXT_LOSS_NO_ROOM), 7);
	ck_assert_uint_eq(fxt_overview_lost(&o, FXT_LOSS_FILTERED), 11);
	ck_assert_uint_eq(fxt_overview_lost(&o, FXT_LOSS_OVERWRITTEN), 1204);
	ck_assert_str_eq(o.reason, "dropped");
	fxt_overview_free(&o);
	fxt_reader_free(&r);
}
END_TEST

START_TEST(merges_parts_with_unique_ids)
{
	const uint64_t part[] = {PROLOGUE, HEAD(0, 2, 15), 0, EVENT(2, 0, 0, 1, 1, 2), 10};
	uint64_t out[64];
	FILE *f = fmemopen(out, sizeof(out), "w");
	struct fxt_merge m = {0};
	struct fxt_reader r;
	struct fxt_record rec;

	ck_assert(fxt_merge_begin(&m, f));
	for (int i = 0; i < 2; i++) {
		fxt_reader_init(&r, part, sizeof(part));
		ck_assert(fxt_merge_trace(&m, &r));
		fxt_reader_free(&r);
	}
	ck_assert(fxt_merge_end(&m));
	fclose(f);
	ck_assert_uint_eq(m.bytes, 8 + 2 * (sizeof(part) - 8 - 16));
	ck_assert_uint_eq(m.processes, 1);
	ck_assert_uint_eq(m.threads, 1);
	ck_assert_uint_eq(m.events, 2);
	ck_assert_str_eq(fxt_merge_largest(&m)->name, "io");
	fxt_reader_init(&r, out, m.bytes);
	while (fxt_reader_next(&r, &rec))
		ck_assert(!rec.damaged);
	ck_assert_uint_eq(r.stop, FXT_STOP_END);
	ck_assert_uint_eq(r.provider_count, 3);         /* the first is for what stands before any provider */
	ck_assert_uint_eq(r.providers[1]->id, 7);
	ck_assert_uint_ne(r.providers[2]->id, 7);
	expect_text(&r.providers[2]->name, "app");
	fxt_reader_free(&r);
	fxt_merge_free(&m);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("tools");

	tcase_add_loop_test(c, checks_what_is_meant, 0, sizeof(meanings) / sizeof(meanings[0]));
	tcase_add_test(c, replays_the_heap_in_time);
	tcase_add_test(c, names_what_descriptors_stand_for);
	tcase_add_test(c, sums_what_is_missing);
	tcase_add_test(c, merges_parts_with_unique_ids);
	return RUN_SUITE("tools", c);
}
