/* This tests fxt_utf8_clean() and fxt_utf8_valid() with the boundaries of each length of character, with
 * malformed text, and with text that is cut. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "fxt_encode.h"
#include "suite.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))
#define WHOLE 1000

static const struct { const char *text; size_t max_bytes; const char *want; } cases[] = {
	{"", WHOLE, ""},
	{"plain\tASCII\x7f", WHOLE, "plain\tASCII\x7f"},
	/* the first and the last character of each length, and on both sides of the surrogates */
	{"\xc2\x80 \xdf\xbf", WHOLE, "\xc2\x80 \xdf\xbf"},
	{"\xe0\xa0\x80 \xef\xbf\xbf", WHOLE, "\xe0\xa0\x80 \xef\xbf\xbf"},
	{"\xed\x9f\xbf \xee\x80\x80", WHOLE, "\xed\x9f\xbf \xee\x80\x80"},
	{"\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf", WHOLE, "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"},
	{"a\xc3\xa9" "\xe2\x82\xac" "\xf0\x9f\x98\x80" "b", WHOLE,
	 "a\xc3\xa9" "\xe2\x82\xac" "\xf0\x9f\x98\x80" "b"},
	/* no lead byte */
	{"\x80 \xbf", WHOLE, "? ?"},
	{"\xf5\x80\x80\x80 \xfe \xff", WHOLE, "???? ? ?"},
	/* overlong */
	{"\xc0\x80 \xc1\xbf", WHOLE, "?? ??"},
	{"\xe0\x80\x80 \xe0\x9f\xbf", WHOLE, "??? ???"},
	{"\xf0\x80\x80\x80 \xf0\x8f\xbf\xbf", WHOLE, "???? ????"},
	/* surrogates, above U+10FFFF */
	{"\xed\xa0\x80 \xed\xbf\xbf", WHOLE, "??? ???"},
	{"\xf4\x90\x80\x80 \xf4\xbf\xbf\xbf", WHOLE, "???? ????"},
	/* broken off by the end, by another character, in each place */
	{"a\xc3", WHOLE, "a?"},
	{"a\xe2", WHOLE, "a?"},
	{"a\xe2\x82", WHOLE, "a??"},
	{"a\xf0\x9f\x98", WHOLE, "a???"},
	{"\xc3" "b", WHOLE, "?b"},
	{"\xe2\x82" "b", WHOLE, "??b"},
	{"\xe2" "bc", WHOLE, "?bc"},
	{"\xf0\x9f\x98" "b", WHOLE, "???b"},
	{"\xf0\x9f" "bc", WHOLE, "??bc"},
	{"\xe2\xc3\xa9", WHOLE, "?\xc3\xa9"},
	{"\xc3\xff \xc3\xc0", WHOLE, "?? ??"},
	/* cut */
	{"abc", 3, "abc"},
	{"abc", 2, "ab"},
	{"abc", 0, ""},
	{"\xff\xff", 1, "?"},
	{"\xff", 0, ""},
	{"a\xc3\xa9", 3, "a\xc3\xa9"},
	{"a\xc3\xa9", 2, "a"},
	{"\xe2\x82\xac" "b", 3, "\xe2\x82\xac"},
	{"\xe2\x82\xac" "b", 2, ""},
	{"\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80"},
	{"\xf0\x9f\x98\x80", 3, ""},
	{"\xf0\x9f\x98\x80", 1, ""},
};

/* Returns the text in memory of just its size, so that a sanitizer finds what reads past it. */
static char *exactly(const char *text, size_t bytes)
{
	char *copy = calloc(bytes ? bytes : 1, 1);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, bytes);
	return copy;
}

START_TEST(cleaned)
{
	size_t bytes = strlen(cases[_i].text), want = strlen(cases[_i].want);
	char *text = exactly(cases[_i].text, bytes);
	char out[64];

	memset(out, '#', sizeof(out));
	ck_assert_uint_eq(fxt_utf8_clean(out, text, bytes, cases[_i].max_bytes), want);
	ck_assert_mem_eq(out, cases[_i].want, want);
	ck_assert_int_eq(out[want], '#');
	ck_assert_mem_eq(text, cases[_i].text, bytes);
	ck_assert_uint_eq(fxt_utf8_clean(text, text, bytes, cases[_i].max_bytes), want);
	ck_assert_mem_eq(text, cases[_i].want, want);
	free(text);
}
END_TEST

/* Text is valid if cleaning leaves it as it is, and what cleaning leaves is always valid. */
START_TEST(told_valid)
{
	size_t bytes = strlen(cases[_i].text);
	char *text = exactly(cases[_i].text, bytes);
	char out[64];
	size_t cleaned_bytes = fxt_utf8_clean(out, text, bytes, WHOLE);
	bool same = cleaned_bytes == bytes && memcmp(out, text, bytes) == 0;

	ck_assert_int_eq(fxt_utf8_valid(text, bytes), same);
	ck_assert(fxt_utf8_valid(out, cleaned_bytes));
	if (cases[_i].max_bytes == WHOLE)
		ck_assert_int_eq(fxt_utf8_valid(text, bytes), strcmp(cases[_i].text, cases[_i].want) == 0);
	free(text);
}
END_TEST

/* Writes the code as a character of so many bytes. It is valid if it is a code point that exists and no
 * surrogate, in no more bytes than it needs. */
static void try_code(uint32_t code, size_t length, size_t needed)
{
	bool want = length == needed && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
	char text[4];

	for (size_t i = length; i-- > 1; )
		text[i] = (char)(0x80 | (code >> 6 * (length - 1 - i) & 0x3f));
	text[0] = (char)(length == 1 ? code : (0xf00u >> length & 0xff) | code >> 6 * (length - 1));
	if (fxt_utf8_valid(text, length) != want)
		ck_abort_msg("U+%X in %zu bytes is told %s", code, length, want ? "malformed" : "valid");
}

START_TEST(each_code_in_each_length)
{
	for (uint32_t code = 0; code < 0x200000; code++) {
		size_t needed = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

		for (size_t length = needed; length <= 4; length++)
			try_code(code, length, needed);
	}
}
END_TEST

START_TEST(zero_bytes_are_kept)
{
	char out[4];

	ck_assert_uint_eq(fxt_utf8_clean(out, "a\0\xff" "b", 4, 4), 4);
	ck_assert_mem_eq(out, "a\0?b", 4);
}
END_TEST

int main(void)
{
	TCase *clean = tcase_create("clean"), *valid = tcase_create("valid");

	tcase_add_loop_test(clean, cleaned, 0, LENGTH(cases));
	tcase_add_test(clean, zero_bytes_are_kept);
	tcase_add_loop_test(valid, told_valid, 0, LENGTH(cases));
	tcase_add_test(valid, each_code_in_each_length);
	return RUN_SUITE("utf8", clean, valid);
}
