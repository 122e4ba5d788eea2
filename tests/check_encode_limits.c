/* This tests writer/fxt_encode.h at its limits: strings of 32000 bytes, 15 arguments, records of 4095
 * words, and one more of each, in every place that takes one. check_encode.c tests the records themselves.
 *
 * Expected words and shifts are the specification's, not those of fxt_format.h.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "fxt_encode.h"
#include "suite.h"

enum { GUARD_WORDS = 8, MEMORY_WORDS = 9000 };

#define UNTOUCHED UINT64_C(0xa5a5a5a5a5a5a5a5)
#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static uint64_t out[MEMORY_WORDS];
static char text[33000];

static const struct fxt_thread_ref indexed = {.index = 0x2b};
static const struct fxt_thread_ref inline_thread = {.process = 0x1234, .thread = 0x5678};
static const struct fxt_string name = {.index = 0x42};

/* These are the parts that a case puts into its record. Every encoder below takes those that it needs. */
struct parts {
	struct fxt_thread_ref thread;
	struct fxt_string string;
	struct fxt_args args;
	size_t bytes;
};

typedef size_t encoder(size_t capacity, const struct parts *p);

static size_t instant(size_t capacity, const struct parts *p)
{
	return fxt_encode_event(out, capacity, FXT_EVENT_INSTANT, 1, p->thread, name, p->string, p->args, 2);
}

static size_t complete(size_t capacity, const struct parts *p)
{
	return fxt_encode_event(out, capacity, FXT_EVENT_DURATION_COMPLETE, 1, p->thread, p->string, name,
				p->args, 2);
}

static size_t blob(size_t capacity, const struct parts *p)
{
	return fxt_encode_blob(out, capacity, FXT_BLOB_DATA, p->string, text, p->bytes);
}

static size_t userspace_object(size_t capacity, const struct parts *p)
{
	return fxt_encode_userspace_object(out, capacity, 1, p->thread, p->string, p->args);
}

static size_t kernel_object(size_t capacity, const struct parts *p)
{
	return fxt_encode_kernel_object(out, capacity, FXT_OBJECT_THREAD, 1, p->string, p->args);
}

static size_t context_switch(size_t capacity, const struct parts *p)
{
	return fxt_encode_context_switch(out, capacity, 1, 0xbeef, FXT_THREAD_BLOCKED, 2, 3, p->args);
}

static size_t wakeup(size_t capacity, const struct parts *p)
{
	return fxt_encode_thread_wakeup(out, capacity, 1, 0xbeef, 2, p->args);
}

static size_t message(size_t capacity, const struct parts *p)
{
	return fxt_encode_log(out, capacity, 1, p->thread, text, p->bytes);
}

static size_t large_event_category(size_t capacity, const struct parts *p)
{
	return fxt_encode_large_blob_event(out, capacity, 1, p->thread, p->string, name, p->args, text,
					   p->bytes);
}

static size_t large_event_name(size_t capacity, const struct parts *p)
{
	return fxt_encode_large_blob_event(out, capacity, 1, p->thread, name, p->string, p->args, text,
					   p->bytes);
}

static size_t large_category(size_t capacity, const struct parts *p)
{
	return fxt_encode_large_blob(out, capacity, p->string, name, text, p->bytes);
}

static size_t large_name(size_t capacity, const struct parts *p)
{
	return fxt_encode_large_blob(out, capacity, name, p->string, text, p->bytes);
}

/* These put the string into an argument, as its name and as its value. */
static size_t argument_name(size_t capacity, const struct parts *p)
{
	struct fxt_arg arg = {.type = FXT_ARG_NULL, .name = p->string};

	return fxt_encode_thread_wakeup(out, capacity, 1, 0, 2, (struct fxt_args){1, &arg});
}

static size_t argument_value(size_t capacity, const struct parts *p)
{
	struct fxt_arg arg = {.type = FXT_ARG_STRING, .name = name, .string = p->string};

	return fxt_encode_thread_wakeup(out, capacity, 1, 0, 2, (struct fxt_args){1, &arg});
}

static void dirty(void)
{
	memset(out, 0xa5, sizeof(out));
}

static void expect_untouched(size_t from)
{
	for (size_t i = from; i < from + GUARD_WORDS; i++)
		ck_assert_msg(out[i] == UNTOUCHED, "word %zu was stored to", i);
}

static const struct { encoder *encode; size_t words; } with_string[] = {
	{instant, 2}, {complete, 3}, {blob, 1}, {userspace_object, 2}, {kernel_object, 2},
	{large_event_category, 4}, {large_event_name, 4}, {large_category, 3}, {large_name, 3},
	{argument_name, 4}, {argument_value, 4},
};

