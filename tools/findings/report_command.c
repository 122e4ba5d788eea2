/* fxt report: the options, and what goes to which file. See report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "finding.h"
#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/export/weighed_stacks.h"
#include "tools/narrow/cut.h"
#include "tools/page/page.h"
#include "tools/printing/print.h"
#include "tools/printing/terminal.h"
#include "tools/programs/debug_dirs.h"
#include "tools/programs/option_values.h"
#include "tools/reading/mapped_trace.h"

struct input {
	struct fxt_report_options options;
	struct fxt_narrow narrow;
	const char *path;
	const char *whole;              /* the path as it was given; `path` may be that of a part */
	struct fxt_stacks_output folded, flame;
	uint64_t rules_off;             /* struct fxt_findings.off */
	const char *html;               /* where a page goes; NULL: nowhere */
	const char *title;              /* the page's; NULL: the trace's name */
	size_t most_slices;             /* on the page */
	const char *explain;            /* a handle; NULL: the whole report is printed */
	bool failed;                    /* a file could not be written */
	bool is_apart; /* processes with one number have been told apart */
};

/* Options that have no letter. */
enum { OPTION_FOLDED = 256, OPTION_FLAME, OPTION_WRAPPERS, OPTION_FINDINGS, OPTION_EXPLAIN,
       OPTION_HTML, OPTION_SLICES };

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static void parse_stacks(struct fxt_stacks_output *to, const char *arg, struct argp_state *state)
{
	char *bad = fxt_stacks_output_parse(to, arg);

	if (bad)
		argp_error(state, "%s", bad);
	free(bad);
}

static void parse_sort(struct input *in, const char *arg, struct argp_state *state)
{
	static const char *const names[] = {
		[FXT_SORT_SELF] = "self", [FXT_SORT_TOTAL] = "total", [FXT_SORT_COUNT] = "count"};

	char *bad = fxt_option_bad_word(arg, names, sizeof(names) / sizeof(*names));

	if (bad)
		argp_error(state, "%s%s", fxt_option_prefix('s'), bad);
	free(bad);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(arg, names[i]) == 0)
			in->options.sort = (enum fxt_sort)i;
	}
}

