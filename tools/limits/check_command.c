/* fxt check: the command. The rules of the format are examined in tools/check/, and limits in limit.c. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "limit.h"
#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/narrow/cut.h"
#include "tools/programs/debug_dirs.h"
#include "tools/programs/option_values.h"
#include "tools/reading/mapped_trace.h"

struct input {
	struct fxt_check_options options;
	struct fxt_narrow narrow;
	struct fxt_limits limits;
	const char *junit_path;         /* NULL: no such file is written */
	struct fxt_junit junit;
	char **paths;
	size_t count, capacity;
};

/* Options that have no letter. */
enum { OPTION_LIMIT = 256, OPTION_JUNIT, OPTION_RECORDED };

/* Ends the program after a message if there is one. */
static void refuse(struct argp_state *state, int key, char *bad)
{
	if (bad)
		argp_error(state, "%s%s", fxt_option_prefix(key), bad);
	free(bad);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *in = state->input;

	switch (key) {
	case 't': in->options.allow_tail = true; return 0;
	case 'r': in->options.ring = true; return 0;
	case 'c': in->options.copy = true; return 0;
	case 'f': in->options.format = true; return 0;
	case 'j': in->options.json = true; return 0;
	case OPTION_LIMIT: refuse(state, OPTION_LIMIT, fxt_limits_add(&in->limits, arg)); return 0;
	case OPTION_JUNIT:
		in->junit_path = arg;
		if (!*arg)
			argp_error(state, "--junit: no FILE was given to write to");
		return 0;
	case OPTION_RECORDED:
		refuse(state, key, fxt_option_bad_categories(arg));
		in->limits.recorded = arg;
		return 0;
	case FXT_KEY_DEBUG_DIR: fxt_debug_dirs_add(arg); return 0;
	case ARGP_KEY_ARG:
		in->paths = fxt_grow(in->paths, &in->capacity, in->count + 1, sizeof(char *));
		in->paths[in->count++] = arg;
		return 0;
	case ARGP_KEY_NO_ARGS: argp_error(state, "no FILE was given: name one trace or more"); return EINVAL;
	default: return fxt_narrow_parse(&in->narrow, key, arg, state);
	}
}

static void put_limits(const void *context, struct fxt_json *j)
{
	fxt_limits_json(context, j);
}

/* Says what was found in the trace of `path`. */
static void say(struct input *in, const char *path, const struct fxt_check *c,
		const struct fxt_limit_results *results)
{
	if (in->options.json) {
		fxt_check_json(c, path, in->limits.count ? put_limits : NULL, results, stdout);
		return;
	}
	fxt_check_print(c, path, stdout);
	fxt_limits_print(results, stdout);
}

/* Checks the trace that is in the file `part`, which is that of `path` or a part of it, or NULL. Returns the
 * exit status. */
static int check_file(struct input *in, const char *path, const char *part)
{
	struct fxt_limit_results results = {0};
	struct fxt_trace_file file;
	struct fxt_reader r;
	struct fxt_check c;
	bool is_good;

	if (!part || !fxt_trace_open(&file, part)) {
		if (in->junit_path)
			fxt_junit_suite(&in->junit, path, NULL, &results);
		return 1;
	}
	fxt_reader_init(&r, file.data, file.size);
	fxt_check(&c, &r, &in->options);
	is_good = c.violation_count == 0;
	if (in->limits.count) {
		fxt_limits_examine(&in->limits, part, &results);
		is_good &= fxt_limits_all_met(&results);
	}
	say(in, path, &c, &results);
	if (in->junit_path)
		fxt_junit_suite(&in->junit, path, &c, &results);
	fxt_limit_results_free(&results);
	fxt_check_free(&c);
	fxt_reader_free(&r);
	fxt_trace_close(&file);
	return is_good ? 0 : 1;
}

int fxt_command_check(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"limit", OPTION_LIMIT, "EXPR", 0,
		 "What the trace has to keep to, as 'heap.peak<24MB', 'leaks=0' or 'p99(read)<1ms'; may be "
		 "given several times", 0},
		{"junit", OPTION_JUNIT, "FILE", 0, "Write what was found in the form of JUnit as well", 0},
		{"recorded", OPTION_RECORDED, "LIST", 0,
		 "Categories that were recorded: without an event of one, there was no such call", 0},
		{"allow-tail", 't', 0, 0, "A torn last record (a killed writer) is noted, not a violation",
		 0},
		{"ring", 'r', 0, 0, "Async and flow ends whose begin a ring overwrote are noted", 0},
		{"copy", 'c', 0, 0,
		 "The file was copied while the program ran: a call may be in it both as still "
		 "open and as complete",
		 0},
		{"format", 'f', 0, 0,
		 "What the format allows and some viewer draws wrongly is noted, not a violation: for traces "
		 "of other writers",
		 0},
		FXT_DEBUG_DIR_OPTION,
		FXT_JSON_OPTION,
		FXT_NARROW_OPTIONS,
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE...",
		.doc = "Whether traces are what the format and the viewers of it require, and whether they "
		       "keep to limits. The exit status is 1 when anything is violated, or a limit is not "
		       "sure to be met.",
	};
	struct input in = {0};
	int status = 0;

	fxt_parse(&argp, argc, argv, 0, &in);
	if (in.junit_path)
		fxt_junit_begin(&in.junit);
	if (in.limits.count)
		fxt_debug_dirs_ask_servers();
	for (size_t i = 0; i < in.count; i++) {
		char *part = fxt_narrow_is_any(&in.narrow) ? fxt_cut_nameless(in.paths[i], &in.narrow)
							   : fxt_strdup(in.paths[i]);

		status |= check_file(&in, in.paths[i], part);
		free(part);
	}
	if (in.junit_path && !fxt_junit_end(&in.junit, in.junit_path))
		status = 1;
	fxt_limits_free(&in.limits);
	fxt_narrow_free(&in.narrow);
	free(in.paths);
	return status;
}
