/* This tests what the agent reads from its environment, with random values. The agent does not read past a
 * value. It prints a message about a value that it refuses, and none about one that it accepts. What it
 * accepts means what it says. Under --enable-sanitizers every value lies in memory of just its size.
 *
 * The values are the same every time; CHECK_CONFIG_SEED gives others, CHECK_CONFIG_ROUNDS more of them. They
 * are made of pieces of the grammars, so that many are right and most are nearly right.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/process/config.h"
#include "agent/process/follow_glob.h"
#include "agent/base/log.h"
#include "agent/base/output.h"
#include "suite.h"

enum { VALUE_BYTES = 6000, VARIABLES = 17 };

/* follow_library.c tells what is not traced. */
void fxt_agent_unseen(const char *what);
void fxt_agent_unseen(const char *what)
{
	(void)what;
}

/* follow_program.c asks how much of the stack is left, which is enough here. */
bool fxt_stack_has_less(size_t bytes);
bool fxt_stack_has_less(size_t bytes)
{
	(void)bytes;
	return false;
}

/* log.c needs this. */
struct fxt_agent fxt_agent;
__thread struct fxt_thread *fxt_self;

/* -- Chance ------------------------------------------------------------------------------------ */

static uint64_t state;

static unsigned below(unsigned n)
{
	/* xorshift64 */
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % n;
}

static unsigned number_from(const char *variable, unsigned preset)
{
	const char *text = getenv(variable);

	return text ? (unsigned)strtoul(text, NULL, 10) : preset;
}

static unsigned rounds(void)
{
	state = UINT64_C(0x2545f4914f6cdd1d) + number_from("CHECK_CONFIG_SEED", 0);
	return number_from("CHECK_CONFIG_ROUNDS", 5000);
}

/* Writes some of the pieces one after the other: now and then any byte, and now and then very many pieces. */
static void make_value(char *out, const char *const *pieces, unsigned count)
{
	unsigned n = below(64) ? below(9) : below(2000);
	size_t used = 0;

	while (n-- > 0) {
		char byte[2] = {(char)(1 + below(255)), '\0'};
		const char *piece = below(20) ? pieces[below(count)] : byte;
		size_t bytes = strlen(piece);

		if (used + bytes >= VALUE_BYTES)
			break;
		memcpy(out + used, piece, bytes);
		used += bytes;
	}
	out[used] = '\0';
}

/* -- An environment, and what is said of it ------------------------------------------------------ */

static char *environment[VARIABLES + 1];
static int said = -1, own_stderr = -1;

static void setup(void)
{
	own_stderr = dup(2);
	said = memfd_create("said", MFD_CLOEXEC);
	ck_assert(own_stderr >= 0 && said >= 0);
}

static void set_variable(const char *name, const char *value)
{
	size_t bytes = strlen(name) + 1 + strlen(value) + 1;
	unsigned i = 0;

	while (environment[i])
		i++;
	ck_assert_uint_lt(i, VARIABLES);
	environment[i] = malloc(bytes);
	ck_assert_ptr_nonnull(environment[i]);
	snprintf(environment[i], bytes, "%s=%s", name, value);
}

static void clear_environment(void)
{
	unsigned i;

	for (i = 0; environment[i]; i++) {
		free(environment[i]);
		environment[i] = NULL;
	}
}

/* Reads the environment into *config. Returns how many bytes the agent wrote to standard error meanwhile. */
static size_t read_environment(struct fxt_config *config, bool *valid)
{
	char text[9];
	struct stat status;

	memset(config, 0, sizeof(*config));
	ck_assert_int_eq(ftruncate(said, 0), 0);
	ck_assert_int_eq(lseek(said, 0, SEEK_SET), 0);
	dup2(said, 2);
	fxt_log_start();
	*valid = fxt_config_read(config, environment);
	dup2(own_stderr, 2);
	ck_assert_int_eq(fstat(said, &status), 0);
	if (status.st_size)
		ck_assert(pread(said, text, sizeof(text), 0) == sizeof(text) &&
			  !memcmp(text, "fxtagent[", sizeof(text)));
	return (size_t)status.st_size;
}

/* -- Any value --------------------------------------------------------------------------------- */

