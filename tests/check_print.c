/* This tests how numbers, strings and the names of functions are printed. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/analysis/demangle.h"
#include "tools/common/message.h"
#include "tools/common/nearest.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"
#include "tools/printing/terminal.h"
#include "tools/programs/option_values.h"
#include "writer/fxt_encode.h"

/* -- Numbers and strings ------------------------------------------------------------------------------ */

START_TEST(prints_for_people)
{
	const struct fxt_text odd = {.text = "a\x1b[2J\xc2\x9b\xff\n", .bytes = 9};
	const struct fxt_text path = {.text = "/usr/include/stdio.h", .bytes = 20};
	char *text = fxt_printable(&odd, 100, false), *end = fxt_printable(&path, 9, true);
	char *duration = NULL;

	ck_assert_str_eq(text, "a\\x1b[2J\\x9b?\\n");
	ck_assert_str_eq(end, "..stdio.h");
	ck_assert_str_eq(fxt_duration(999).text, "999 ns");
	ck_assert_str_eq(fxt_duration(1234567).text, "1.23 ms");
	ck_assert_str_eq(fxt_duration(999999999).text, "1.00 s");
	ck_assert_str_eq(fxt_bytes(1536).text, "1.50 KiB");
	ck_assert_str_eq(fxt_bytes(UINT64_MAX).text, "16.0 EiB");
	ck_assert_str_eq(fxt_count(1204118).text, "1 204 118");
	ck_assert_ptr_null(fxt_option_set_duration(&duration, "1.5ms"));
	ck_assert_str_eq(duration, "1500000");
	free(text);
	free(end);
	free(duration);
}
END_TEST

/* Times that are refused leave what was there, and say why. */
START_TEST(reads_times)
{
	static const struct {
		const char *text, *ns;          /* NULL: it is refused */
	} times[] = {
		{"0", "0"},	  {"0s", "0"},	  {"1us", "1000"}, {"2m", "120000000000"},
		{"1h", "3600000000000"},  {".5s", NULL},  {"61m", NULL},   {"5", NULL},
		{"5x", NULL},	  {"-1s", NULL},  {"1 s", NULL},   {"", NULL},
		{"0x10s", NULL},  {"inf", NULL},  {"1e3ms", NULL}, {"s", NULL},
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		char *ns = fxt_strdup("7"), *bad = fxt_option_set_duration(&ns, times[i].text);

		ck_assert_msg(!bad == !!times[i].ns, "%s: %s", times[i].text, bad ? bad : "accepted");
		ck_assert_str_eq(ns, times[i].ns ? times[i].ns : "7");
		ck_assert(!bad || strstr(bad, "give "));
		free(bad);
		free(ns);
	}
}
END_TEST

/* A name with one slip, at random, is found again; a word that is no name with slips is not. */
START_TEST(finds_what_was_meant)
{
	static const char *const names[] = {"categories", NULL, "pthread_mutex_lock", "circular", "duration",
					    "keep-pid", "threshold"};
	enum { NAMES = sizeof(names) / sizeof(*names) };

	random_seed(0);
	for (int i = 0; i < 2000; i++) {
		const char *name = names[random_below(NAMES)], *found;
		char word[64];
		size_t at, bytes;

		if (!name)
			continue;
		bytes = strlen(name);
		at = random_below(bytes - 1);
		strcpy(word, name);
		switch (random_below(4)) {
		case 0: memmove(word + at, word + at + 1, bytes - at); break;
		case 1: memmove(word + at + 1, word + at, bytes - at + 1); break;
		case 2: word[at] = '%'; break;
		default: word[at] = name[at + 1], word[at + 1] = name[at];
		}
		found = fxt_nearest(word, names, NAMES);
		ck_assert_msg(found == name, "%s is %s, and not %s", word, found ? found : "nothing", name);
	}
	ck_assert_ptr_null(fxt_nearest("nonsense", names, NAMES));
	ck_assert_ptr_null(fxt_nearest("", names, NAMES));
}
END_TEST

