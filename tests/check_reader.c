/* This tests tools/reading/reader.h with every type of record and argument, every fault, and files that are
 * cut anywhere. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "tools/reading/mapped_trace.h"
#include "tools/reading/reader.h"
#include "trace_words.h"

#define WORDS(...) ((const uint64_t[]){__VA_ARGS__})
#define BYTES(...) sizeof(WORDS(__VA_ARGS__))
#define READ_ALL(heard, ...) read_all(heard, WORDS(__VA_ARGS__), BYTES(__VA_ARGS__))

struct heard {
	struct fxt_reader r;
	struct fxt_record last;
	size_t records;
	enum fxt_fault first;
	uint64_t first_offset;
	size_t faults;
};

static void hear(void *context, enum fxt_fault fault, uint64_t offset, const char *detail)
{
	struct heard *h = context;

	ck_assert_ptr_nonnull(detail);
	if (h->faults++)
		return;
	h->first = fault;
	h->first_offset = offset;
}

static void read_all(struct heard *h, const void *words, size_t bytes)
{
	*h = (struct heard){0};
	fxt_reader_init(&h->r, words, bytes);
	h->r.strict = true;
	h->r.on_fault = hear;
	h->r.fault_context = h;
	while (fxt_reader_next(&h->r, &h->last))
		h->records++;
}

static void expect_text(const struct fxt_text *t, const char *text)
{
	ck_assert_msg(fxt_text_is(t, text), "'%.*s', expected '%s'", (int)t->bytes, t->text, text);
}

/* -- Records --------------------------------------------------------------------------------------- */

START_TEST(decodes_an_event)
{
	struct heard h;

	READ_ALL(&h, PROLOGUE, EVENT(6, 4, 2, 1, 1, 2), 100, ARG(1, 1, 3, 0xfffffffe),
		 ARG(7, 2, 0, 0), 0x1234, 150);
	ck_assert_uint_eq(h.faults, 0);
	ck_assert_uint_eq(h.records, 7);
	ck_assert_uint_eq(h.last.offset, PROLOGUE_BYTES);
	ck_assert_uint_eq(h.last.type, FXT_RECORD_EVENT);
	ck_assert_uint_eq(h.last.subtype, FXT_EVENT_DURATION_COMPLETE);
	ck_assert_uint_eq(h.last.ticks, 100);
	ck_assert(h.last.has_extra);
	ck_assert_uint_eq(h.last.extra, 150);
	ck_assert_uint_eq(fxt_commit_ticks(&h.last), 150);
	expect_text(&h.last.category, "io");
	expect_text(&h.last.name, "read");
	ck_assert_uint_eq(h.r.threads[h.last.thread].pid, 7);
	ck_assert_uint_eq(h.r.threads[h.last.thread].tid, 8);
	ck_assert_uint_eq(h.last.arg_count, 2);
	ck_assert_int_eq(h.last.args[0].i, -2);
	expect_text(&h.last.args[0].name, "fd");
	ck_assert_uint_eq(h.last.args[1].u, 0x1234);
	fxt_reader_free(&h.r);
}
END_TEST