static const char *const numbers[] = {"0", "1", "9", "64", "1024", "99999999999", "-", "+", " ", "x", "M"};
static const char *const categories[] = {"malloc", "pthread", "io", "net", "agent", "#default", "*",
					 "-", ",", ",", ",", " ", "p", "#"};
static const char *const words[] = {"one", "shot", "oneshot", "circular", "streaming", "drop", "wait",
				    "0", "1", "ring"};
static const char *const signals[] = {"SIG", "USR2", "USR1", "RT", "1", "2", "none", "KILL", "-", "64", "33"};
static const char *const outputs[] = {"%e", "%p", "%h", "%t", "%%", "%", "/", "/tmp/", "a", "..", ".fxt",
				      "%x"};
static const char *const triggers[] = {"read", "write*", "*", ">", ">=", "<", "<=", "=", "!=", "!", "10",
				       "99999999999", "ns", "us", "ms", "s", "EAGAIN", "ENOENT", "E", ":",
				       ":stop", ":snapshot", ",", ","};
static const char *const globs[] = {"a", "b", "sh", "*", "?", "[", "]", "!", "^", "-", ",", ",", "all",
				    "none", "child:", "/"};

static const char *const filters[] = {"a", "main", "log_", "*", "?", "[", "]", "!", "!", "@", "lib", "/", ",",
				      ",", ",", "::"};
static const char *const thresholds[] = {"0", "1", "1000", "3600000000000", "3600000000001", "=", "=", "io",
					 "function", "malloc", "no", ",", ",", "-", " "};

#define PIECES(list) (list), sizeof(list) / sizeof(*(list))

static const struct {
	const char *name;
	const char *const *pieces;
	unsigned count;
} variables[] = {
	{"FXT_CATEGORIES", PIECES(categories)}, {"FXT_BUFFERING_MODE", PIECES(words)},
	{"FXT_ON_FULL", PIECES(words)}, {"FXT_STORAGE", PIECES(words)},
	{"FXT_BUFFER_SIZE_MB", PIECES(numbers)}, {"FXT_MAX_SIZE_MB", PIECES(numbers)},
	{"FXT_THRESHOLD_NS", PIECES(thresholds)}, {"FXT_HEAP_TRACK_BYTES", PIECES(numbers)},
	{"FXT_START", PIECES(words)}, {"FXT_TRIGGER", PIECES(triggers)},
	{"FXT_TRIGGER_KEEP", PIECES(numbers)}, {"FXT_SIGNAL", PIECES(signals)},
	{"FXT_CALLERS", PIECES(globs)}, {"FXT_FILTER", PIECES(filters)}, {"FXT_DEPTH", PIECES(numbers)},
	{"FXT_PATCH", PIECES(filters)}, {"FXT_PLT", PIECES(filters)},
	{"FXT_FOLLOW", PIECES(globs)}, {"FXT_OUTPUT", PIECES(outputs)},
};

enum { VARIABLE_COUNT = sizeof(variables) / sizeof(*variables) };

static void check_accepted(const struct fxt_config *config)
{
	char path[FXT_PATH_BYTES];
	unsigned i;

	ck_assert_uint_lt(config->categories, 1u << FXT_CATEGORY_COUNT);
	ck_assert(config->buffer_bytes >= 1 << 20 && config->max_bytes >= 1 << 20);
	ck_assert_uint_le(config->triggers.count, FXT_TRIGGERS_MAX);
	for (i = 0; i < config->triggers.count; i++)
		ck_assert_uint_lt(strnlen(config->triggers.list[i].name, FXT_TRIGGER_NAME_BYTES),
				  FXT_TRIGGER_NAME_BYTES);
	ck_assert_int_ne(config->signal, 9);
	for (i = 0; i < FXT_CATEGORY_COUNT; i++)
		ck_assert_uint_le(config->threshold_ns[i], UINT64_C(3600000000000));
	ck_assert_uint_le(config->function_depth, FXT_FUNCTION_DEPTH);
	ck_assert_uint_le(config->heap_track_bytes, UINT64_C(1) << 47);
	ck_assert_int_eq(config->output[0], '/');
	if (fxt_output_path(path, config, "pro/gram", 4000000000u, UINT64_MAX)) {
		ck_assert_uint_lt(strnlen(path, sizeof(path)), sizeof(path));
		ck_assert_ptr_null(strstr(path, "pro/gram"));
	}
}

