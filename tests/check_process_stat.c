/* This tests fxt_parse_process_stat() with names of programs that look like fields, and with text that is cut
 * off. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "run/process_stat.h"
#include "suite.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))
/* The fields between the state and the start time, and some of those behind it. */
#define BETWEEN " 1 2 3 4 -1 4194304 7 8 9 10 11 12 13 14 20 0 1 0 "
#define BEHIND " 8192 100 18446744073709551615 1\n"

static const struct { const char *text; char state; uint64_t start_ticks; } cases[] = {
	{"7 (cat) R" BETWEEN "4711" BEHIND, 'R', 4711},
	{"7 (cat) Z" BETWEEN "4711" BEHIND, 'Z', 4711},
	/* limits of the number */
	{"7 (cat) R" BETWEEN "0" BEHIND, 'R', 0},
	{"7 (cat) R" BETWEEN "1" BEHIND, 'R', 1},
	{"7 (cat) R" BETWEEN "18446744073709551615" BEHIND, 'R', UINT64_MAX},
	{"7 (cat) R" BETWEEN "4711\n", 'R', 4711},
	/* names */
	{"7 () R" BETWEEN "4711" BEHIND, 'R', 4711},
	{"7 ( ) R" BETWEEN "4711" BEHIND, 'R', 4711},
	{"7 (a b  c) R" BETWEEN "4711" BEHIND, 'R', 4711},
	{"7 ()) R" BETWEEN "4711" BEHIND, 'R', 4711},
	{"7 (a) Z 1 2 3) R" BETWEEN "4711" BEHIND, 'R', 4711},
	{"7 (((() R" BETWEEN "4711" BEHIND, 'R', 4711},
	{"7 (a\nb) Z\n) R" BETWEEN "4711" BEHIND, 'R', 4711},
	/* cut off: before and within the name, the state, a field and the number */
	{"", '\0', 0},
	{"7", '\0', 0},
	{"7 (cat", '\0', 0},
	{"7 (a) Z 1", 'Z', 0},
	{"7 (cat)", '\0', 0},
	{"7 (cat) ", '\0', 0},
	{"7 (cat) R", 'R', 0},
	{"7 (cat) R 1 2 3", 'R', 0},
	{"7 (cat) R" BETWEEN, 'R', 0},
	{"7 (cat) R" BETWEEN "47", 'R', 0},
	/* not such a file */
	{")", '\0', 0},
	{"no field at all here", '\0', 0},
	{"7 (cat) R" BETWEEN "-5" BEHIND, 'R', 0},
};

START_TEST(taken_apart)
{
	struct fxt_process_stat found = fxt_parse_process_stat(cases[_i].text);

	ck_assert_int_eq(found.state, cases[_i].state);
	ck_assert_uint_eq(found.start_ticks, cases[_i].start_ticks);
}
END_TEST

/* Each beginning of a text gives the whole number or none. */
START_TEST(cut_anywhere)
{
	static const char whole[] = "7 (a b) R" BETWEEN "4711" BEHIND;
	size_t needed = sizeof("7 (a b) R" BETWEEN "4711");
	char text[sizeof(whole)];

	for (size_t bytes = 0; bytes < sizeof(whole); bytes++) {
		memcpy(text, whole, bytes);
		text[bytes] = '\0';
		ck_assert_uint_eq(fxt_parse_process_stat(text).start_ticks, bytes < needed ? 0 : 4711);
	}
}
END_TEST

START_TEST(of_this_process)
{
	char text[1024];
	FILE *file = fopen("/proc/self/stat", "r");
	struct fxt_process_stat found;

	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	found = fxt_parse_process_stat(text);
	ck_assert_int_eq(found.state, 'R');
	ck_assert_uint_gt(found.start_ticks, 0);
}
END_TEST

int main(void)
{
	TCase *parse = tcase_create("parse");

	tcase_add_loop_test(parse, taken_apart, 0, LENGTH(cases));
	tcase_add_test(parse, cut_anywhere);
	tcase_add_test(parse, of_this_process);
	return RUN_SUITE("process_stat", parse);
}
