/* fxt diff: the command. See diff.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/narrow/cut.h"
#include "tools/printing/print.h"
#include "tools/programs/debug_dirs.h"

struct input {
	struct fxt_narrow narrow;
	struct fxt_diff diff;
	struct fxt_diff_folded folded;
	size_t capacity, separators, top;
	bool json;
};

/* Options that have no letter. */
enum { OPTION_PER = 256, OPTION_FOLDED };

static void take_argument(struct input *in, const char *arg)
{
	struct fxt_diff *d = &in->diff;

	if (strcmp(arg, "vs") == 0) {
		in->separators++;
		d->a_count = d->run_count;
		return;
	}
	d->runs = fxt_grow(d->runs, &in->capacity, d->run_count + 1, sizeof(*d->runs));
	d->runs[d->run_count++] = (struct fxt_diff_run){.path = arg};
}

static void end_arguments(struct input *in, struct argp_state *state)
{
	struct fxt_diff *d = &in->diff;

	if (!in->separators && d->run_count == 2)
		d->a_count = 1;
	else if (in->separators != 1 || !d->a_count || d->a_count == d->run_count)
		argp_error(state, "give two traces, or the runs of one side, vs, and those of the other");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *in = state->input;
	char *end, *bad;

	switch (key) {
	case 'a': in->top = FXT_TOP_ALL; return 0;
	case 'n':
		in->top = strtoul(arg, &end, 10);
		if (*end || end == arg || *arg == '-' || in->top == 0 || in->top > UINT32_MAX)
			argp_error(state, "--top: '%s' is no number of lines: give a whole number from 1 on",
				   arg);
		return 0;
	case 'j': in->json = true; return 0;
	case OPTION_PER: in->diff.per = arg; return 0;
	case OPTION_FOLDED:
		bad = fxt_stacks_output_parse(&in->folded.to, arg);
		if (bad)
			argp_error(state, "%s", bad);
		free(bad);
		return 0;
	case FXT_KEY_DEBUG_DIR: fxt_debug_dirs_add(arg); return 0;
	case ARGP_KEY_ARG: take_argument(in, arg); return 0;
	case ARGP_KEY_END:
		if (in->json && in->folded.to.path && strcmp(in->folded.to.path, "-") == 0)
			argp_error(state, "standard output can take one of --json and --folded");
		end_arguments(in, state);
		return fxt_narrow_parse(&in->narrow, key, arg, state);
	default: return fxt_narrow_parse(&in->narrow, key, arg, state);
	}
}

struct taking {
	struct input *in;
	size_t run;
};

static void take(const struct fxt_findings *f, const struct fxt_report *report, void *context)
{
	struct taking *t = context;

	fxt_diff_take(&t->in->diff, t->run, f, report);
	fxt_diff_folded_take(&t->in->folded, &t->in->diff, t->run, report);
}

/* Reads all runs. Returns false after a message. */
static bool read_runs(struct input *in)
{
	const struct fxt_report_options options = {.top = 1, .wrappers = getenv("FXT_WRAPPERS")};

	for (size_t i = 0; i < in->diff.run_count; i++) {
		struct taking t = {in, i};
		const char *path = in->diff.runs[i].path;
		char *part = fxt_narrow_is_any(&in->narrow) ? fxt_cut_nameless(path, &in->narrow)
							    : fxt_strdup(path);
		bool is_read = part && fxt_findings_of_trace(part, &options, take, &t);

		free(part);
		if (!is_read)
			return false;
	}
	return true;
}

int fxt_command_diff(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"top", 'n', "N", 0, "Things that are shown of those that changed (default 10)", 0},
		{"all", 'a', NULL, 0, "Show all of them", 0},
		{"per", OPTION_PER, "CALL", 0,
		 "Divide all figures by the number of these calls, where runs do more or less work", 0},
		{"folded", OPTION_FOLDED, "[WHAT:]FILE", 0,
		 "Write the stacks of both sides, a line each. WHAT is processor, heap, peak, allocated or "
		 "waits", 0},
		FXT_DEBUG_DIR_OPTION,
		FXT_JSON_OPTION,
		FXT_NARROW_OPTIONS,
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "A B\nA... vs B...",
		.doc = "What differs between two runs, or between several runs of two versions, most costly "
		       "first; and whether that is more than the runs' own noise.",
	};
	struct input in = {.top = 10};
	char *bad = NULL;
	int status = 1;

	fxt_parse(&argp, argc, argv, 0, &in);
	fxt_debug_dirs_ask_servers();
	if (read_runs(&in)) {
		bad = fxt_diff_compare(&in.diff);
		status = bad || (in.folded.to.path && !fxt_diff_folded_write(&in.folded));
		if (bad)
			fxt_error(NULL, "%s", bad);
		else if (in.json)
			fxt_diff_json(&in.diff, stdout);
		else if (!in.folded.to.path || strcmp(in.folded.to.path, "-") != 0)
			fxt_diff_print(&in.diff, in.top, stdout);
	}
	free(bad);
	fxt_diff_folded_free(&in.folded);
	fxt_diff_free(&in.diff);
	fxt_narrow_free(&in.narrow);
	return status;
}
