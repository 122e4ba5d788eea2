/* fxt report: the options, and what goes to which file. See report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report.h"
#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/programs/debug_dirs.h"
#include "tools/reading/mapped_trace.h"
#include "tools/stacks/stacks.h"

struct input {
	struct fxt_report_options options;
	const char *path;
	/* where stacks go, `-` for standard output; NULL: nowhere */
	const char *folded, *flame;
	bool failed;                    /* a file could not be written */
};

/* Options that have no letter. */
enum { OPTION_FOLDED = 256, OPTION_FLAME };

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *in = state->input;
	char *end;

	switch (key) {
	case 'a': in->options.top = FXT_TOP_ALL; return 0;
	case 'n':
		in->options.top = strtoul(arg, &end, 10);
		if (*end || end == arg || *arg == '-' || in->options.top == 0 || in->options.top > UINT32_MAX)
			argp_error(state, "'%s' is no number of lines: give a whole number from 1 on", arg);
		return 0;
	case 'c': in->options.categories = arg; return 0;
	case 'j': in->options.json = true; return 0;
	case 's':
		in->options.by_total = strcmp(arg, "total") == 0;
		if (!in->options.by_total && strcmp(arg, "self") != 0)
			argp_error(state, "functions are sorted by 'self' or 'total', and not by '%s'", arg);
		return 0;
	case OPTION_FOLDED:
	case OPTION_FLAME:
		if (!*arg)
			argp_error(state, "no FILE was given to write stacks to");
		*(key == OPTION_FOLDED ? &in->folded : &in->flame) = arg;
		return 0;
	case FXT_KEY_DEBUG_DIR: fxt_debug_dirs_add(arg); return 0;
	case ARGP_KEY_END:
		if (is_stdout(in->folded) + is_stdout(in->flame) + in->options.json > 1)
			argp_error(state, "standard output can take one of --json, --folded and --flame");
		return 0;
	default: return fxt_parse_file(key, arg, state, &in->path);
	}
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void write_stacks(struct input *in, const struct fxt_report *report, const struct fxt_stacks *s,
			 const char *path, bool as_flame)
{
	FILE *out;
	bool ok;

	if (!path)
		return;
	if (is_same_file(path, in->path)) {
		fxt_error(path, "this is the trace that is read, and stacks would take its place");
		in->failed = true;
		return;
	}
	out = is_stdout(path) ? stdout : fopen(path, "we");
	if (out && as_flame)
		fxt_stacks_print_flame(s, in->path, report->processor.hz, out);
	else if (out)
		fxt_stacks_print_folded(s, out);
	/* What standard output could not take is told at the exit. */
	if (out == stdout)
		return;
	ok = out && !ferror(out);
	if (!(out && fclose(out) == 0 && ok)) {
		fxt_error(path, "%s", strerror(errno));
		in->failed = true;
	}
}

/* Writes what --folded and --flame ask for. Returns whether the report goes to standard output besides. */
static bool show_stacks(struct input *in, const struct fxt_report *report)
{
	struct fxt_stacks stacks;

	if (!in->folded && !in->flame)
		return true;
	if (!report->processor.tree.samples) {
		fxt_error(in->path, "it has no samples, so there are no stacks");
		in->failed = true;
		return false;
	}
	fxt_stacks_make(&stacks, &report->processor, report->r);
	write_stacks(in, report, &stacks, in->folded, false);
	write_stacks(in, report, &stacks, in->flame, true);
	fxt_stacks_free(&stacks);
	return !is_stdout(in->folded) && !is_stdout(in->flame);
}

static void show(struct fxt_reader *r, void *context)
{
	struct input *in = context;
	struct fxt_report report;
	struct stat st;

	in->options.source = fxt_frame_names_open(stat(in->path, &st) == 0 ? st.st_mtime : 0);
	fxt_report_make(&report, r, &in->options);
	if (!show_stacks(in, &report))
		;
	else if (in->options.json)
		fxt_report_json(&report, stdout);
	else
		fxt_report_print(&report, stdout);
	fxt_report_free(&report);
	fxt_frame_names_close(in->options.source);
}

int fxt_command_report(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"top", 'n', "N", 0, "Lines of each section (default 10)", 0},
		{"all", 'a', NULL, 0, "All lines of each section", 0},
		{"category", 'c', "LIST", 0, "Only events of these categories", 0},
		{"sort", 's', "HOW", 0, "Functions by their own processor time (self) or by total", 0},
		{"folded", OPTION_FOLDED, "FILE", 0, "Write the stacks of all samples, a line each", 0},
		{"flame", OPTION_FLAME, "FILE", 0, "Write a flame graph of all samples (SVG)", 0},
		FXT_DEBUG_DIR_OPTION,
		FXT_JSON_OPTION,
		{0},
	};
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "FILE",
		.doc = "Where the time, the waiting, the memory and the bytes went, most costly first.",
	};
	struct input in = {.options.top = 10};
	int status;

	fxt_parse(&argp, argc, argv, 0, &in);
	fxt_debug_dirs_ask_servers();
	status = fxt_trace_show(in.path, show, &in);
	return in.failed ? 1 : status;
}