START_TEST(decodes_every_argument_type)
{
	struct heard h;
	uint64_t n = 0;

	READ_ALL(&h, PROLOGUE, EVENT(21, 0, 11, 0, 0, 0x8003), 5, 7, 9, TEXT8('a', 'b', 'c', 0, 0, 0, 0, 0),
		 ARG(0, 2, 0x8001, 0), 'n',                             /* null, inline name */
		 ARG(1, 1, 1, 0x80000000),                              /* int32 */
		 ARG(2, 1, 2, 0x80000000),                              /* uint32 */
		 ARG(3, 2, 3, 0), UINT64_MAX,                           /* int64 */
		 ARG(12, 1, 0, 0),                                      /* a type to come: skipped */
		 ARG(4, 2, 0, 0), UINT64_MAX,                           /* uint64 */
		 ARG(5, 3, 0x8001, 0), 'd', UINT64_C(0x3ff8000000000000), /* 1.5 */
		 ARG(6, 3, 0x8001, 0x8002), 's', TEXT8('h', 'i', 0, 0, 0, 0, 0, 0),
		 ARG(9, 1, 0x8000, 1));
	/* The bool has an empty name, as the uint64 has. The header promises eleven arguments, and there are
	 * nine. */
	ck_assert_uint_eq(h.first, FXT_FAULT_ARG_TWICE);
	ck_assert_uint_eq(h.last.arg_count, 8);
	ck_assert(h.last.args[0].type == FXT_ARG_NULL);
	expect_text(&h.last.args[0].name, "n");
	ck_assert_int_eq(h.last.args[1].i, INT32_MIN);
	ck_assert_uint_eq(h.last.args[2].u, 0x80000000);
	ck_assert_int_eq(h.last.args[3].i, -1);
	ck_assert_uint_eq(h.last.args[4].u, UINT64_MAX);
	ck_assert(h.last.args[5].f > 1.49 && h.last.args[5].f < 1.51);
	expect_text(&h.last.args[6].string, "hi");
	ck_assert_uint_eq(h.last.args[7].u, 1);
	ck_assert_ptr_eq(fxt_argument(&h.last, "s"), &h.last.args[6]);
	ck_assert_ptr_null(fxt_argument(&h.last, "absent"));
	ck_assert(!fxt_argument_u64(&h.last.args[6], &n));
	ck_assert(fxt_argument_u64(&h.last.args[2], &n) && n == 0x80000000);
	expect_text(&h.last.name, "abc");
	ck_assert_uint_eq(h.r.threads[h.last.thread].tid, 9);
	ck_assert(h.last.damaged);      /* because two of the arguments are not there */
	fxt_reader_free(&h.r);
}
END_TEST

START_TEST(decodes_other_records)
{
	struct heard h;

	READ_ALL(&h, PROLOGUE, HEAD(7, 4, 2 | 2 << 8 | UINT64_C(1) << 24), 8, ARG(8, 2, 0, 0), 7);
	ck_assert_uint_eq(h.last.subtype, FXT_OBJECT_THREAD);
	ck_assert_uint_eq(h.last.id, 8);
	fxt_reader_free(&h.r);
	/* Words that are appended are skipped. */
	READ_ALL(&h, PROLOGUE, HEAD(6, 3, 1 | UINT64_C(2) << 8), 0xabc, 5);
	ck_assert_uint_eq(h.first, FXT_FAULT_APPENDED);
	ck_assert(!h.last.damaged);
	ck_assert_uint_eq(h.last.id, 0xabc);
	fxt_reader_free(&h.r);
	READ_ALL(&h, PROLOGUE, HEAD(6, 2, 1 | UINT64_C(2) << 8), 0xabc);
	ck_assert_uint_eq(h.faults, 0);
	ck_assert_uint_eq(h.last.id, 0xabc);
	expect_text(&h.last.name, "read");
	fxt_reader_free(&h.r);
	READ_ALL(&h, PROLOGUE, HEAD(9, 3, 3 | UINT64_C(1) << 16), 50, TEXT8('l', 'o', 'g', 0, 0, 0, 0, 0));
	ck_assert_uint_eq(h.faults, 0);
	expect_text(&h.last.name, "log");
	ck_assert_uint_eq(h.last.ticks, 50);
	fxt_reader_free(&h.r);
	READ_ALL(&h, PROLOGUE, HEAD(8, 4, AT(4, 3) | AT(20, 4) | AT(44, 1)), 60, 8, 9);
	ck_assert_uint_eq(h.faults, 0);
	ck_assert_uint_eq(h.last.cpu, 3);
	ck_assert_uint_eq(h.last.state, FXT_THREAD_DYING);
	ck_assert_uint_eq(h.last.id, 8);
	ck_assert_uint_eq(h.last.extra, 9);
	fxt_reader_free(&h.r);
	READ_ALL(&h, PROLOGUE, HEAD(5, 2, 2 | AT(16, 5) | AT(32, 3)),
		 TEXT8('b', 'l', 'o', 'b', '!', 0, 0, 0));
	ck_assert_uint_eq(h.faults, 0);
	ck_assert_uint_eq(h.last.blob_bytes, 5);
	fxt_reader_free(&h.r);
	READ_ALL(&h, PROLOGUE, 15 | AT(4, 4) | AT(40, 1), 1 | AT(16, 2), 3,
		 TEXT8('x', 'y', 'z', 0, 0, 0, 0, 0));
	ck_assert_uint_eq(h.faults, 0);
	ck_assert_uint_eq(h.last.blob_bytes, 3);
	expect_text(&h.last.name, "read");
	fxt_reader_free(&h.r);
}
END_TEST

