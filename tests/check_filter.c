/* The rules of FXT_FILTER against a model that reads them its own way: by fnmatch(), from the last rule to
 * the first. Names of C++ against those that a compiler wrote down. CHECK_FILTER_SEED and CHECK_FILTER_ROUNDS
 * try other lists; a failure prints the seed. */
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "agent/names/function_filter.h"
#include "suite.h"

static uint64_t state, seed;

static unsigned below(unsigned n)
{
	/* xorshift64 */
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % n;
}

static void setup(void)
{
	const char *given = getenv("CHECK_FILTER_SEED");

	seed = given ? strtoull(given, NULL, 10) : 1;
	state = UINT64_C(0x2545f4914f6cdd1d) + seed;
}

static unsigned rounds(void)
{
	const char *given = getenv("CHECK_FILTER_ROUNDS");

	return given ? (unsigned)strtoul(given, NULL, 10) : 100000;
}

static void add_random(char *out, const char *letters, unsigned most)
{
	size_t used = strlen(out);
	unsigned n = below(most + 1);

	while (n--)
		out[used++] = letters[below((unsigned)strlen(letters))];
	out[used] = '\0';
}

/* -- The model: one rule at a time, as text --------------------------------------------------------- */

static bool brackets_close(const char *text)
{
	for (; *text; text++) {
		if (*text != '[')
			continue;
		text++;
		text += *text == '!' || *text == '^';
		text += *text != '\0';
		while (*text && *text != ']')
			text++;
		if (!*text)
			return false;
	}
	return true;
}

struct parts {
	bool leaves, is_tree, has_module;
	char function[64], module[64];
};

/* Takes a rule apart. Returns false if it is none. */
static bool take_apart(const char *rule, struct parts *parts)
{
	char text[128], *at;

	memset(parts, 0, sizeof(*parts));
	parts->leaves = rule[0] == '!';
	snprintf(text, sizeof(text), "%s", rule + parts->leaves);
	if (*text && text[strlen(text) - 1] == '/') {
		parts->is_tree = true;
		text[strlen(text) - 1] = '\0';
	}
	if (!*text || strchr(text, '/'))
		return false;
	at = strchr(text, '@');
	parts->has_module = at;
	if (at) {
		snprintf(parts->module, sizeof(parts->module), "%s", at + 1);
		*at = '\0';
	}
	snprintf(parts->function, sizeof(parts->function), "%s", text);
	return (!at || parts->module[0]) && brackets_close(parts->function) && brackets_close(parts->module);
}

/* Sets *verdict to what the list says. Returns false if it is none. */
static bool model(const char *list, const char *name, const char *module, enum fxt_filter_verdict *verdict)
{
	char copy[512], *rules[64], *rest = copy, *rule;
	bool keeps_trees = false, valid = true, is_found = false;
	struct parts parts;
	int count = 0, i;

	snprintf(copy, sizeof(copy), "%s", list);
	while ((rule = strsep(&rest, ",")))
		rules[count++] = rule;
	for (i = count - 1; i >= 0; i--) {
		valid &= take_apart(rules[i], &parts);
		keeps_trees |= parts.is_tree && !parts.leaves;
		if (!valid || is_found || (parts.has_module && fnmatch(parts.module, module, FNM_NOESCAPE)) ||
		    (parts.function[0] && fnmatch(parts.function, name, FNM_NOESCAPE)))
			continue;
		is_found = true;
		*verdict = parts.leaves ? parts.is_tree ? FXT_FILTER_LEAVE_TREE : FXT_FILTER_LEAVE
					: parts.is_tree ? FXT_FILTER_KEEP_TREE : FXT_FILTER_KEEP;
	}
	if (!is_found)
		*verdict = list[0] == '!' ? FXT_FILTER_KEEP
					  : keeps_trees ? FXT_FILTER_IN_TREE : FXT_FILTER_LEAVE;
	return valid;
}

