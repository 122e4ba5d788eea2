/* Prints what differs between two sides: the answer first. See diff.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

enum { LABEL = 42 };
#define COLUMNS_OF "%-9s %11s %11s"

/* Returns the figure as people read it. The caller frees it. */
static char *amount(enum fxt_diff_quantity q, double value)
{
	uint64_t whole = value < 0 ? 0 : value < 1e18 ? (uint64_t)(value + 0.5) : UINT64_MAX;

	switch (q) {
	case FXT_DIFF_TIME:
	case FXT_DIFF_CPU: return fxt_strdup(fxt_duration(whole).text);
	case FXT_DIFF_COUNT:
		/* Divided by a number of calls, a number is no whole one. */
		return value == floor(value) ? fxt_strdup(fxt_count(whole).text) : fxt_format("%.2f", value);
	default: return fxt_strdup(fxt_bytes(whole).text);
	}
}

/* Returns "54 % more", "2.5 times as much", "new" or "gone". The caller frees it. */
static char *change(const struct fxt_diff_figure *x)
{
	if (x->a == 0)
		return fxt_strdup("new");
	if (x->b == 0)
		return fxt_strdup("gone");
	if (x->b >= 2 * x->a)
		return fxt_format("%.*f times as much", x->b < 9.95 * x->a ? 1 : 0, x->b / x->a);
	return fxt_format("%.*f%% %s", fabs(x->b - x->a) < 0.0995 * x->a ? 1 : 0,
			  100 * fabs(x->b - x->a) / x->a, x->b > x->a ? "more" : "less");
}

/* Returns why a difference is believed: "in each run", "p 0.002", or nothing. The caller frees it. */
static char *reason(const struct fxt_diff *d, const struct fxt_diff_figure *x)
{
	if (x->is_each)
		return fxt_strdup(d->run_count == 2 ? "" : ", in each run");
	if (x->verdict == FXT_DIFF_CHANGED)
		return fxt_format(", p %.2g", x->p);
	return fxt_strdup("");
}

static const char *const words[FXT_DIFF_KINDS] = {
	[FXT_DIFF_RUN] = "", [FXT_DIFF_CALL] = "", [FXT_DIFF_FAILURE] = "failed ",
	[FXT_DIFF_WAIT] = "wait for ",
	[FXT_DIFF_FUNCTION] = "function ", [FXT_DIFF_HEAP] = "memory of ", [FXT_DIFF_PROGRAM] = "heap of ",
	[FXT_DIFF_FILE] = "file ", [FXT_DIFF_LEFT_OPEN] = "left open ", [FXT_DIFF_MADE] = "",
	[FXT_DIFF_FINDING] = "finding ", [FXT_DIFF_CATEGORY] = "category "};

/* Returns what stands for a thing. The caller frees it. */
static char *label_of(const struct fxt_diff_thing *t)
{
	char *whole = fxt_format("%s%s", words[t->kind], t->name);
	struct fxt_text text = fxt_text_of(whole);
	char *label = fxt_printable(&text, LABEL - 1, true);

	free(whole);
	return label;
}

/* Prints one figure behind its label. */
static void print_figure(const struct fxt_diff *d, const struct fxt_diff_figure *x, enum fxt_diff_quantity q,
			 FILE *out)
{
	char *a = amount(q, x->a), *b = amount(q, x->b), *how = change(x), *why = reason(d, x);

	fprintf(out, COLUMNS_OF "  %s%s\n", fxt_diff_quantity_names[q], a, b, how, why);
	free(a);
	free(b);
	free(how);
	free(why);
}

/* Prints a thing: the figure that has changed most, others that have, and who did it. */
static void print_thing(const struct fxt_diff *d, const struct fxt_diff_thing *t, FILE *out)
{
	char *label = label_of(t);

	fxt_put_label(out, t->handle.text, label, LABEL);
	print_figure(d, &t->figures[t->main], t->main, out);
	for (unsigned q = 0; q < FXT_DIFF_QUANTITIES; q++) {
		if (q == t->main || t->figures[q].verdict != t->verdict)
			continue;
		fxt_put_label(out, "", "", LABEL);
		print_figure(d, &t->figures[q], (enum fxt_diff_quantity)q, out);
	}
	if (t->by != FXT_DIFF_NONE)
		fprintf(out, "        %s%s\n", t->kind == FXT_DIFF_CATEGORY ? "mostly " : "mostly by ",
			d->things[t->by].name);
	if (t->kind == FXT_DIFF_CATEGORY)
		fprintf(out, "        %s has no call of it, or did not record it\n",
			t->figures[FXT_DIFF_COUNT].a == 0 ? "A" : "B");
	free(label);
}