START_TEST(skips_fillers_and_unknown_records)
{
	struct heard h;

	READ_ALL(&h, PROLOGUE, HEAD(0, 3, 15), UINT64_MAX, 1, HEAD(12, 2, 0), 5, EVENT(3, 11, 0, 0, 0, 0), 1,
		 2);
	ck_assert_uint_eq(h.faults, 0);
	ck_assert_uint_eq(h.records, 9);
	ck_assert(!h.last.known);
	ck_assert_uint_eq(h.r.stop, FXT_STOP_END);
	fxt_reader_free(&h.r);
}
END_TEST

/* The second provider gives string 1 and thread 1 meanings of its own. */
START_TEST(keeps_tables_by_provider)
{
	struct heard h;

	READ_ALL(&h, PROLOGUE, HEAD(0, 1, 1 | 9 << 4), STRING(1, 1), 'x', HEAD(3, 3, 1), 9, 9,
		 HEAD(0, 1, 2 | 7 << 4), EVENT(2, 0, 0, 1, 1, 1), 10);
	ck_assert_uint_eq(h.faults, 0);
	expect_text(&h.last.name, "io");
	ck_assert_uint_eq(h.r.threads[h.last.thread].tid, 8);
	ck_assert_uint_eq(h.last.provider->id, 7);
	fxt_reader_free(&h.r);
}
END_TEST

/* -- Faults ---------------------------------------------------------------------------------------- */

