/* This tests writer/fxt_encode.h: every kind of record, event and argument is compared with words worked
 * out by hand.
 *
 * The expected words are put together from the bit positions of the specification, and from nothing in
 * fxt_format.h: a field that is misplaced there must fail here. Values are chosen so that no two fields of
 * a record hold the same digits. Each record is also tried at every capacity below its size, and in memory
 * full of other bytes. So padding that was not zeroed, and stores past the capacity, are found.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/agent.h"
#include "fxt_encode.h"
#include "suite.h"

enum {
	GUARD_WORDS = 8,
	BIG_BYTES = 600001,             /* 75001 words, which is more than 16 bits of size can count */
	MEMORY_WORDS = 75100 + GUARD_WORDS,
};

#define UNTOUCHED UINT64_C(0xa5a5a5a5a5a5a5a5)
#define TICKS UINT64_C(0x1122334455667788)
#define EXTRA UINT64_C(0x99aabbccddeeff00)

static uint64_t out[MEMORY_WORDS];
static char big[BIG_BYTES];

static const struct fxt_thread_ref indexed = {.index = 0x2b};
static const struct fxt_thread_ref last_index = {.index = 0xff};
static const struct fxt_thread_ref at_0x1234 = {.process = 0x1234, .thread = 0x5678};
static const struct fxt_args no_args = {0};

#define TEXT(literal) FXT_INLINE(literal, sizeof(literal) - 1)
#define EMPTY FXT_INLINE(NULL, 0)
#define ARG(...) (struct fxt_args){1, &(struct fxt_arg){__VA_ARGS__}}
#define MINUS_ONE ARG(FXT_ARG_INT32, FXT_INDEXED(0x7abc), .i32 = -1)

static void dirty(size_t words)
{
	memset(out, 0xa5, (words + GUARD_WORDS) * sizeof(*out));
}

static void expect_untouched(const char *what, size_t from)
{
	for (size_t i = from; i < from + GUARD_WORDS; i++)
		ck_assert_msg(out[i] == UNTOUCHED, "%s: word %zu was stored to", what, i);
}

/* Checks what a call with this capacity returned and stored. The record has `words` words. */
static void expect_words(const char *what, size_t capacity, size_t got, const uint64_t *want, size_t words)
{
	if (capacity < words) {
		ck_assert_msg(got == 0, "%s: %zu words in a capacity of %zu", what, got, capacity);
		expect_untouched(what, capacity);
		return;
	}
	ck_assert_msg(got == words, "%s: %zu words, expected %zu", what, got, words);
	for (size_t i = 0; i < words; i++)
		ck_assert_msg(out[i] == want[i], "%s: word %zu is %016llx, expected %016llx", what, i,
			      (unsigned long long)out[i], (unsigned long long)want[i]);
	expect_untouched(what, words);
}

/* Runs `call`, which encodes at `out` with `capacity`, at every capacity. The other arguments are the words
 * that it should store. */