START_TEST(string_limits)
{
	encoder *encode = with_string[_i].encode;
	size_t words = with_string[_i].words;
	struct parts p = {.thread = indexed};

	p.string = FXT_INDEXED(0x7fff);
	ck_assert_uint_eq(encode(words, &p), words);
	p.string = FXT_INDEXED(0x8000);
	ck_assert_uint_eq(encode(words, &p), 0);
	p.string = FXT_INLINE(NULL, 0);
	ck_assert_uint_eq(encode(words, &p), words);
	p.string = FXT_INLINE(NULL, 5);
	ck_assert_uint_eq(encode(MEMORY_WORDS, &p), 0);
	dirty();
	p.string = FXT_INLINE(text, 32000);
	ck_assert_uint_eq(encode(words + 4000, &p), words + 4000);
	expect_untouched(words + 4000);
	ck_assert_uint_eq(encode(words + 3999, &p), 0);
	p.string = FXT_INLINE(text, 32001);
	ck_assert_uint_eq(encode(MEMORY_WORDS, &p), 0);
	p.string = FXT_INLINE(text, SIZE_MAX);
	ck_assert_uint_eq(encode(MEMORY_WORDS, &p), 0);
}
END_TEST

/* `count_word` and `count_shift` say where the record has the number of its arguments. */
static const struct { encoder *encode; size_t words; unsigned count_word, count_shift; } with_args[] = {
	{instant, 2, 0, 20}, {complete, 3, 0, 20}, {userspace_object, 2, 0, 40}, {kernel_object, 2, 0, 40},
	{context_switch, 4, 0, 16}, {wakeup, 3, 0, 16}, {large_event_name, 4, 1, 32},
};

START_TEST(argument_count)
{
	static const struct fxt_arg list[16] = {{.type = FXT_ARG_NULL}};
	struct parts p = {.thread = indexed, .string = name};
	size_t words = with_args[_i].words;

	for (size_t count = 0; count <= 15; count++) {
		p.args = (struct fxt_args){count, list};
		dirty();
		ck_assert_uint_eq(with_args[_i].encode(words + count, &p), words + count);
		ck_assert_uint_eq(out[with_args[_i].count_word] >> with_args[_i].count_shift & 15, count);
		expect_untouched(words + count);
		if (count)
			ck_assert_uint_eq(with_args[_i].encode(words + count - 1, &p), 0);
	}
	p.args = (struct fxt_args){16, list};
	ck_assert_uint_eq(with_args[_i].encode(MEMORY_WORDS, &p), 0);
	p.args = (struct fxt_args){SIZE_MAX, list};
	ck_assert_uint_eq(with_args[_i].encode(MEMORY_WORDS, &p), 0);
	p.args = (struct fxt_args){1, NULL};
	ck_assert_uint_eq(with_args[_i].encode(MEMORY_WORDS, &p), 0);
}
END_TEST

START_TEST(argument_types)
{
	struct fxt_arg arg = {.type = (enum fxt_arg_type)_i, .name = name, .string = FXT_INDEXED(1)};
	struct parts p = {.thread = indexed, .string = name, .args = {1, &arg}};

	ck_assert(_i > 9 ? instant(9, &p) == 0 : instant(9, &p) >= 3);
}
END_TEST

/* These records have 4095 words. Each has an inline string of 32000 bytes and an argument with `bytes`
 * bytes of text. */
static const struct {
	encoder *encode;
	const struct fxt_thread_ref *thread;
	size_t bytes;
	uint64_t header;
} longest[] = {
	{instant, &indexed, 736, 0xfd0000422b10fff4},
	{instant, &inline_thread, 720, 0xfd0000420010fff4},
	{complete, &indexed, 728, 0x0042fd002b14fff4},
	{userspace_object, &indexed, 736, 0x000001fd002bfff6},
	{userspace_object, &inline_thread, 728, 0x000001fd0000fff6},
	{kernel_object, &indexed, 736, 0x000001fd0002fff7},
};

START_TEST(longest_records)
{
	struct fxt_arg arg = {.type = FXT_ARG_STRING, .name = FXT_INDEXED(0x7abc)};
	struct parts p = {
		.thread = *longest[_i].thread,
		.string = FXT_INLINE(text, 32000),
		.args = {1, &arg},
	};

	arg.string = FXT_INLINE(text, longest[_i].bytes);
	dirty();
	ck_assert_uint_eq(longest[_i].encode(MEMORY_WORDS, &p), 4095);
	ck_assert_uint_eq(out[0], longest[_i].header);
	expect_untouched(4095);
	dirty();
	ck_assert_uint_eq(longest[_i].encode(4094, &p), 0);
	expect_untouched(4094);
	dirty();
	arg.string.bytes++;
	ck_assert_uint_eq(longest[_i].encode(MEMORY_WORDS, &p), 0);
	expect_untouched(4095);
}
END_TEST

/* These records of 4095 words have no string of their own: the first argument has a long name
 * instead. */