static const struct {
	enum fxt_fault fault;
	uint64_t offset;                /* from the end of the prologue */
	uint64_t words[6];
	size_t count;
} faulty[] = {
	{FXT_FAULT_APPENDED, 0, {EVENT(3, 0, 0, 1, 1, 2), 5, 6}, 3},
	{FXT_FAULT_RECORD_SIZE, 0, {HEAD(3, 2, 7), 5}, 2},
	{FXT_FAULT_NO_TRAILING_WORD, 0, {EVENT(2, 4, 0, 1, 1, 2), 5}, 2},
	{FXT_FAULT_COMPLETE_BACKWARDS, 0, {EVENT(3, 4, 0, 1, 1, 2), 5, 4}, 3},
	{FXT_FAULT_STRING_UNREGISTERED, 16, {EVENT(2, 0, 0, 1, 9, 2), 5}, 2},
	{FXT_FAULT_THREAD_UNREGISTERED, 16, {EVENT(2, 0, 0, 2, 1, 2), 5}, 2},
	{FXT_FAULT_THREAD_PAST_RECORD, 16, {EVENT(3, 0, 0, 0, 1, 2), 5, 1}, 3},
	{FXT_FAULT_STREAM_PAST_RECORD, 16, {EVENT(3, 0, 0, 1, 0x8009, 2), 5, 'x'}, 3},
	{FXT_FAULT_PADDING, 16, {EVENT(3, 0, 0, 1, 0x8001, 2), 5, TEXT8('x', 0, 0, 0, 0, 0, 0, 1)}, 3},
	{FXT_FAULT_UTF8, 16, {EVENT(3, 0, 0, 1, 0x8003, 2), 5, TEXT8(0xed, 0xa0, 0x80, 0, 0, 0, 0, 0)}, 3},
	{FXT_FAULT_ARG_PAST_RECORD, 16, {EVENT(2, 0, 1, 1, 1, 2), 5}, 2},
	{FXT_FAULT_ARG_SIZE, 16, {EVENT(3, 0, 1, 1, 1, 2), 5, ARG(1, 0, 3, 0)}, 3},
	{FXT_FAULT_ARG_SIZE, 16, {EVENT(3, 0, 1, 1, 1, 2), 5, ARG(1, 2, 3, 0)}, 3},
	{FXT_FAULT_ARG_SIZE, 16, {EVENT(4, 0, 1, 1, 1, 2), 5, ARG(1, 2, 3, 0), 0}, 4},
	{FXT_FAULT_ARG_NO_VALUE, 16, {EVENT(3, 0, 1, 1, 1, 2), 5, ARG(3, 1, 3, 0)}, 3},
	{FXT_FAULT_BOOL_VALUE, 16, {EVENT(3, 0, 1, 1, 1, 2), 5, ARG(9, 1, 3, 2)}, 3},
	{FXT_FAULT_RESERVED_BITS, 16, {EVENT(4, 0, 1, 1, 1, 2), 5, ARG(7, 2, 3, 1), 0}, 4},
	{FXT_FAULT_ARG_TWICE, 24, {EVENT(4, 0, 2, 1, 1, 2), 5, ARG(1, 1, 3, 0), ARG(1, 1, 3, 0)}, 4},
	{FXT_FAULT_COUNTER_NOT_NUMBER, 0, {EVENT(4, 1, 1, 1, 1, 2), 5, ARG(9, 1, 3, 1), 6}, 4},
	{FXT_FAULT_ZERO_TICKS, 0, {HEAD(1, 2, 0), 0}, 2},
	{FXT_FAULT_STRING_INDEX_0, 0, {STRING(0, 1), 'x'}, 2},
	{FXT_FAULT_THREAD_INDEX_0, 0, {HEAD(3, 3, 0), 1, 2}, 3},
	{FXT_FAULT_RESERVED_BITS, 0, {HEAD(3, 3, 1 << 8 | 5), 1, 2}, 3},
	{FXT_FAULT_RESERVED_BITS, 0, {HEAD(0, 2, 1 | 7 << 4 | UINT64_C(0x101) << 36), 'p'}, 2},
	{FXT_FAULT_RESERVED_BITS, 0, {HEAD(0, 1, 2 | 1 << 4 | UINT64_C(1) << 40)}, 1},
	{FXT_FAULT_RESERVED_BITS, 0, {HEAD(0, 1, 3 | 1 << 4 | UINT64_C(1) << 47)}, 1},
	{FXT_FAULT_STRING_TOO_LONG, 0, {STRING(5, 32001), 0}, 2},
	{FXT_FAULT_THREAD_STATE, 0, {HEAD(8, 4, 6 << 20 | UINT64_C(1) << 44), 5, 1, 2}, 4},
	{FXT_FAULT_THREAD_STATE, 0, {HEAD(8, 2, 7 << 8 | 1 << 12 | 1 << 20), 5}, 2},
	{FXT_FAULT_THREAD_STATE, 0, {HEAD(8, 2, 1 << 8 | 1 << 12 | 1 << 20), 5}, 2},
	{FXT_FAULT_RESERVED_BITS, 0, {0xf | 4 << 4 | UINT64_C(1) << 44, 1 | 2 << 16, 5, 0}, 4},
	{FXT_FAULT_RESERVED_BITS, 0,
	 {0xf | 4 << 4, 1 | 2 << 16 | UINT64_C(1) << 36 | UINT64_C(1) << 50, 5, 0}, 4},
	{FXT_FAULT_RESERVED_BITS, 0,
	 {0xf | 3 << 4 | UINT64_C(1) << 40, 1 | 2 << 16 | UINT64_C(1) << 33, 0}, 3},
	{FXT_FAULT_BAD_MAGIC_RECORD, 0, {HEAD(0, 1, 4)}, 1},
	{FXT_FAULT_SECTION_WITHOUT_INFO, 0, {HEAD(0, 1, 2 | 99 << 4)}, 1},
};