/* A path that is cut keeps its last part whole, and as much of the rest as there is room for. */
START_TEST(cuts_in_the_middle)
{
	static const struct {
		const char *text, *cut;
	} cases[] = {
		{"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/..ux-gnu/libc.so.6"},
		{"/usr/lib/python3/__pycache__/heapq.cpython-311.pyc", "..he__/heapq.cpython-311.pyc"},
		{"/usr/a_name_that_is_longer_than_the_line", "..that_is_longer_than_the_line"},
		{"short/enough", "short/enough"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct fxt_text path = {.text = cases[i].text,
					      .bytes = (uint32_t)strlen(cases[i].text)};
		char *cut = fxt_printable(&path, strlen(cases[i].cut), true);

		ck_assert_str_eq(cut, cases[i].cut);
		free(cut);
	}
}
END_TEST

/* Only the ends of a long text are looked at. What is printed is the same as if all of it was, whatever
 * characters are in it, broken ones too. */
START_TEST(cuts_long_text_alike)
{
	static const char *const pieces[] = {"a", "/", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
					     "\n", "\x1b", "\xff", "\xc2\x9b"};
	enum { BYTES = 3000 };
	char text[BYTES + 4];
	size_t bytes = 0;

	for (unsigned state = (unsigned)_i + 1; bytes < BYTES; state = state * 1103515245 + 12345) {
		const char *piece = pieces[(state >> 16) % (_i % 2 ? 9 : 7)];

		memcpy(text + bytes, piece, strlen(piece));
		bytes += strlen(piece);
	}
	for (size_t columns = 3; columns < 100; columns++) {
		const struct fxt_text whole = {.text = text, .bytes = (uint32_t)bytes};
		char *all = fxt_printable(&whole, SIZE_MAX, false),
		     *cut = fxt_printable(&whole, columns, false);
		size_t kept = 0;

		for (size_t i = 0; i < columns - 2; i++)
			do
				kept++;
			while ((all[kept] & 0xc0) == 0x80);
		ck_assert_uint_eq(fxt_columns(cut), columns);
		ck_assert_int_eq(memcmp(cut, all, kept), 0);
		ck_assert_str_eq(cut + kept, "..");
		free(cut);
		cut = fxt_printable(&whole, columns, true);
		kept = (size_t)(strstr(cut, "..") - cut);
		ck_assert_uint_eq(fxt_columns(cut), columns);
		ck_assert_int_eq(memcmp(cut, all, kept), 0);
		ck_assert_str_eq(cut + kept + 2, all + strlen(all) - strlen(cut + kept + 2));
		free(cut);
		free(all);
	}
}
END_TEST

START_TEST(lines_fit)
{
	const char *const word = "word and word, \xc3\xa4. ";
	char *long_text, *text, *line;
	struct fxt_text said;
	size_t bytes, lines = 0;
	FILE *out = fxt_text_stream(&long_text, &bytes);

	for (int i = 0; i < 50; i++)
		fputs(word, out);
	fclose(out);
	said = (struct fxt_text){.text = long_text, .bytes = (uint32_t)bytes};
	out = fxt_text_stream(&text, &bytes);
	fprintf(out, "%10s", "");
	fxt_put_wrapped(out, &said, 10, 3);
	fxt_put_line(out, fxt_strdup(long_text));
	fclose(out);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
		ck_assert_uint_le(fxt_columns(line), FXT_COLUMNS);
		ck_assert_uint_ge(fxt_columns(line), FXT_COLUMNS - 15);
		ck_assert_int_eq(strncmp(line, lines < 3 ? "          w" : "word", lines < 3 ? 11 : 4), 0);
		ck_assert_int_eq(strcmp(line + strlen(line) - 2, "..") == 0, lines >= 2);
	}
	ck_assert_uint_eq(lines, 4);
	free(text);
	free(long_text);
}
END_TEST

/* Lines of words, of which some are longer than a line, and of gaps: folded, they have the same words, and no
 * line is too wide. */