static const struct { encoder *encode; size_t bytes; uint64_t header; } longest_scheduling[] = {
	{context_switch, 712, 0x1000003beef2fff8},
	{wakeup, 720, 0x2000000beef2fff8},
};

START_TEST(longest_scheduling_records)
{
	struct fxt_arg args[2] = {
		{.type = FXT_ARG_INT32, .name = FXT_INLINE(text, 32000)},
		{.type = FXT_ARG_STRING, .string = FXT_INLINE(text, longest_scheduling[_i].bytes)},
	};
	struct parts p = {.args = {2, args}};

	dirty();
	ck_assert_uint_eq(longest_scheduling[_i].encode(MEMORY_WORDS, &p), 4095);
	ck_assert_uint_eq(out[0], longest_scheduling[_i].header);
	expect_untouched(4095);
	ck_assert_uint_eq(longest_scheduling[_i].encode(4094, &p), 0);
	args[1].string.bytes++;
	ck_assert_uint_eq(longest_scheduling[_i].encode(MEMORY_WORDS, &p), 0);
}
END_TEST

/* These records of 4095 words carry bytes. */
static const struct {
	encoder *encode;
	const struct fxt_thread_ref *thread;
	struct fxt_string name;
	size_t bytes;
	uint64_t header;
} longest_payload[] = {
	{blob, &indexed, {.index = 0x42}, 32752, 0x00017ff00042fff5},
	{blob, &indexed, {.text = "net", .bytes = 3}, 32744, 0x00017fe88003fff5},
	{message, &indexed, {0}, 32744, 0x0000002b7fe8fff9},
	{message, &inline_thread, {0}, 32728, 0x000000007fd8fff9},
};

START_TEST(longest_payloads)
{
	struct parts p = {.thread = *longest_payload[_i].thread, .string = longest_payload[_i].name};

	p.bytes = longest_payload[_i].bytes;
	dirty();
	ck_assert_uint_eq(longest_payload[_i].encode(MEMORY_WORDS, &p), 4095);
	ck_assert_uint_eq(out[0], longest_payload[_i].header);
	expect_untouched(4095);
	dirty();
	ck_assert_uint_eq(longest_payload[_i].encode(4094, &p), 0);
	expect_untouched(4094);
	for (size_t over = p.bytes + 1; over <= 32769; over++) {
		p.bytes = over;
		ck_assert_uint_eq(longest_payload[_i].encode(MEMORY_WORDS, &p), 0);
	}
	p.bytes = SIZE_MAX;
	ck_assert_uint_eq(longest_payload[_i].encode(MEMORY_WORDS, &p), 0);
}
END_TEST

/* The argument fits into a large record, but its size does not fit into the argument's own 12 bits. */
START_TEST(longest_argument)
{
	struct fxt_arg arg = {
		.type = FXT_ARG_STRING,
		.name = FXT_INLINE(text, 32000),
		.string = FXT_INLINE(text, 752),
	};
	struct parts p = {.thread = indexed, .string = name, .args = {1, &arg}};

	ck_assert_uint_eq(large_event_name(MEMORY_WORDS, &p), 4 + 4095);
	ck_assert_uint_eq(out[3], 0x000082f0fd00fff6);
	arg.string.bytes = 753;
	ck_assert_uint_eq(large_event_name(MEMORY_WORDS, &p), 0);
	arg.string.bytes = 32000;
	ck_assert_uint_eq(large_event_name(MEMORY_WORDS, &p), 0);
}
END_TEST

/* These blobs have more words than 32 bits count, or lengths that wrap around. They are refused before a
 * byte of them is read. */
START_TEST(largest_blobs)
{
	static const size_t bytes[] = {(size_t)UINT32_MAX * 8, SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / 2 + 1};
	struct parts p = {.thread = indexed, .string = name};

	for (size_t i = 0; i < LENGTH(bytes); i++) {
		p.bytes = bytes[i];
		ck_assert_uint_eq(large_event_name(SIZE_MAX, &p), 0);
		ck_assert_uint_eq(large_name(SIZE_MAX, &p), 0);
	}
}
END_TEST

int main(void)
{
	TCase *limits = tcase_create("limits");

	memset(text, 'm', sizeof(text));
	tcase_add_loop_test(limits, string_limits, 0, LENGTH(with_string));
	tcase_add_loop_test(limits, argument_count, 0, LENGTH(with_args));
	tcase_add_loop_test(limits, argument_types, 0, 16);
	tcase_add_loop_test(limits, longest_records, 0, LENGTH(longest));
	tcase_add_loop_test(limits, longest_scheduling_records, 0, LENGTH(longest_scheduling));
	tcase_add_loop_test(limits, longest_payloads, 0, LENGTH(longest_payload));
	tcase_add_test(limits, longest_argument);
	tcase_add_test(limits, largest_blobs);
	return RUN_SUITE("encode limits", limits);
}
