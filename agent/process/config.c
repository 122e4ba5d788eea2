/* See config.h. This file owns the defaults and the messages about variables that are not accepted. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "agent/base/category_list.h"
#include "agent/base/log.h"
#include "agent/names/caller_list.h"
#include "agent/names/function_filter.h"
#include "follow.h"
#include "stack_config.h"

/* The categories as messages list them. */
#define CATEGORY_LIST \
	"malloc, pthread, io, net, time, process, dl, log, function, plt, counter, sched, agent, " \
	"PREFIX*, #default, and -NAME to leave one out"

/* The end of each message: a mistake in any variable ends tracing. */
#define UNTRACED "; the program runs untraced"

static const char *value_of(char **environment, const char *name)
{
	size_t length = strlen(name);

	for (; *environment; environment++)
		if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

/* -- FXT_CATEGORIES ---------------------------------------------------------------------------- */

static bool has_unknown_category;

static void refuse_category(const char *name, size_t bytes)
{
	/* A longer name would leave no room in the line for the explanation. */
	fxt_log("FXT_CATEGORIES: no category matches '%.*s'; there are: " CATEGORY_LIST UNTRACED,
		bytes < 63 ? (int)bytes : 63, name);
	has_unknown_category = true;
}

static bool read_categories(struct fxt_config *config, const char *text)
{
	has_unknown_category = false;
	config->categories = fxt_category_list(text ? text : "", refuse_category);
	return !has_unknown_category;
}

/* -- Numbers and words ------------------------------------------------------------------------- */

/* Reads a whole number from `least` to `most`. *out stays as it is if the variable is not set. Returns false
 * if the value is not accepted. */
static bool read_number(const char *name, const char *text, const char *unit, uint64_t least, uint64_t most,
			uint64_t *out)
{
	uint64_t value = 0;
	const char *p = text;

	if (!text || !*text)
		return true;
	for (; *p >= '0' && *p <= '9' && value <= most; p++)
		value = value * 10 + (uint64_t)(*p - '0');
	if (*p || value < least || value > most) {
		fxt_log("%s: '%s' is not accepted; give a whole number of %s from %lu to %lu" UNTRACED, name,
			text, unit, (unsigned long)least, (unsigned long)most);
		return false;
	}
	*out = value;
	return true;
}

/* Finds the place of `text` among `words`; *out is `preset` if the variable is not set. Returns false if it
 * is none of the words. */
static bool read_word(const char *name, const char *text, const char *const *words, int count,
		      const char *accepted, int preset, int *out)
{
	int i;

	*out = preset;
	if (!text || !*text)
		return true;
	for (i = 0; i < count; i++) {
		if (!strcmp(text, words[i])) {
			*out = i;
			return true;
		}
	}
	fxt_log("%s: '%s' is not accepted; give %s" UNTRACED, name, text, accepted);
	return false;
}

/* -- FXT_THRESHOLD_NS -------------------------------------------------------------------------- */

enum { THRESHOLD_MOST_S = 3600 };

static void note_unknown(const char *name, size_t bytes)
{
	(void)name;
	(void)bytes;
	has_unknown_category = true;
}

/* Returns the category of the name between `at` and `end` as a set, or 0 if there is none. */
static uint32_t category_named(const char *at, const char *end)
{
	char name[32];
	size_t bytes = (size_t)(end - at), i;
	uint32_t set;

	for (i = 0; i < bytes; i++)
		if (at[i] < 'a' || at[i] > 'z')
			return 0;
	if (!bytes || bytes >= sizeof(name))
		return 0;
	memcpy(name, at, bytes);
	name[bytes] = '\0';
	has_unknown_category = false;
	set = fxt_category_list(name, note_unknown);
	return has_unknown_category ? 0 : set;
}

/* Reads one element, NUMBER or CATEGORY=NUMBER. Returns false if it is not accepted. */
static bool read_threshold(struct fxt_config *config, const char *at, const char *end)
{
	const uint64_t most = (uint64_t)THRESHOLD_MOST_S * 1000 * 1000 * 1000;
	const char *is = memchr(at, '=', (size_t)(end - at)), *p = is ? is + 1 : at;
	uint32_t set = is ? category_named(at, is) : UINT32_MAX;
	uint64_t value = 0;
	unsigned i;

	if (p == end)
		return false;
	for (; p < end && *p >= '0' && *p <= '9' && value <= most; p++)
		value = value * 10 + (uint64_t)(*p - '0');
	for (i = 0; i < FXT_CATEGORY_COUNT; i++)
		if (set & 1u << i)
			config->threshold_ns[i] = value;
	return set && p == end && value <= most;
}

/* Reads FXT_THRESHOLD_NS: a number for all categories, and numbers for some. What comes later counts. */
static bool read_thresholds(struct fxt_config *config, const char *text)
{
	const char *at, *end;
	unsigned i;

	for (at = text; text && *text; at = end + 1) {
		end = at + strcspn(at, ",");
		if (!read_threshold(config, at, end)) {
			fxt_log("FXT_THRESHOLD_NS: '%s' is not accepted; give a whole number of nanoseconds "
				"from 0 to 3600000000000, or one for each of some categories: "
				"1000,function=500,io=0" UNTRACED, text);
			return false;
		}
		if (!*end)
			break;
	}
	for (i = 0; i < FXT_CATEGORY_COUNT; i++)
		config->has_threshold |= config->threshold_ns[i] > 0;
	return true;
}

/* -- FXT_FILTER and FXT_DEPTH, FXT_PATCH and FXT_PLT --------------------------------------------- */

/* Reads a list of rules. `example` is one more that is accepted. */
static bool read_rules(struct fxt_function_filter *rules, const char *name, const char *text,
		       const char *example)
{
	size_t bytes;
	const char *bad = fxt_filter_read(rules, text ? text : "", &bytes);

	if (bad && bytes >= FXT_FILTER_BYTES)
		fxt_log("%s: the list is longer than %d bytes" UNTRACED, name, FXT_FILTER_BYTES - 1);
	else if (bad)
		fxt_log("%s: '%.*s' is not accepted; give names of functions with * ? [...]: work, "
			"!log_* (not these), work@lib.so*, @lib.so*%s" UNTRACED, name,
			bytes < 63 ? (int)bytes : 63, bad, example);
	return !bad;
}

/* Reads a list of rules of which none is about what a function calls. */
static bool read_plain_rules(struct fxt_function_filter *rules, const char *name, const char *text)
{
	if (!read_rules(rules, name, text, ""))
		return false;
	if (rules->has_trees)
		fxt_log("%s: '%s' is not accepted; a slash, for all that a function calls, is for FXT_FILTER"
			UNTRACED, name, text);
	return !rules->has_trees;
}

static bool read_filter(struct fxt_config *config, const char *text, const char *depth)
{
	uint64_t levels = 0;
	bool valid = read_rules(&fxt_function_filter, "FXT_FILTER", text, ", main/ (with all that it calls)");

	valid &= read_number("FXT_DEPTH", depth, "levels", 1, FXT_FUNCTION_DEPTH, &levels);
	config->function_depth = (uint32_t)levels;
	config->filters_functions = fxt_function_filter.is_set || levels;
	return valid;
}

/* -- FXT_CALLERS ------------------------------------------------------------------------------- */

static bool read_callers(struct fxt_config *config, const char *text)
{
	if (!text || !*text)
		return true;
	config->filters_callers = fxt_caller_list_read(text);
	if (!config->filters_callers)
		fxt_log("FXT_CALLERS: '%s' is not accepted; give main (the program itself), and names of "
			"files with * ? [...], such as libfoo.so*, separated by commas" UNTRACED, text);
	return config->filters_callers;
}

/* -- FXT_SIGNAL -------------------------------------------------------------------------------- */

/* Returns a number of one or two digits with nothing behind them, or -1. */
static int short_number(const char *text)
{
	int number = 0, i;

	for (i = 0; i < 2 && text[i] >= '0' && text[i] <= '9'; i++)
		number = number * 10 + (text[i] - '0');
	return i && !text[i] ? number : -1;
}

/* Returns the number of a signal, which is given as for kill(1): 12, USR2, SIGUSR2, RTMIN, RTMIN+3, RTMAX-1.
 * Returns 0 if there is no such signal. */
static int signal_number(const char *name)
{
	int i;

	if (short_number(name) >= 0)
		return short_number(name);
	if (!strncmp(name, "SIG", 3))
		name += 3;
	if (!strcmp(name, "RTMIN"))
		return SIGRTMIN;
	if (!strcmp(name, "RTMAX"))
		return SIGRTMAX;
	if (!strncmp(name, "RTMIN+", 6) && short_number(name + 6) >= 0)
		return SIGRTMIN + short_number(name + 6);
	if (!strncmp(name, "RTMAX-", 6) && short_number(name + 6) >= 0)
		return SIGRTMAX - short_number(name + 6);
	for (i = 1; i < SIGRTMIN; i++)
		if (sigabbrev_np(i) && !strcmp(sigabbrev_np(i), name))
			return i;
	return 0;
}

/* Reads FXT_SIGNAL. `needed` says whether there is a signal if the variable is not set. */
static bool read_signal(struct fxt_config *config, const char *text, bool needed)
{
	int number;

	config->signal = needed ? SIGUSR2 : 0;
	if (!text || !*text)
		return true;
	config->signal = 0;
	if (!strcmp(text, "none"))
		return true;
	number = signal_number(text);
	if (number < 1 || number > SIGRTMAX || (number >= 32 && number < SIGRTMIN) || number == SIGKILL ||
	    number == SIGSTOP) {
		fxt_log("FXT_SIGNAL: '%s' is not accepted; give a signal that can be caught, "
			"such as SIGUSR2 or 12, or none" UNTRACED,
			text);
		return false;
	}
	config->signal = number;
	return true;
}

/* -- FXT_OUTPUT -------------------------------------------------------------------------------- */

/* Reads FXT_OUTPUT, and makes an absolute path of it. */
static bool read_output(struct fxt_config *config, const char *text)
{
	char *out = config->output;
	size_t used = 0, length;
	const char *p;
	int error;

	if (!text || !*text)
		text = "%e.%p.fxt";
	for (p = text; *p; p++) {
		if (*p == '%' && !strchr("epht%", p[1] ? p[1] : '?')) {
			fxt_log("FXT_OUTPUT: '%s' is not accepted; behind %% there may be "
				"e (program), p (pid), h (host), t (start time) or %%" UNTRACED,
				text);
			return false;
		}
		if (*p == '%')
			p++;
	}
	if (*text != '/') {
		error = fxt_sys_getcwd(out, FXT_PATH_BYTES);
		if (error < 0 || *out != '/') {
			fxt_log("FXT_OUTPUT: the current directory has no path: %s" UNTRACED,
				fxt_error_name(error));
			return false;
		}
		used = strlen(out);
		if (used > 1 && used < FXT_PATH_BYTES - 1)
			out[used++] = '/';
	}
	length = strlen(text);
	if (used + length + 1 > FXT_PATH_BYTES) {
		fxt_log("FXT_OUTPUT: the path is longer than %d bytes" UNTRACED, FXT_PATH_BYTES - 1);
		return false;
	}
	memcpy(out + used, text, length + 1);
	/* The name of the current directory, in front of the pattern, is not expanded. */
	config->output_fixed = used;
	return true;
}

/* -- FXT_MANAGER ------------------------------------------------------------------------------- */

static bool read_manager(struct fxt_config *config, const char *text)
{
	const char *path = text && *text == '-' ? text + 1 : text;

	if (!text || !*text)
		return true;
	if (*path != '/' || strlen(path) >= sizeof(config->manager)) {
		fxt_log("FXT_MANAGER: '%s' is not accepted; give the absolute path of the socket of fxt "
			"serve, of at most %d bytes, with '-' before it if there may be none" UNTRACED,
			text, (int)sizeof(config->manager) - 1);
		return false;
	}
	config->may_lack_manager = path != text;
	memcpy(config->manager, path, strlen(path) + 1);
	return true;
}

/* Checks variables that are right by themselves but do not go together. */
static bool check_together(const struct fxt_config *config)
{
	unsigned i;

	/* With a manager a trigger raises an alert, and the manager says what the mode is. */
	for (i = 0; config->mode == FXT_STREAMING && !config->manager[0] && i < config->triggers.count; i++) {
		if (!config->triggers.list[i].stops) {
			fxt_log("FXT_TRIGGER: a snapshot needs FXT_BUFFERING_MODE=circular or oneshot; "
				"a streaming trace is whole at any time" UNTRACED);
			return false;
		}
	}
	if (config->dormant && !config->signal) {
		fxt_log("FXT_START=0 needs a signal to begin by: FXT_SIGNAL may not be none" UNTRACED);
		return false;
	}
	return true;
}

bool fxt_config_read(struct fxt_config *config, char **environment)
{
	static const char *const modes[] = {[FXT_ONESHOT] = "oneshot", [FXT_CIRCULAR] = "circular",
					    [FXT_STREAMING] = "streaming"};
	static const char *const ways[] = {"drop", "wait"}, *const starts[] = {"0", "1"};
	static const char *const storages[] = {"file", "memory"};
	const char *quiet = value_of(environment, "FXT_QUIET");
	const char *budget = value_of(environment, "FXT_BUDGET");
	uint64_t buffer_mb = 64, max_mb = 1024;
	bool valid = true;
	int mode, way, start, storage;

	config->quiet = quiet && *quiet && strcmp(quiet, "0");
	fxt_log_quiet(config->quiet);
	config->trigger_keep = 4;
	valid &= read_categories(config, value_of(environment, "FXT_CATEGORIES"));
	valid &= read_word("FXT_BUFFERING_MODE", value_of(environment, "FXT_BUFFERING_MODE"), modes, 3,
			   "oneshot, circular or streaming", FXT_STREAMING, &mode);
	config->mode = (enum fxt_mode)mode;
	valid &= read_word("FXT_ON_FULL", value_of(environment, "FXT_ON_FULL"), ways, 2, "drop or wait", 0,
			   &way);
	config->wait_on_full = way == 1;
	valid &= read_word("FXT_STORAGE", value_of(environment, "FXT_STORAGE"), storages, 2, "file or memory",
			   0, &storage);
	config->in_memory = storage == 1;
	valid &= read_number("FXT_BUFFER_SIZE_MB", value_of(environment, "FXT_BUFFER_SIZE_MB"), "MiB", 1,
			     16384, &buffer_mb);
	valid &= read_number("FXT_MAX_SIZE_MB", value_of(environment, "FXT_MAX_SIZE_MB"), "MiB", 1, 1048576,
			     &max_mb);
	valid &= read_thresholds(config, value_of(environment, "FXT_THRESHOLD_NS"));
	valid &= read_callers(config, value_of(environment, "FXT_CALLERS"));
	valid &= read_filter(config, value_of(environment, "FXT_FILTER"), value_of(environment, "FXT_DEPTH"));
	valid &= read_plain_rules(&fxt_patch_rules, "FXT_PATCH", value_of(environment, "FXT_PATCH"));
	valid &= read_plain_rules(&fxt_plt_rules, "FXT_PLT", value_of(environment, "FXT_PLT"));
	config->explain_ns = 100 * 1000;
	valid &= read_number("FXT_EXPLAIN_NS", value_of(environment, "FXT_EXPLAIN_NS"), "nanoseconds", 0,
			     UINT64_C(3600000000000), &config->explain_ns);
	config->heap_track_bytes = 65536;
	valid &= read_number("FXT_HEAP_TRACK_BYTES", value_of(environment, "FXT_HEAP_TRACK_BYTES"), "bytes",
			     0, UINT64_C(1) << 47, &config->heap_track_bytes);
	config->heap_sample_bytes = 65536;
	valid &= read_number("FXT_HEAP_SAMPLE_BYTES", value_of(environment, "FXT_HEAP_SAMPLE_BYTES"),
			     "bytes", 0, UINT64_C(1) << 40, &config->heap_sample_bytes);
	valid &= fxt_stack_config_read(config, value_of(environment, "FXT_STACKS"));
	/* Where no block has a stack, or each call has one, samples would say nothing more. */
	if (!config->stacks || !config->stack_ns[FXT_BIT_malloc])
		config->heap_sample_bytes = 0;
	valid &= read_word("FXT_START", value_of(environment, "FXT_START"), starts, 2,
			   "0 (the signal starts) or 1", 1, &start);
	config->dormant = !start;
	valid &= fxt_triggers_read(&config->triggers, value_of(environment, "FXT_TRIGGER"));
	valid &= read_number("FXT_TRIGGER_KEEP", value_of(environment, "FXT_TRIGGER_KEEP"), "snapshots", 1,
			     FXT_TRIGGER_KEEP_MAX, &config->trigger_keep);
	valid &= read_signal(config, value_of(environment, "FXT_SIGNAL"),
			     config->mode != FXT_STREAMING || config->dormant);
	valid &= fxt_follow_read(environment);
	config->buffer_bytes = buffer_mb << 20;
	config->max_bytes = max_mb << 20;
	valid &= read_manager(config, value_of(environment, "FXT_MANAGER"));
	valid &= check_together(config);
	if (budget && *budget && !config->manager[0])
		fxt_log("FXT_BUDGET is kept by fxt record and fxt serve; without them all is recorded");
	/* FXT_OUTPUT is read even if another variable is wrong, so that one run shows all mistakes. */
	valid &= read_output(config, value_of(environment, "FXT_OUTPUT"));
	return valid;
}