START_TEST(reports_a_fault)
{
	const uint64_t prologue[] = {PROLOGUE};
	uint64_t words[12 + 6];
	struct heard h;

	memcpy(words, prologue, sizeof(prologue));
	memcpy(words + 12, faulty[_i].words, faulty[_i].count * 8);
	read_all(&h, words, (12 + faulty[_i].count) * 8);
	ck_assert_msg(h.faults > 0, "case %d: nothing reported, expected: %s", _i,
		      fxt_fault_text[faulty[_i].fault]);
	ck_assert_str_eq(fxt_fault_text[h.first], fxt_fault_text[faulty[_i].fault]);
	ck_assert_uint_eq(h.first_offset, PROLOGUE_BYTES + faulty[_i].offset);
	ck_assert_uint_eq(h.r.stop, FXT_STOP_END);
	fxt_reader_free(&h.r);
}
END_TEST

/* In a file that is cut anywhere, the reader stops behind the last whole record and says how much is left. */
START_TEST(stops_at_a_torn_record)
{
	const uint64_t words[] = {PROLOGUE, EVENT(3, 4, 0, 1, 1, 2), 5, 6};
	struct heard h;

	for (size_t bytes = 8; bytes < sizeof(words); bytes++) {
		unsigned char *copy = malloc(bytes);

		memcpy(copy, words, bytes);
		read_all(&h, copy, bytes);
		ck_assert_uint_eq(h.faults, 0);
		ck_assert_uint_eq(h.r.at + h.r.tail_bytes, bytes);
		ck_assert(h.r.stop == (h.r.tail_bytes ? FXT_STOP_TORN : FXT_STOP_END));
		fxt_reader_free(&h.r);
		free(copy);
	}
	READ_ALL(&h, PROLOGUE, 0, 0);
	ck_assert_uint_eq(h.r.stop, FXT_STOP_SIZE_ZERO);
	ck_assert_uint_eq(h.r.tail_bytes, 16);
	fxt_reader_free(&h.r);
}
END_TEST

START_TEST(refuses_what_is_no_trace)
{
	const uint64_t magic = MAGIC, big_endian = __builtin_bswap64(MAGIC);

	ck_assert_ptr_null(fxt_trace_refusal((const void *)&magic, 8));
	ck_assert_ptr_nonnull(strstr(fxt_trace_refusal((const void *)&big_endian, 8), "big-endian"));
	ck_assert_ptr_nonnull(strstr(fxt_trace_refusal((const void *)"not a trace", 11), "no magic"));
	ck_assert_ptr_nonnull(strstr(fxt_trace_refusal((const void *)&magic, 7), "too short"));
	ck_assert_ptr_nonnull(strstr(fxt_trace_refusal(NULL, 0), "empty"));
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("reader");

	tcase_add_test(c, decodes_an_event);
	tcase_add_test(c, decodes_every_argument_type);
	tcase_add_test(c, decodes_other_records);
	tcase_add_test(c, skips_fillers_and_unknown_records);
	tcase_add_test(c, keeps_tables_by_provider);
	tcase_add_loop_test(c, reports_a_fault, 0, sizeof(faulty) / sizeof(faulty[0]));
	tcase_add_test(c, stops_at_a_torn_record);
	tcase_add_test(c, refuses_what_is_no_trace);
	return RUN_SUITE("reader", c);
}
