/* This is the fuzz target of the reader and of all that fxt does with a trace's bytes. `make fuzz` builds it
 * with clang's libFuzzer; CONTRIBUTING.md says how to run it.
 *
 * The first eight bytes are always replaced by the magic number, because no other code is reached without it.
 * The functions called are those of fxt's commands, which print to /dev/null here.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/categories.h"
#include "tools/check/check.h"
#include "tools/diff/diff.h"
#include "tools/dump/dump.h"
#include "tools/figures/figures.h"
#include "tools/findings/finding.h"
#include "tools/join/merge.h"
#include "tools/narrow/cut.h"
#include "tools/stacks/stacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static FILE *nowhere(void)
{
	static FILE *f;

	if (!f)
		f = fopen("/dev/null", "w");
	return f;
}

static void dump(const uint8_t *data, size_t size, struct fxt_dump_options options)
{
	struct fxt_reader r;

	fxt_reader_init(&r, data, size);
	free(fxt_dump(&r, &options, nowhere()));
	fxt_reader_free(&r);
}

static void check(const uint8_t *data, size_t size, struct fxt_check_options options)
{
	struct fxt_reader r;
	struct fxt_check c;

	fxt_reader_init(&r, data, size);
	fxt_check(&c, &r, &options);
	fxt_check_print(&c, "fuzz", nowhere());
	fxt_check_json(&c, "fuzz", NULL, NULL, nowhere());
	fxt_check_free(&c);
	fxt_reader_free(&r);
}

/* Finds all figures that limits may be about: of any call, by any function. */
static void figures(const struct fxt_report *p, const struct fxt_findings *findings)
{
	const struct fxt_known known = {.report = p, .findings = findings};

	for (const struct fxt_quantity *q = fxt_quantities; q->name; q++) {
		struct fxt_asked asked = {.quantity = q, .of = q->needs_of ? (char[]){"*"} : NULL};
		struct fxt_figure x;

		fxt_figure_find(&x, &asked, &known);
		fxt_figure_free(&x);
		if (!q->has_by)
			continue;
		asked.how = FXT_BY_ANY_CALLER;
		asked.by = (char[]){"*"};
		fxt_figure_find(&x, &asked, &known);
		fxt_figure_free(&x);
	}
}

/* Compares a run with itself. */
static void diff(const struct fxt_report *p, const struct fxt_findings *findings)
{
	struct fxt_diff d = {.run_count = 2, .a_count = 1, .runs = calloc(2, sizeof(*d.runs))};

	if (!d.runs)
		return;
	d.runs[0].path = d.runs[1].path = "fuzz";
	fxt_diff_take(&d, 0, findings, p);
	fxt_diff_take(&d, 1, findings, p);
	free(fxt_diff_compare(&d));
	if (d.changed)
		abort();
	fxt_diff_print(&d, 10, nowhere());
	fxt_diff_json(&d, nowhere());
	fxt_diff_free(&d);
}

static void report(const uint8_t *data, size_t size, struct fxt_report_options options)
{
	struct fxt_reader r;
	struct fxt_report p;
	struct fxt_findings findings;
	struct fxt_stacks stacks;

	fxt_reader_init(&r, data, size);
	fxt_report_make(&p, &r, &options);
	fxt_findings_make(&findings, &p, 0);
	fxt_findings_print_report(&findings, &p, nowhere());
	fxt_findings_json_report(&findings, &p, nowhere());
	free(fxt_findings_explain(&findings, &p, "F1", "fuzz", nowhere()));
	fxt_findings_page(&findings, &p, "fuzz", 1000, nowhere());
	figures(&p, &findings);
	diff(&p, &findings);
	fxt_findings_free(&findings);
	fxt_stacks_make(&stacks, &p.processor, &r);
	fxt_stacks_print_folded(&stacks, nowhere());
	fxt_stacks_print_flame(&stacks, "fuzz", p.processor.hz, nowhere());
	fxt_stacks_free(&stacks);
	fxt_report_free(&p);
	fxt_reader_free(&r);
}

/* Joins the trace with itself: the second time, its ids are taken. */
static void merge(const uint8_t *data, size_t size)
{
	struct fxt_merge m = {0};

	fxt_merge_begin(&m, nowhere());
	for (int i = 0; i < 2; i++) {
		struct fxt_reader r;

		fxt_reader_init(&r, data, size);
		fxt_merge_trace(&m, &r);
		fxt_reader_free(&r);
	}
	fxt_merge_end(&m);
	fxt_merge_free(&m);
}

/* Cuts out the events after the first nanosecond that have a category or an object. */
static void cut(const uint8_t *data, size_t size)
{
	const struct fxt_trace_file file = {.path = "fuzz", .data = data, .size = size};
	struct fxt_pattern any[2] = {{.text = (char[]){"*"}}, {.text = (char[]){"mutex?*"}}};
	struct fxt_narrow narrow = {.from_ns = 1, .has_from = true, .to_ns = UINT64_MAX / 2, .has_to = true};

	narrow.by[FXT_BY_CATEGORY] = (struct fxt_patterns){.list = &any[0], .count = 1, .capacity = 1};
	free(fxt_cut(&file, &narrow, nowhere()));
	narrow.by[FXT_BY_OBJECT] = (struct fxt_patterns){.list = &any[1], .count = 1, .capacity = 1};
	free(fxt_cut(&file, &narrow, nowhere()));
}

static void categories(const uint8_t *data, size_t size)
{
	struct fxt_reader r;

	fxt_reader_init(&r, data, size);
	fxt_categories_of(&r, true, nowhere());
	fxt_reader_free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t magic[8] = {0x10, 0x00, 0x04, 0x46, 0x78, 0x54, 0x16, 0x00};
	/* The copy has exactly the size of the data, so that the sanitizer sees every byte read past it. */
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (size >= sizeof(magic))
		memcpy(copy, magic, sizeof(magic));
	dump(copy, size, (struct fxt_dump_options){.all = true});
	dump(copy, size, (struct fxt_dump_options){.json = true});
	check(copy, size, (struct fxt_check_options){0});
	check(copy, size, (struct fxt_check_options){.allow_tail = true, .ring = true, .copy = true});
	report(copy, size, (struct fxt_report_options){.top = 3, .keeps_durations = true});
	report(copy, size, (struct fxt_report_options){.top = 10, .categories = "io,malloc"});
	categories(copy, size);
	merge(copy, size);
	cut(copy, size);
	free(copy);
	return 0;
}