START_TEST(as_the_model)
{
	static struct fxt_function_filter filter;
	unsigned left, accepted = 0, of_verdict[FXT_FILTER_LEAVE_TREE + 1] = {0}, i;
	enum fxt_filter_verdict want, got;
	size_t bytes;

	for (left = rounds(); left; left--) {
		char list[256] = "", name[16] = "", module[16] = "";
		unsigned rules = 1 + below(4);

		while (rules--) {
			add_random(list, "!", below(2));
			add_random(list, below(8) ? "aabb*?" : "ab*?[]!^-/@,", 4);
			if (!below(4)) {
				strcat(list, "@");
				add_random(list, "lm*?", 3);
			}
			add_random(list, "/", below(2));
			strcat(list, rules ? "," : "");
		}
		add_random(name, "aabbc", 5);
		add_random(module, "lmm", 3);
		if (!*list)
			continue;
		ck_assert_msg(model(list, name, module, &want) == !fxt_filter_read(&filter, list, &bytes),
			      "'%s' is accepted by one only; CHECK_FILTER_SEED=%lu", list,
			      (unsigned long)seed);
		if (!filter.is_set)
			continue;
		accepted++;
		got = fxt_filter_decide(&filter, name, strlen(name), module);
		of_verdict[got]++;
		ck_assert_msg(got == want, "'%s', '%s' of '%s': %d, not %d; CHECK_FILTER_SEED=%lu", list,
			      name, module, (int)got, (int)want, (unsigned long)seed);
	}
	ck_assert_uint_gt(accepted, rounds() / 10);
	for (i = 0; i <= FXT_FILTER_LEAVE_TREE; i++)
		ck_assert_uint_gt(of_verdict[i], rounds() / 1000);
}
END_TEST

/* -- Names ------------------------------------------------------------------------------------------ */

START_TEST(plain_names)
{
	static const struct {
		const char *mangled, *plain;
	} names[] = {
		{"_Z4workv", "work"}, {"_ZN3app4workEi", "app::work"},
		{"_ZNK3app3Box3getEv", "app::Box::get"},
		{"_ZN3app3BoxC1Ei", "app::Box::Box"}, {"_ZN3app3BoxD0Ev", "app::Box::~Box"},
		{"_ZL6hiddenv", "hidden"}, {"_ZN12_GLOBAL__N_14workEv", "_GLOBAL__N_1::work"},
		{"_ZSt4movev", "std::move"}, {"_ZNSt6thread4joinEv", "std::thread::join"},
		/* Templates, operators and abbreviations are not understood. */
		{"_Z4workIiEvT_", ""}, {"_ZN3app3BoxIiE3getEv", ""}, {"_ZN3app3BoxplERKS0_", ""},
		{"_ZNSs4sizeEv", ""}, {"_ZN3appC", ""}, {"work", ""}, {"_Z", ""}, {"_Z99work", ""},
		{"_ZN", ""},
		{"_ZN3app", ""}, {"_ZN99999999999999999999a", ""},
	};
	char out[64];
	size_t i, bytes;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		bytes = fxt_filter_plain_name(names[i].mangled, strlen(names[i].mangled), out, sizeof(out));
		ck_assert_msg(bytes == strlen(names[i].plain) && !memcmp(out, names[i].plain, bytes),
			      "%s: %.*s", names[i].mangled, (int)bytes, out);
	}
}
END_TEST

/* Nothing is read behind the end of a name, and nothing written behind the room for it. */
START_TEST(any_name)
{
	unsigned left;

	for (left = rounds(); left; left--) {
		char name[40] = "_Z", *exact, *out;
		size_t bytes, room = below(24);

		add_random(name, "NNL123EECDSt0aIrVKRO", 30);
		bytes = strlen(name);
		exact = malloc(bytes);
		out = malloc(room + 1);
		ck_assert(exact && out);
		memcpy(exact, name, bytes);
		out[room] = '#';
		ck_assert_uint_le(fxt_filter_plain_name(exact, bytes, out, room), room);
		ck_assert_int_eq(out[room], '#');
		free(exact);
		free(out);
	}
}
END_TEST

START_TEST(too_long)
{
	static struct fxt_function_filter filter;
	static char list[FXT_FILTER_BYTES + 1];
	size_t bytes;

	memset(list, 'a', FXT_FILTER_BYTES);
	ck_assert_ptr_nonnull(fxt_filter_read(&filter, list, &bytes));
	ck_assert_uint_ge(bytes, FXT_FILTER_BYTES);
	list[FXT_FILTER_BYTES - 1] = '\0';
	ck_assert_ptr_null(fxt_filter_read(&filter, list, &bytes));
	ck_assert(filter.is_set);
	ck_assert_ptr_null(fxt_filter_read(&filter, "", &bytes));
	ck_assert(!filter.is_set && fxt_filter_decide(&filter, "a", 1, "") == FXT_FILTER_KEEP);
}
END_TEST

int main(void)
{
	TCase *rules = tcase_create("rules");

	tcase_add_checked_fixture(rules, setup, NULL);
	tcase_set_timeout(rules, 120);
	tcase_add_test(rules, as_the_model);
	tcase_add_test(rules, plain_names);
	tcase_add_test(rules, any_name);
	tcase_add_test(rules, too_long);
	return RUN_SUITE("filter", rules);
}