START_TEST(folds_lines)
{
	static const char *const characters[] = {"a", "b", "\xc3\xa9", "\xe2\x82\xac"};
	char line[4096] = "", words[4096] = "", *folded;
	size_t columns, most, bytes;
	FILE *out = fxt_text_stream(&folded, &bytes);

	random_seed(100 + (uint64_t)_i);
	columns = 1 + random_below(120);
	most = columns < 30 ? 30 : columns;
	for (unsigned i = 0, count = random_below(40); i < count; i++) {
		int gap = (int)(random_below(10) ? 1 + random_below(3) : random_below(9));

		sprintf(line + strlen(line), "%*s", gap, "");
		for (unsigned k = random_below(20) ? 1 + random_below(12) : random_below(300); k; k--) {
			const char *c = characters[random_below(4)];

			if (strlen(line) > 3600)
				break;
			strcat(line, c);
			strcat(words, c);
		}
	}
	fxt_put_folded(out, line, columns);
	fclose(out);
	ck_assert_int_eq(folded[bytes - 1], '\n');
	for (char *at = folded, *end; *at; at = end + 1) {
		end = strchr(at, '\n');
		*end = '\0';
		ck_assert_msg(fxt_columns(at) <= most, "%zu columns of %zu: %s", fxt_columns(at), most, at);
		ck_assert_msg(fxt_utf8_valid(at, strlen(at)), "no UTF-8: %s", at);
		for (const char *c = at; *c; c++) {
			if (*c != ' ') {
				ck_assert_int_eq(*c, words[0]);
				memmove(words, words + 1, strlen(words));
			}
		}
	}
	ck_assert_str_eq(words, "");
	free(folded);
}
END_TEST

/* -- JSON ------------------------------------------------------------------------------------------------ */

START_TEST(writes_json)
{
	const struct fxt_text odd = {.text = "a\"\\\b\t\n\f\r\x01\0\x7f\xc3\xa4\xff\xed\xa0\x80z",
				     .bytes = 18};
	struct fxt_json j = {.one_line = true};
	size_t bytes;
	char *text;

	j.out = fxt_text_stream(&text, &bytes);
	fxt_json_array(&j, NULL);
	fxt_json_text(&j, NULL, &odd);
	fxt_json_string(&j, NULL, NULL);
	fxt_json_bool(&j, NULL, true);
	fxt_json_i64(&j, NULL, INT64_MIN);
	fxt_json_u64(&j, NULL, INT64_MAX);
	fxt_json_u64(&j, NULL, UINT64_MAX);
	fxt_json_object(&j, NULL);
	fxt_json_u64(&j, "a\n", 0);
	fxt_json_array(&j, "none");
	fxt_json_end(&j);
	fxt_json_end(&j);
	fxt_json_end(&j);
	fclose(j.out);
	ck_assert_str_eq(text, "[\"a\\\"\\\\\\b\\t\\n\\f\\r\\u0001\\u0000\x7f\xc3\xa4????z\",null,true,"
			       "-9223372036854775808,9223372036854775807,18446744073709551615,"
			       "{\"a\\n\":0,\"none\":[]}]\n");
	free(text);
}
END_TEST

START_TEST(indents_json)
{
	struct fxt_json j = {0};
	size_t bytes;
	char *text;

	j.out = fxt_text_stream(&text, &bytes);
	fxt_json_object(&j, NULL);
	fxt_json_array(&j, "list");
	fxt_json_u64(&j, NULL, 1);
	fxt_json_object(&j, NULL);
	fxt_json_end(&j);
	fxt_json_end(&j);
	fxt_json_null(&j, "last");
	fxt_json_end(&j);
	fclose(j.out);
	ck_assert_str_eq(text, "{\n  \"list\": [\n    1,\n    {}\n  ],\n  \"last\": null\n}\n");
	free(text);
}
END_TEST