/* Sets several variables at once, because one run tells the mistakes of all of them. */
START_TEST(any_value)
{
	static struct fxt_config config;
	static char value[VALUE_BYTES];
	unsigned accepted = 0, refused = 0, left, i;
	size_t bytes;
	bool valid;

	for (left = rounds(); left > 0; left--) {
		for (i = 1 + below(3); i > 0; i--) {
			unsigned which = below(VARIABLE_COUNT);

			make_value(value, variables[which].pieces, variables[which].count);
			set_variable(variables[which].name, value);
		}
		bytes = read_environment(&config, &valid);
		ck_assert_msg(valid == (bytes == 0), "%zu bytes said, valid %d: %s", bytes, valid,
			      environment[0]);
		if (valid)
			check_accepted(&config);
		accepted += valid;
		refused += !valid;
		clear_environment();
	}
	/* If one of the two is rare, the pieces are badly chosen. */
	ck_assert_msg(accepted > refused / 20 && refused > accepted / 20, "%u accepted, %u refused", accepted,
		      refused);
}
END_TEST

/* -- What is accepted means what it says ---------------------------------------------------------- */

static const struct { const char *text; enum fxt_trigger_test test; } comparisons[] = {
	{">", FXT_LONGER}, {">=", FXT_AT_LEAST}, {"<", FXT_SHORTER}, {"<=", FXT_AT_MOST},
	{"=", FXT_FAILED_WITH}, {"!=", FXT_FAILED_OTHERWISE},
};
static const struct { const char *text; uint64_t value; } durations[] = {
	{"0ns", 0}, {"300ns", 300}, {"7us", 7000}, {"10ms", 10000000}, {"2s", 2000000000},
}, errors[] = {{"EAGAIN", EAGAIN}, {"ENOENT", ENOENT}, {"EINTR", EINTR}, {"ETIMEDOUT", ETIMEDOUT}};
static const struct { const char *text; bool stops; } actions[] = {
	{"", false}, {":snapshot", false}, {":stop", true}};

#define ANY(list) below(sizeof(list) / sizeof(*(list)))

START_TEST(triggers_as_written)
{
	static const char *const names[] = {"read", "pthread_mutex_lock", "x", "main"};
	unsigned left, count, i;

	for (left = rounds(); left > 0; left--) {
		struct fxt_trigger want[FXT_TRIGGERS_MAX] = {0};
		struct fxt_trigger_list got = {0};
		char value[1024];
		size_t used = 0;

		count = 1 + below(FXT_TRIGGERS_MAX);
		for (i = 0; i < count; i++) {
			const char *name = names[ANY(names)], *operand;
			unsigned comparison = ANY(comparisons), action = ANY(actions), what;

			want[i].test = comparisons[comparison].test;
			want[i].is_prefix = below(2);
			want[i].stops = actions[action].stops;
			snprintf(want[i].name, sizeof(want[i].name), "%s", name);
			if (want[i].test >= FXT_FAILED_WITH) {
				what = ANY(errors);
				operand = errors[what].text;
				want[i].value = errors[what].value;
			} else {
				what = ANY(durations);
				operand = durations[what].text;
				want[i].value = durations[what].value;
			}
			used += (size_t)snprintf(value + used, sizeof(value) - used, "%s%s%s%s%s%s",
						 i ? "," : "", name, want[i].is_prefix ? "*" : "",
						 comparisons[comparison].text, operand, actions[action].text);
		}
		ck_assert_msg(fxt_triggers_read(&got, value), "%s", value);
		ck_assert_uint_eq(got.count, count);
		for (i = 0; i < count; i++) {
			ck_assert_str_eq(got.list[i].name, want[i].name);
			ck_assert_msg(got.list[i].test == want[i].test &&
				      got.list[i].value == want[i].value &&
				      got.list[i].is_prefix == want[i].is_prefix &&
				      got.list[i].stops == want[i].stops,
				      "the %u. of %s", i + 1, value);
		}
	}
}
END_TEST