static void parse_findings(struct input *in, const char *arg, struct argp_state *state)
{
	char *bad = fxt_findings_switch(&in->rules_off, arg);

	if (bad)
		argp_error(state, "--findings: %s", bad);
	free(bad);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *in = state->input;
	struct fxt_stacks_output *stacks;
	char *end;

	switch (key) {
	case 'a': in->options.top = FXT_TOP_ALL; return 0;
	case OPTION_HTML:
		in->html = arg;
		if (!*arg)
			argp_error(state, "no FILE was given to write the page to");
		return 0;
	case OPTION_SLICES:
		in->most_slices = strtoul(arg, &end, 10);
		if (*end || end == arg || *arg == '-' || in->most_slices == 0 || in->most_slices > UINT32_MAX)
			argp_error(state, "--slices: '%s' is no number of slices: give a whole number from "
					  "1 on", arg);
		return 0;
	case 'n':
		in->options.top = strtoul(arg, &end, 10);
		if (*end || end == arg || *arg == '-' || in->options.top == 0 || in->options.top > UINT32_MAX)
			argp_error(state, "--top: '%s' is no number of lines: give a whole number from 1 on",
				   arg);
		return 0;
	case 'c': in->options.categories = arg; return 0;
	case 'j': in->options.json = true; return 0;
	case 'u': in->options.utc = true; return 0;
	case 's': parse_sort(in, arg, state); return 0;
	case OPTION_WRAPPERS: in->options.wrappers = arg; return 0;
	case OPTION_FINDINGS: parse_findings(in, arg, state); return 0;
	case OPTION_EXPLAIN: in->explain = arg; return 0;
	case OPTION_FOLDED:
	case OPTION_FLAME:
		stacks = key == OPTION_FOLDED ? &in->folded : &in->flame;
		parse_stacks(stacks, arg, state);
		return 0;
	case FXT_KEY_DEBUG_DIR: fxt_debug_dirs_add(arg); return 0;
	case ARGP_KEY_END:
		if (is_stdout(in->folded.path) + is_stdout(in->flame.path) + is_stdout(in->html) +
			    in->options.json + (in->explain != NULL) > 1)
			argp_error(state, "standard output can take one of --json, --explain, --html, "
					  "--folded and --flame");
		if (in->html && (in->options.json || in->explain))
			argp_error(state, "--html stands alone: it has what --json and --explain print");
		return 0;
	default:
		return fxt_narrow_parse(&in->narrow, key, arg, state) == 0
			       ? 0
			       : fxt_parse_file(key, arg, state, &in->path);
	}
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Makes the stacks that were asked for. Returns false after a message if there are none. */
static bool make_stacks(const struct input *in, const struct fxt_report *report, enum fxt_weight weight,
			struct fxt_stacks *s)
{
	uint64_t missing;
	const char *lack = fxt_weighed_stacks(report, weight, s, &missing);

	if (missing)
		fxt_error(in->path, "these sums are too low: %s blocks and samples found no place in the "
			  "agent's table or the trace", fxt_count(missing).text);
	if (lack)
		fxt_error(in->path, "%s", lack);
	return !lack;
}

/* Opens a file for what is made of the trace; `-` is standard output. Returns NULL after a message. */
static FILE *open_output(struct input *in, const char *path, const char *what)
{
	FILE *out;

	if (is_stdout(path))
		return stdout;
	if (is_same_file(path, in->path)) {
		fxt_error(path, "this is the trace that is read, and %s would take its place", what);
		in->failed = true;
		return NULL;
	}
	out = fopen(path, "we");
	if (!out) {
		fxt_error(path, "%s", strerror(errno));
		in->failed = true;
	}
	return out;
}

/* What standard output could not take is told at the exit. */
static void close_output(struct input *in, const char *path, FILE *out)
{
	bool ok;

	if (out == stdout)
		return;
	ok = !ferror(out);
	if (fclose(out) == 0 && ok)
		return;
	fxt_error(path, "%s", strerror(errno));
	in->failed = true;
}

/* Returns false if there are no stacks. */
static bool write_stacks(struct input *in, const struct fxt_report *report,
			 const struct fxt_stacks_output *to, bool as_flame)
{
	struct fxt_stacks stacks;
	FILE *out;

	if (!to->path)
		return true;
	if (!make_stacks(in, report, to->weight, &stacks)) {
		in->failed = true;
		return false;
	}
	out = open_output(in, to->path, "stacks");
	if (out && as_flame)
		fxt_stacks_print_flame(&stacks, in->path,
				       to->weight == FXT_WEIGHT_PROCESSOR ? report->processor.hz : 0, out);
	else if (out)
		fxt_stacks_print_folded(&stacks, out);
	fxt_stacks_free(&stacks);
	if (out)
		close_output(in, to->path, out);
	return true;
}

/* Writes what --folded and --flame ask for. Returns whether the report or a page is
 * written besides. */
static bool show_stacks(struct input *in, const struct fxt_report *report)
{
	return write_stacks(in, report, &in->folded, false) && write_stacks(in, report, &in->flame, true) &&
	       (in->html || (!is_stdout(in->folded.path) && !is_stdout(in->flame.path)));
}

static void show(struct fxt_reader *r, void *context);

/* Shows the report of a trace that was made of this one by joining it, so that processes which had one number
 * in turn are told apart. Returns false if this one is to be shown. */
static bool show_apart(struct input *in, const struct fxt_report *report)
{
	char *path;
	int fd;

	if (in->is_apart || !fxt_trace_told_apart || !fxt_unseen_shares_numbers(&report->unseen, report->r))
		return false;
	in->is_apart = true;
	fd = fxt_trace_told_apart(in->path);
	if (fd < 0)
		return false;
	path = fxt_format("/proc/self/fd/%d", fd);
	fxt_trace_show(path, show, in);
	free(path);
	close(fd);
	return true;
}

static void write_page(struct input *in, const struct fxt_report *report, const struct fxt_findings *findings)
{
	FILE *out = open_output(in, in->html, "the page");

	if (!out)
		return;
	fxt_findings_page(findings, report, in->title ? in->title : in->path, in->most_slices, out);
	close_output(in, in->html, out);
}

/* Prints what was asked for of a report. */
static void print(struct input *in, const struct fxt_report *report)
{
	struct fxt_findings findings = {0};
	char *bad;
	FILE *out;

	fxt_findings_make(&findings, report, in->rules_off);
	if (in->explain) {
		out = fxt_terminal_open();
		bad = fxt_findings_explain(&findings, report, in->explain, in->whole, out);
		fxt_terminal_close(out);
		if (bad) {
			fxt_error(in->path, "%s", bad);
			in->failed = true;
		}
		free(bad);
	} else if (in->html) {
		write_page(in, report, &findings);
	} else if (in->options.json) {
		fxt_findings_json_report(&findings, report, stdout);
	} else {
		out = fxt_terminal_open();
		fxt_findings_print_report(&findings, report, out);
		fxt_terminal_close(out);
	}
	fxt_findings_free(&findings);
}

static void show(struct fxt_reader *r, void *context)
{
	struct input *in = context;
	struct fxt_frame_names *source;
	struct fxt_report report;
	char *unmatched;
	struct stat st;

	source = in->options.source = fxt_frame_names_open(stat(in->path, &st) == 0 ? st.st_mtime : 0);
	fxt_report_make(&report, r, &in->options);
	unmatched = fxt_report_unmatched(&report);
	if (unmatched) {
		fxt_error(in->path, "%s", unmatched);
		free(unmatched);
		in->failed = true;
	} else if (!show_apart(in, &report) && show_stacks(in, &report)) {
		print(in, &report);
	}
	fxt_report_free(&report);
	fxt_frame_names_close(source);
}

int fxt_command_report(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"top", 'n', "N", 0, "Lines of each section (default 10)", 0},
		{"all", 'a', NULL, 0, "All lines of each section", 0},
		{"category", 'c', "LIST", 0, "Only events of these categories", 0},
		{"sort", 's', "HOW", 0, "Sort lists by self (the default), total or count", 0},
		{"wrappers", OPTION_WRAPPERS, "GLOB[,GLOB]", 0,
		 "Functions or files that do their callers' work, and are never to blame", 0},
		{"findings", OPTION_FINDINGS, "-RULE[,-RULE]", 0, "Rules that are not to look for faults", 0},
		{"explain", OPTION_EXPLAIN, "HANDLE", 0,
		 "Print all that is known of a finding (F1, F2, ...), or of what a line of a table is "
		 "about", 0},
		{"folded", OPTION_FOLDED, "[WHAT:]FILE", 0,
		 "Write stacks, a line each. WHAT is processor, heap, peak, allocated or waits", 0},
		{"flame", OPTION_FLAME, "[WHAT:]FILE", 0, "Write a flame graph (SVG) of the same", 0},
		{"html", OPTION_HTML, "FILE", 0,
		 "Write a page for a browser, which needs nothing else: findings, timeline, flame graphs", 0},
		{"slices", OPTION_SLICES, "N", 0,
		 "Calls on the page (default 4000000); of more, the shortest are left out", 0},
		FXT_DEBUG_DIR_OPTION,
		{"utc", 'u', NULL, 0, "Times of day as well, in UTC", 0},
		FXT_JSON_OPTION,
		FXT_NARROW_OPTIONS_BUT_CATEGORY,
		{0},
	};
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "FILE",
		.doc = "Where the time, the waiting, the memory and the bytes went, most costly first.",
	};
	struct input in = {.options = {.top = 10, .wrappers = getenv("FXT_WRAPPERS")},
			   .most_slices = FXT_PAGE_SLICES};
	char *part = NULL;
	int status;

	fxt_parse(&argp, argc, argv, 0, &in);
	in.whole = in.path;
	if (fxt_narrow_is_any(&in.narrow))
		in.path = part = fxt_cut_nameless(in.path, &in.narrow);
	fxt_narrow_free(&in.narrow);
	if (!in.path)
		return 1;
	/* What one thing is about is chosen from all that there is. */
	if (in.explain && strchr("Ff", *in.explain) == NULL)
		in.options.top = FXT_TOP_WHOLE;
	fxt_debug_dirs_ask_servers();
	status = fxt_trace_show(in.path, show, &in);
	free(part);
	return in.failed ? 1 : status;
}