/* A key is written once, because readers differ on an object with two members of one key. */
START_TEST(a_key_once)
{
	struct fxt_record rec = {.arg_count = 4};
	struct fxt_json j = {.one_line = true};
	size_t bytes;
	char *text;

	rec.args[0] = (struct fxt_argument){
		.type = FXT_ARG_INT32, .name = {.text = "x", .bytes = 1}, .i = -1};
	rec.args[1] = (struct fxt_argument){
		.type = FXT_ARG_POINTER, .name = {.text = "y", .bytes = 1}, .u = 16};
	rec.args[2] = (struct fxt_argument){
		.type = FXT_ARG_DOUBLE, .name = {.text = "x", .bytes = 1}, .f = 5};
	rec.args[3] = (struct fxt_argument){
		.type = FXT_ARG_DOUBLE, .name = {.text = "z", .bytes = 1}, .f = 1e-7};
	j.out = fxt_text_stream(&text, &bytes);
	fxt_json_arguments(&j, NULL, &rec);
	fclose(j.out);
	ck_assert_str_eq(text, "{\"x\":5.0,\"y\":\"0x10\",\"z\":9.9999999999999995e-8}\n");
	free(text);
}
END_TEST

/* -- Names of functions ----------------------------------------------------------------------------- */

#ifdef HAVE_LIBIBERTY
static const struct {
	const char *mangled, *full, *brief;     /* `brief` is for 20 columns */
} names[] = {
	{"_ZN3app5Stack4pushEi", "app::Stack::push(int)", "app::Stack::push"},
	{"_ZNSt3mapIiSt6vectorIiSaIiEEE4findERKi",
	 "std::map<int, std::vector<int, std::allocator<int> > >::find(int const&)", "std::map<>::find"},
	{"_ZN3app13very_long_one4sendIiEERS0_T_", "app::very_long_one& app::very_long_one::send<int>(int)",
	 "app::very_long_one::send<>"},
	{"_ZN3app9Something6nestedlsIiEERS1_T_",
	 "app::Something::nested& app::Something::nested::operator<< <int>(int)",
	 "app::Something::nested::operator<< <>"},
	{"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "core::fmt::Formatter::write_str",
	 "core::fmt::Formatter::write_str"},
	{"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar", "mycrate::foo::bar"},
	{"_Znonsense", NULL, NULL},
	{"main", NULL, NULL},
};

START_TEST(demangles)
{
	struct fxt_text name = {.text = names[_i].mangled, .bytes = (uint32_t)strlen(names[_i].mangled)};
	char *full = fxt_demangle(&name), *brief = fxt_demangle_short(&name, 20);

	ck_assert_pstr_eq(full, names[_i].full);
	ck_assert_pstr_eq(brief, names[_i].brief);
	free(full);
	free(brief);
}
END_TEST

/* Each parameter is a pair of the one before it, so the last one names int 2^36 times. */
START_TEST(demangling_has_an_end)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char mangled[512] = "_Z1fSt4pairIiiE";
	struct fxt_text name = {.text = mangled};
	char *full;

	for (const char *d = digits; *d; d++)
		sprintf(mangled + strlen(mangled), "S_IS%c_S%c_E", *d, *d);
	name.bytes = (uint32_t)strlen(mangled);
	full = fxt_demangle(&name);
	ck_assert_ptr_nonnull(full);
	ck_assert_uint_eq(strlen(full), 4096);
	free(full);
}
END_TEST
#endif

int main(void)
{
	TCase *c = tcase_create("print");

	tcase_add_test(c, prints_for_people);
	tcase_add_test(c, reads_times);
	tcase_add_test(c, finds_what_was_meant);
	tcase_add_test(c, cuts_in_the_middle);
	tcase_add_loop_test(c, cuts_long_text_alike, 0, 50);
	tcase_add_test(c, lines_fit);
	tcase_add_loop_test(c, folds_lines, 0, 100);
	tcase_add_test(c, writes_json);
	tcase_add_test(c, indents_json);
	tcase_add_test(c, a_key_once);
#ifdef HAVE_LIBIBERTY
	tcase_add_loop_test(c, demangles, 0, sizeof(names) / sizeof(names[0]));
	tcase_add_test(c, demangling_has_an_end);
#endif
	return RUN_SUITE("print", c);
}