/* A list of categories switches on the categories that this test computes from it. */
START_TEST(categories_as_written)
{
	static const struct { const char *name; uint32_t bits; } known[] = {
#define CATEGORY(name, on, what) {#name, FXT_CAT_##name},
#include "writer/categories.def"
#undef CATEGORY
		{"p*", FXT_CAT_pthread | FXT_CAT_process | FXT_CAT_plt},
		{"*", (1u << FXT_CATEGORY_COUNT) - 1},
	};
	static struct fxt_config config;
	uint32_t preset, want;
	unsigned left, count, i;
	bool valid;

	ck_assert_uint_eq(read_environment(&config, &valid), 0);
	preset = config.categories;
	for (left = rounds(); left > 0; left--) {
		char value[512];
		size_t used = 0;

		want = 0;
		count = 1 + below(6);
		for (i = 0; i < count; i++) {
			unsigned which = ANY(known);
			bool minus = below(2);

			if (minus)
				want = (i ? want : preset) & ~known[which].bits;
			else
				want |= known[which].bits;
			used += (size_t)snprintf(value + used, sizeof(value) - used, "%s%s%s", i ? "," : "",
						 minus ? "-" : "", known[which].name);
		}
		set_variable("FXT_CATEGORIES", value);
		ck_assert_uint_eq(read_environment(&config, &valid), 0);
		ck_assert_msg(config.categories == want, "%s is %x, not %x", value, config.categories, want);
		clear_environment();
	}
}
END_TEST

START_TEST(thresholds_as_written)
{
	char text[64], *only[] = {text, NULL};
	static const struct {
		const char *value;
		uint64_t io, function, other;
	} cases[] = {
		{"", 0, 0, 0}, {"0", 0, 0, 0}, {"1000", 1000, 1000, 1000}, {"io=5", 5, 0, 0},
		{"function=1000,io=0", 0, 1000, 0}, {"7,io=0,function=9", 0, 9, 7}, {"io=5,7", 7, 7, 7},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		static struct fxt_config config;

		memset(&config, 0, sizeof(config));
		snprintf(text, sizeof(text), "FXT_THRESHOLD_NS=%s", cases[i].value);
		ck_assert(fxt_config_read(&config, only));
		ck_assert_uint_eq(config.threshold_ns[FXT_BIT_io], cases[i].io);
		ck_assert_uint_eq(config.threshold_ns[FXT_BIT_function], cases[i].function);
		ck_assert_uint_eq(config.threshold_ns[FXT_BIT_malloc], cases[i].other);
		ck_assert_int_eq(config.has_threshold, cases[i].io || cases[i].function || cases[i].other);
	}
}
END_TEST

/* The C library's fnmatch() knows the same patterns. */
START_TEST(globs_as_fnmatch)
{
	static const char letters[] = "aabbcc**??[[]]!^-";
	unsigned left, length, matched = 0, i;

	for (left = 10 * rounds(); left > 0; left--) {
		char pattern[12] = "", name[8] = "";
		bool got, want;

		length = 1 + below(sizeof(pattern) - 1);
		for (i = 0; i < length; i++)
			pattern[i] = letters[below(sizeof(letters) - 1)];
		length = below(sizeof(name));
		for (i = 0; i < length; i++)
			name[i] = letters[below(below(4) ? 6 : sizeof(letters) - 1)];
		if (!fxt_globs_valid(pattern))
			continue;
		got = fxt_globs_match(pattern, name);
		want = fnmatch(pattern, name, FNM_NOESCAPE) == 0;
		ck_assert_msg(got == want, "'%s' and '%s': %d", pattern, name, got);
		matched += got;
	}
	ck_assert_uint_gt(matched, 100);
}
END_TEST

int main(void)
{
	TCase *values = tcase_create("values");

	tcase_add_checked_fixture(values, setup, NULL);
	tcase_set_timeout(values, 120);
	tcase_add_test(values, any_value);
	tcase_add_test(values, triggers_as_written);
	tcase_add_test(values, categories_as_written);
	tcase_add_test(values, thresholds_as_written);
	tcase_add_test(values, globs_as_fnmatch);
	return RUN_SUITE("config", values);
}