static void print_things(const struct fxt_diff *d, enum fxt_diff_verdict verdict, const char *title,
			 size_t top, FILE *out)
{
	size_t all = 0, shown = 0;

	for (size_t i = 0; i < d->order_count; i++) {
		const struct fxt_diff_thing *t = &d->things[d->order[i]];

		if (t->verdict != verdict)
			continue;
		if (all++ == 0) {
			fxt_put_title(out, title, LABEL);
			fprintf(out, COLUMNS_OF "\n", "", "A", "B");
		}
		if (shown == top)
			continue;
		print_thing(d, t, out);
		shown++;
	}
	if (all)
		fxt_put_more(out, all, shown);
}

static void print_side(const struct fxt_diff *d, const char *name, size_t from, size_t to, FILE *out)
{
	uint64_t lost = 0;

	fprintf(out, "%s: ", name);
	if (to - from == 1)
		fputs(d->runs[from].path, out);
	else
		fprintf(out, "%zu runs, %s to %s", to - from, d->runs[from].path, d->runs[to - 1].path);
	for (size_t i = from; i < to; i++)
		lost += d->runs[i].lost;
	if (lost)
		fprintf(out, "; %s records are missing, so numbers count as left to chance",
			fxt_count(lost).text);
	fputc('\n', out);
}

/* Says which side has no samples, if one has not. */
static void print_samples(const struct fxt_diff *d, FILE *out)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct fxt_diff_thing *t = &d->things[i];
		const struct fxt_diff_figure *x = &t->figures[FXT_DIFF_COUNT];

		if (t->kind == FXT_DIFF_CATEGORY && strcmp(t->name, FXT_DIFF_SAMPLES) == 0 &&
		    (x->a == 0) != (x->b == 0))
			fprintf(out, "%s has no samples of processor time, so functions are not compared.\n",
				x->a == 0 ? "A" : "B");
	}
}

/* Prints how much slower B is, and whether that is more than noise. */
static void print_time(const struct fxt_diff *d, FILE *out)
{
	const struct fxt_diff_figure *x = &fxt_diff_whole(d)->figures[FXT_DIFF_TIME];
	char *a = amount(FXT_DIFF_TIME, x->a), *b = amount(FXT_DIFF_TIME, x->b), *how = change(x);

	fprintf(out, "B took %s and A %s", b, a);
	if (d->per)
		fprintf(out, " a call of %s", d->per);
	if (x->a != x->b)
		fprintf(out, ", %s", how);
	if (x->verdict == FXT_DIFF_CHANGED)
		fprintf(out, ": more than the runs' own noise (p %.2g)\n", x->p);
	else if (x->verdict == FXT_DIFF_PERHAPS)
		fputs(": with so few runs nothing says whether that is more than noise\n", out);
	else
		fprintf(out, ": no more than noise (p %.2g)\n", x->p);
	free(a);
	free(b);
	free(how);
}

void fxt_diff_print(const struct fxt_diff *d, size_t top, FILE *out)
{
	print_side(d, "A", 0, d->a_count, out);
	print_side(d, "B", d->a_count, d->run_count, out);
	print_time(d, out);
	print_samples(d, out);
	if (!d->changed)
		fprintf(out, "Nothing%s is known to have changed.\n",
			fxt_diff_whole(d)->figures[FXT_DIFF_TIME].verdict == FXT_DIFF_CHANGED ? " else" : "");
	if (fxt_diff_has_few_runs(d))
		fprintf(out,
			"There are too few runs to tell differences of %zu times and sizes from noise: %zu a "
			"side are enough.\n",
			d->compared, fxt_diff_enough_runs(d));
	print_things(d, FXT_DIFF_CHANGED, "CHANGED, MOST COSTLY FIRST", top, out);
	print_things(d, FXT_DIFF_PERHAPS, "DIFFERS, PERHAPS BY CHANCE", top, out);
}