#define EXPECT(call, ...)                                                                       \
	do {                                                                                    \
		const uint64_t want_[] = {__VA_ARGS__};                                         \
		const size_t words_ = sizeof(want_) / sizeof(*want_);                           \
		for (size_t capacity = 0; capacity <= words_ + 1; capacity++) {                 \
			dirty(words_ + 1);                                                      \
			expect_words(#call, capacity, call, want_, words_);                     \
		}                                                                               \
	} while (0)

START_TEST(metadata)
{
	EXPECT(fxt_encode_magic(out, capacity), 0x0016547846040010);
	EXPECT(fxt_encode_provider_info(out, capacity, 0xfedcba98, "hello", 5),
	       0x005fedcba9810020, 0x0000006f6c6c6568);
	EXPECT(fxt_encode_provider_info(out, capacity, 0xfedcba98, NULL, 0), 0x000fedcba9810010);
	EXPECT(fxt_encode_provider_section(out, capacity, 0xfedcba98), 0x000fedcba9820010);
	EXPECT(fxt_encode_provider_event(out, capacity, 0xfedcba98, 0), 0x000fedcba9830010);
	EXPECT(fxt_encode_provider_event(out, capacity, 0xfedcba98, 15), 0x00ffedcba9830010);
	ck_assert_uint_eq(fxt_encode_provider_event(out, 9, 1, 16), 0);
}
END_TEST

START_TEST(provider_name_limit)
{
	dirty(33);
	ck_assert_uint_eq(fxt_encode_provider_info(out, 33, 1, big, 255), 33);
	ck_assert_uint_eq(out[0], 0x0ff0000000110210);
	ck_assert_uint_eq(out[32], 0x006d6d6d6d6d6d6d);
	expect_untouched("255 bytes of name", 33);
	ck_assert_uint_eq(fxt_encode_provider_info(out, 99, 1, big, 256), 0);
}
END_TEST

START_TEST(filler)
{
	static const struct { size_t words, capacity, result; uint64_t header; } cases[] = {
		{1, 1, 1, 0x00000000000f0010},
		{3, 3, 3, 0x00000000000f0030},
		{4095, 4095, 4095, 0x00000000000ffff0},
		{0, 9, 0, UNTOUCHED},
		{2, 1, 0, UNTOUCHED},
		{1, 0, 0, UNTOUCHED},
		{4096, 5000, 0, UNTOUCHED},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		dirty(1);
		ck_assert_uint_eq(fxt_encode_filler(out, cases[i].capacity, cases[i].words), cases[i].result);
		ck_assert_uint_eq(out[0], cases[i].header);
		expect_untouched("what a filler covers", 1);
	}
}
END_TEST

START_TEST(initialization)
{
	EXPECT(fxt_encode_initialization(out, capacity, 1000000000), 0x0000000000000021, 0x000000003b9aca00);
	ck_assert_uint_eq(fxt_encode_initialization(out, 9, 0), 0);
}
END_TEST

/* Records that are made when the agent is compiled lie one behind the other and have the same words. */
START_TEST(compiled_strings)
{
#define TEXTS(text)                                                                             \
	text(a, 1, "a") text(b, 2, "seventy") text(c, 0x7fff, "abcdefgh") text(d, 4, "nine char") \
	text(e, 5, "sixteen letters.") text(f, 6, "seventeen letters")
#define MEMBER(name, index, text) FXT_STRING_RECORD(name, text)
#define VALUE(name, index, text) FXT_STRING_RECORD_VALUE(index, text)
#define ENCODE(name, index, text) \
	words += fxt_encode_string(out + words, MEMORY_WORDS - words, index, text, strlen(text));
	static const struct {
		TEXTS(MEMBER)
	} records = {TEXTS(VALUE)};
	size_t words = 0;

	TEXTS(ENCODE)
	ck_assert_uint_eq(words * sizeof(*out), sizeof(records));
	ck_assert_mem_eq(out, &records, sizeof(records));
}
END_TEST

START_TEST(strings)
{
	EXPECT(fxt_encode_string(out, capacity, 0x7fff, "hello", 5), 0x000000057fff0022, 0x0000006f6c6c6568);
	EXPECT(fxt_encode_string(out, capacity, 1, "abcdefgh", 8), 0x0000000800010022, 0x6867666564636261);
	EXPECT(fxt_encode_string(out, capacity, 1, "abcdefghi", 9),
	       0x0000000900010032, 0x6867666564636261, 0x0000000000000069);
	EXPECT(fxt_encode_string(out, capacity, 1, "", 0), 0x0000000000010012);
	ck_assert_uint_eq(fxt_encode_string(out, 9, 0, "hello", 5), 0);
	ck_assert_uint_eq(fxt_encode_string(out, 9, 0x8000, "hello", 5), 0);
	ck_assert_uint_eq(fxt_encode_string(out, 9, 1, NULL, 5), 0);

	dirty(4001);
	ck_assert_uint_eq(fxt_encode_string(out, 4001, 1, big, 32000), 4001);
	ck_assert_uint_eq(out[0], 0x00007d000001fa12);
	expect_untouched("32000 bytes of string", 4001);
	ck_assert_uint_eq(fxt_encode_string(out, 4095, 1, big, 32001), 0);
}
END_TEST

START_TEST(threads)
{
	EXPECT(fxt_encode_thread(out, capacity, 0xab, 0x1234, 0x5678), 0x0000000000ab0033, 0x1234, 0x5678);
	ck_assert_uint_eq(fxt_encode_thread(out, 9, 0, 0x1234, 0x5678), 0);
}
END_TEST

static const struct { enum fxt_event_type type; uint64_t header; } events[] = {
	{FXT_EVENT_INSTANT, 0x7fff01232b000024},
	{FXT_EVENT_COUNTER, 0x7fff01232b010034},
	{FXT_EVENT_DURATION_BEGIN, 0x7fff01232b020024},
	{FXT_EVENT_DURATION_END, 0x7fff01232b030024},
	{FXT_EVENT_DURATION_COMPLETE, 0x7fff01232b040034},
	{FXT_EVENT_ASYNC_BEGIN, 0x7fff01232b050034},
	{FXT_EVENT_ASYNC_INSTANT, 0x7fff01232b060034},
	{FXT_EVENT_ASYNC_END, 0x7fff01232b070034},
	{FXT_EVENT_FLOW_BEGIN, 0x7fff01232b080034},
	{FXT_EVENT_FLOW_STEP, 0x7fff01232b090034},
	{FXT_EVENT_FLOW_END, 0x7fff01232b0a0034},
};

START_TEST(event_types)
{
	enum fxt_event_type type = events[_i].type;
	uint64_t header = events[_i].header;

	if ((header & 0xfff0) == 0x20)
		EXPECT(fxt_encode_event(out, capacity, type, TICKS, indexed, FXT_INDEXED(0x0123),
					FXT_INDEXED(0x7fff), no_args, EXTRA), header, TICKS);
	else
		EXPECT(fxt_encode_event(out, capacity, type, TICKS, indexed, FXT_INDEXED(0x0123),
					FXT_INDEXED(0x7fff), no_args, EXTRA), header, TICKS, EXTRA);
}
END_TEST

START_TEST(event_references)
{
	EXPECT(fxt_encode_event(out, capacity, FXT_EVENT_INSTANT, TICKS, at_0x1234, TEXT("net"),
				TEXT("hello"), no_args, EXTRA),
	       0x8005800300000064, TICKS, 0x1234, 0x5678, 0x000000000074656e, 0x0000006f6c6c6568);
	EXPECT(fxt_encode_event(out, capacity, FXT_EVENT_DURATION_COMPLETE, TICKS, at_0x1234, TEXT("net"),
				TEXT("hello"), MINUS_ONE, EXTRA),
	       0x8005800300140084, TICKS, 0x1234, 0x5678, 0x000000000074656e, 0x0000006f6c6c6568,
	       0xffffffff7abc0011, EXTRA);
	EXPECT(fxt_encode_event(out, capacity, FXT_EVENT_DURATION_BEGIN, TICKS, last_index, EMPTY,
				FXT_INLINE("", 0), no_args, 0),
	       0x00000000ff020024, TICKS);
	ck_assert_uint_eq(
		fxt_encode_event(out, 9, (enum fxt_event_type)11, TICKS, indexed, EMPTY, EMPTY, no_args, 0),
		0);
}
END_TEST

/* These are arguments of an instant. Its header is 0x00030002'01100004, with the size in bits 4..15. */
static const struct { struct fxt_arg arg; size_t words; uint64_t want[3]; } arguments[] = {
	{{FXT_ARG_NULL, FXT_INDEXED(0x7abc), {0}}, 1, {0x000000007abc0010}},
	{{FXT_ARG_NULL, TEXT("x"), {0}}, 2, {0x0000000080010020, 0x78}},
	{{FXT_ARG_NULL, EMPTY, {0}}, 1, {0x10}},
	{{FXT_ARG_INT32, FXT_INDEXED(0x7abc), {.i32 = -1}}, 1, {0xffffffff7abc0011}},
	{{FXT_ARG_INT32, FXT_INDEXED(0x7abc), {.i32 = INT32_MIN}}, 1, {0x800000007abc0011}},
	{{FXT_ARG_INT32, FXT_INDEXED(0x7abc), {.i32 = INT32_MAX}}, 1, {0x7fffffff7abc0011}},
	{{FXT_ARG_INT32, TEXT("x"), {.i32 = 5}}, 2, {0x0000000580010021, 0x78}},
	{{FXT_ARG_UINT32, FXT_INDEXED(0x7abc), {.u32 = 0xdeadbeef}}, 1, {0xdeadbeef7abc0012}},
	{{FXT_ARG_UINT32, TEXT("abcdefgh"), {.u32 = 7}}, 2, {0x0000000780080022, 0x6867666564636261}},
	{{FXT_ARG_INT64, FXT_INDEXED(0x7abc), {.i64 = -2}}, 2, {0x000000007abc0023, 0xfffffffffffffffe}},
	{{FXT_ARG_INT64, TEXT("x"), {.i64 = INT64_MIN}}, 3, {0x0000000080010033, 0x78, 0x8000000000000000}},
	{{FXT_ARG_UINT64, FXT_INDEXED(0x7abc), {.u64 = UINT64_MAX}}, 2,
	 {0x000000007abc0024, 0xffffffffffffffff}},
	{{FXT_ARG_DOUBLE, FXT_INDEXED(0x7abc), {.f64 = -1.5}}, 2, {0x000000007abc0025, 0xbff8000000000000}},
	{{FXT_ARG_DOUBLE, TEXT("x"), {.f64 = 1.0}}, 3, {0x0000000080010035, 0x78, 0x3ff0000000000000}},
	{{FXT_ARG_STRING, FXT_INDEXED(0x7abc), {.string = FXT_INDEXED(0x1234)}}, 1, {0x000012347abc0016}},
	{{FXT_ARG_STRING, FXT_INDEXED(0x7abc), {.string = TEXT("hello")}}, 2,
	 {0x000080057abc0026, 0x0000006f6c6c6568}},
	{{FXT_ARG_STRING, TEXT("x"), {.string = TEXT("hello")}}, 3,
	 {0x0000800580010036, 0x78, 0x0000006f6c6c6568}},
	{{FXT_ARG_STRING, TEXT("x"), {.string = FXT_INDEXED(0x1234)}}, 2, {0x0000123480010026, 0x78}},
	{{FXT_ARG_STRING, FXT_INDEXED(0x7abc), {.string = EMPTY}}, 1, {0x000000007abc0016}},
	{{FXT_ARG_POINTER, FXT_INDEXED(0x7abc), {.u64 = 0x7ffedcba9870}}, 2,
	 {0x000000007abc0027, 0x00007ffedcba9870}},
	{{FXT_ARG_KOID, FXT_INDEXED(0x7abc), {.u64 = 0x1234}}, 2, {0x000000007abc0028, 0x1234}},
	{{FXT_ARG_BOOL, FXT_INDEXED(0x7abc), {.boolean = true}}, 1, {0x000000017abc0019}},
	{{FXT_ARG_BOOL, FXT_INDEXED(0x7abc), {.boolean = false}}, 1, {0x000000007abc0019}},
	{{FXT_ARG_BOOL, TEXT("x"), {.boolean = true}}, 2, {0x0000000180010029, 0x78}},
};

START_TEST(argument_types)
{
	const struct fxt_args args = {1, &arguments[_i].arg};
	const uint64_t *want = arguments[_i].want;

#define INSTANT                                                                                              \
	fxt_encode_event(out, capacity, FXT_EVENT_INSTANT, TICKS, (struct fxt_thread_ref){.index = 1},       \
			 FXT_INDEXED(2), FXT_INDEXED(3), args, 0)
	if (arguments[_i].words == 1)
		EXPECT(INSTANT, 0x0003000201100034, TICKS, want[0]);
	else if (arguments[_i].words == 2)
		EXPECT(INSTANT, 0x0003000201100044, TICKS, want[0], want[1]);
	else
		EXPECT(INSTANT, 0x0003000201100054, TICKS, want[0], want[1], want[2]);
}
END_TEST

START_TEST(blobs)
{
	EXPECT(fxt_encode_blob(out, capacity, FXT_BLOB_DATA, FXT_INDEXED(0x42), "abcdefghi", 9),
	       0x0001000900420035, 0x6867666564636261, 0x0000000000000069);
	EXPECT(fxt_encode_blob(out, capacity, FXT_BLOB_LAST_BRANCH, TEXT("net"), "abcdefgh", 8),
	       0x0002000880030035, 0x000000000074656e, 0x6867666564636261);
	EXPECT(fxt_encode_blob(out, capacity, FXT_BLOB_PERFETTO, FXT_INDEXED(0x42), NULL, 0),
	       0x0003000000420015);
	EXPECT(fxt_encode_blob(out, capacity, (enum fxt_blob_type)255, EMPTY, NULL, 0), 0x00ff000000000015);
	ck_assert_uint_eq(fxt_encode_blob(out, 9, (enum fxt_blob_type)256, EMPTY, NULL, 0), 0);
	ck_assert_uint_eq(fxt_encode_blob(out, 9, FXT_BLOB_DATA, EMPTY, NULL, 1), 0);
}
END_TEST

START_TEST(objects)
{
	EXPECT(fxt_encode_userspace_object(out, capacity, 0x7ffedcba9870, indexed, FXT_INDEXED(0x0123),
					   no_args),
	       0x00000001232b0026, 0x00007ffedcba9870);
	EXPECT(fxt_encode_userspace_object(out, capacity, 0x7ffedcba9870, at_0x1234, TEXT("hello"),
					   MINUS_ONE),
	       0x0000018005000056, 0x00007ffedcba9870, 0x1234, 0x0000006f6c6c6568, 0xffffffff7abc0011);
	EXPECT(fxt_encode_userspace_object(out, capacity, 1, last_index, EMPTY, no_args),
	       0x0000000000ff0026, 1);
	EXPECT(fxt_encode_kernel_object(out, capacity, FXT_OBJECT_PROCESS, 0x1234, FXT_INDEXED(0x0123),
					no_args),
	       0x0000000123010027, 0x1234);
	EXPECT(fxt_encode_kernel_object(out, capacity, FXT_OBJECT_THREAD, 0x5678, TEXT("hello"),
					ARG(FXT_ARG_KOID, TEXT("process"), .u64 = 0x1234)),
	       0x0000018005020067, 0x5678, 0x0000006f6c6c6568, 0x0000000080070038, 0x00737365636f7270,
	       0x1234);
	EXPECT(fxt_encode_kernel_object(out, capacity, (enum fxt_kernel_object_type)255, 0x1234, EMPTY,
					no_args),
	       0x0000000000ff0027, 0x1234);
	ck_assert_uint_eq(
		fxt_encode_kernel_object(out, 9, (enum fxt_kernel_object_type)256, 1, EMPTY, no_args), 0);
}
END_TEST

START_TEST(legacy_switch)
{
	struct fxt_legacy_switch s = {
		.cpu = 0xc7, .outgoing_state = FXT_THREAD_BLOCKED,
		.outgoing = {.index = 0x2b}, .incoming = {.index = 0x4d},
		.outgoing_priority = 0x5e, .incoming_priority = 0x6f,
	};

	EXPECT(fxt_encode_legacy_switch(out, capacity, TICKS, &s), 0x06f5e4d2b3c70028, TICKS);
	s.incoming = (struct fxt_thread_ref){.process = 0x9abc, .thread = 0xdef0};
	EXPECT(fxt_encode_legacy_switch(out, capacity, TICKS, &s), 0x06f5e002b3c70048, TICKS, 0x9abc, 0xdef0);
	s.outgoing = at_0x1234;
	EXPECT(fxt_encode_legacy_switch(out, capacity, TICKS, &s),
	       0x06f5e00003c70068, TICKS, 0x1234, 0x5678, 0x9abc, 0xdef0);
	s = (struct fxt_legacy_switch){0xff, FXT_THREAD_DEAD, last_index, last_index, 0xff, 0xff};
	EXPECT(fxt_encode_legacy_switch(out, capacity, TICKS, &s), 0x0ffffffff5ff0028, TICKS);
}
END_TEST

START_TEST(scheduling)
{
	EXPECT(fxt_encode_context_switch(out, capacity, TICKS, 0xbeef, FXT_THREAD_BLOCKED, 0x1234, 0x5678,
					 no_args),
	       0x1000003beef00048, TICKS, 0x1234, 0x5678);
	EXPECT(fxt_encode_context_switch(out, capacity, TICKS, 0xbeef, FXT_THREAD_DEAD, 0x1234, 0x5678,
					 MINUS_ONE),
	       0x1000005beef10058, TICKS, 0x1234, 0x5678, 0xffffffff7abc0011);
	EXPECT(fxt_encode_thread_wakeup(out, capacity, TICKS, 0xbeef, 0x1234, no_args),
	       0x2000000beef00038, TICKS, 0x1234);
	EXPECT(fxt_encode_thread_wakeup(out, capacity, TICKS, 0xbeef, 0x1234,
					ARG(FXT_ARG_KOID, FXT_INDEXED(0x7abc), .u64 = 0x5678)),
	       0x2000000beef10058, TICKS, 0x1234, 0x000000007abc0028, 0x5678);
}
END_TEST

/* These are states of the outgoing thread, which the specification says is "any of the values below except
 * running". The newer record has that too, for a thread that was preempted. */
static const struct { enum fxt_thread_state state; uint64_t legacy, newer; } states[] = {
	{FXT_THREAD_NEW, 0x0000000000000068, 0x1000000000000048},
	{FXT_THREAD_SUSPENDED, 0x0000000002000068, 0x1000002000000048},
	{FXT_THREAD_BLOCKED, 0x0000000003000068, 0x1000003000000048},
	{FXT_THREAD_DYING, 0x0000000004000068, 0x1000004000000048},
	{FXT_THREAD_DEAD, 0x0000000005000068, 0x1000005000000048},
	{FXT_THREAD_RUNNING, 0, 0x1000001000000048},
	{(enum fxt_thread_state)1, 0, 0x1000001000000048},
	{(enum fxt_thread_state)6, 0, 0},
	{(enum fxt_thread_state)16, 0, 0},
};

START_TEST(outgoing_states)
{
	struct fxt_legacy_switch s = {.outgoing_state = states[_i].state};
	bool allowed = states[_i].legacy != 0;

	ck_assert_uint_eq(fxt_encode_legacy_switch(out, 9, TICKS, &s), allowed ? 6 : 0);
	if (allowed)
		ck_assert_uint_eq(out[0], states[_i].legacy);
	allowed = states[_i].newer != 0;
	ck_assert_uint_eq(fxt_encode_context_switch(out, 9, TICKS, 0, states[_i].state, 1, 2, no_args),
			  allowed ? 4 : 0);
	if (allowed)
		ck_assert_uint_eq(out[0], states[_i].newer);
}
END_TEST

START_TEST(logs)
{
	EXPECT(fxt_encode_log(out, capacity, TICKS, indexed, "hello", 5),
	       0x0000002b00050039, TICKS, 0x0000006f6c6c6568);
	EXPECT(fxt_encode_log(out, capacity, TICKS, at_0x1234, "hello", 5),
	       0x0000000000050059, TICKS, 0x1234, 0x5678, 0x0000006f6c6c6568);
	EXPECT(fxt_encode_log(out, capacity, TICKS, last_index, NULL, 0), 0x000000ff00000029, TICKS);
	ck_assert_uint_eq(fxt_encode_log(out, 9, TICKS, indexed, NULL, 1), 0);
}
END_TEST

START_TEST(large_blobs)
{
	EXPECT(fxt_encode_large_blob_event(out, capacity, TICKS, indexed, FXT_INDEXED(0x0123),
					   FXT_INDEXED(0x7fff), no_args, "abcdefghi", 9),
	       0x000000000000006f, 0x000002b07fff0123, TICKS, 9, 0x6867666564636261, 0x0000000000000069);
	EXPECT(fxt_encode_large_blob_event(out, capacity, TICKS, at_0x1234, TEXT("net"), TEXT("hello"),
					   MINUS_ONE, "abcdefgh", 8),
	       0x00000000000000af, 0x0000000180058003, 0x000000000074656e, 0x0000006f6c6c6568, TICKS, 0x1234,
	       0x5678, 0xffffffff7abc0011, 8, 0x6867666564636261);
	EXPECT(fxt_encode_large_blob(out, capacity, FXT_INDEXED(0x0123), FXT_INDEXED(0x7fff), "abcdefghi", 9),
	       0x000001000000005f, 0x000000007fff0123, 9, 0x6867666564636261, 0x0000000000000069);
	EXPECT(fxt_encode_large_blob(out, capacity, TEXT("net"), TEXT("hello"), "abcdefgh", 8),
	       0x000001000000006f, 0x0000000080058003, 0x000000000074656e, 0x0000006f6c6c6568, 8,
	       0x6867666564636261);
	EXPECT(fxt_encode_large_blob(out, capacity, EMPTY, EMPTY, NULL, 0), 0x000001000000003f, 0, 0);
	EXPECT(fxt_encode_large_blob_event(out, capacity, TICKS, last_index, EMPTY, EMPTY, no_args, NULL, 0),
	       0x000000000000004f, 0x00000ff000000000, TICKS, 0);
}
END_TEST

/* A large record may have more than 4095 words, and more than 16 bits of words. This one has 75001 words of
 * payload, the last of which is one byte and padding. */
START_TEST(large_blobs_longer_than_records)
{
	dirty(75004);
	ck_assert_uint_eq(fxt_encode_large_blob(out, 75004, FXT_INDEXED(1), FXT_INDEXED(2), big, BIG_BYTES),
			  75004);
	ck_assert_uint_eq(out[0], 0x0000010000124fcf);
	ck_assert_uint_eq(out[2], 600001);
	ck_assert_uint_eq(out[75002], 0x6d6d6d6d6d6d6d6d);
	ck_assert_uint_eq(out[75003], 0x000000000000006d);
	expect_untouched("large blob", 75004);
	ck_assert_uint_eq(fxt_encode_large_blob(out, 75003, FXT_INDEXED(1), FXT_INDEXED(2), big, BIG_BYTES),
			  0);

	dirty(75005);
	ck_assert_uint_eq(fxt_encode_large_blob_event(out, 75005, TICKS, indexed, FXT_INDEXED(1),
						      FXT_INDEXED(2), no_args, big, BIG_BYTES),
			  75005);
	ck_assert_uint_eq(out[0], 0x0000000000124fdf);
	ck_assert_uint_eq(out[3], 600001);
	ck_assert_uint_eq(out[75004], 0x000000000000006d);
	expect_untouched("large blob event", 75005);
	ck_assert_uint_eq(fxt_encode_large_blob_event(out, 75004, TICKS, indexed, FXT_INDEXED(1),
						      FXT_INDEXED(2), no_args, big, BIG_BYTES),
			  0);
}
END_TEST

int main(void)
{
	TCase *records = tcase_create("records");

	memset(big, 'm', sizeof(big));
	tcase_add_test(records, metadata);
	tcase_add_test(records, provider_name_limit);
	tcase_add_test(records, filler);
	tcase_add_test(records, initialization);
	tcase_add_test(records, compiled_strings);
	tcase_add_test(records, strings);
	tcase_add_test(records, threads);
	tcase_add_loop_test(records, event_types, 0, sizeof(events) / sizeof(*events));
	tcase_add_test(records, event_references);
	tcase_add_loop_test(records, argument_types, 0, sizeof(arguments) / sizeof(*arguments));
	tcase_add_test(records, blobs);
	tcase_add_test(records, objects);
	tcase_add_test(records, legacy_switch);
	tcase_add_test(records, scheduling);
	tcase_add_loop_test(records, outgoing_states, 0, sizeof(states) / sizeof(*states));
	tcase_add_test(records, logs);
	tcase_add_test(records, large_blobs);
	tcase_add_test(records, large_blobs_longer_than_records);
	return RUN_SUITE("encode", records);
}
