/* Says what has changed between two sides, and puts it in order. See diff.h.
 *
 * A number or size that is the same in all runs of a side is not a matter of chance: it has changed if
 * the sides differ. All else is compared by a rank test. Many figures are compared, and of many some
 * differ much by chance, so each p is raised by Holm's rule: the least is multiplied by their number, the
 * next by one less, and so on. Only figures that weigh enough in either side are compared at all; that
 * choice knows nothing of the sides.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "rank_test.h"
#include "tools/common/message.h"

static const double
	sure_p = 0.05,                  /* a change is claimed up to this p */
	least_share = 0.01,             /* a hundredth of the run or of the memory is worth telling */
	least_change = 0.05;            /* and a twentieth of the figure itself */

static bool is_bytes_held(enum fxt_diff_quantity q)
{
	return q == FXT_DIFF_BYTES_LEFT || q == FXT_DIFF_BYTES_PEAK;
}

static bool is_time(enum fxt_diff_quantity q)
{
	return q == FXT_DIFF_TIME || q == FXT_DIFF_CPU || q == FXT_DIFF_PATH;
}

struct fxt_diff_thing *fxt_diff_whole(const struct fxt_diff *d)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->things[i].kind == FXT_DIFF_RUN && strcmp(d->things[i].name, "the run") == 0)
			return &d->things[i];
	return NULL;
}

/* Returns the least p that the rank test has for so many runs: that of sides which do not overlap. */
static double least_p(size_t a, size_t b)
{
	double ways = 1;

	for (size_t i = 1; i <= a; i++)
		ways *= (double)(b + i) / (double)i;
	return ways > 2 ? 2 / ways : 1;
}

static double compared(const struct fxt_diff *d)
{
	return d->compared ? (double)d->compared : 1;
}

bool fxt_diff_has_few_runs(const struct fxt_diff *d)
{
	return least_p(d->a_count, d->run_count - d->a_count) * compared(d) > sure_p;
}

bool fxt_diff_has_very_few_runs(const struct fxt_diff *d)
{
	return least_p(d->a_count, d->run_count - d->a_count) > sure_p;
}

size_t fxt_diff_enough_runs(const struct fxt_diff *d)
{
	size_t runs = 1;

	while (least_p(runs, runs) * compared(d) > sure_p)
		runs++;
	return runs;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const double *values, size_t count)
{
	double *sorted = fxt_alloc(count, sizeof(*sorted)), middle;

	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), ascending);
	middle = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
	free(sorted);
	return middle;
}

static bool are_equal(const double *values, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (values[i] != values[0])
			return false;
	return true;
}

/* -- What figures are shares of -------------------------------------------------------------------- */

struct wholes {
	double ns, bytes;               /* the longer median run, and the larger median peak */
};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static struct wholes find_wholes(const struct fxt_diff *d)
{
	const struct fxt_diff_figure *time = &fxt_diff_whole(d)->figures[FXT_DIFF_TIME];
	struct wholes w = {larger(time->a, time->b), 0};

	for (size_t i = 0; i < d->count; i++) {
		const struct fxt_diff_figure *peak = &d->things[i].figures[FXT_DIFF_BYTES_PEAK];

		w.bytes = larger(w.bytes, larger(peak->a, peak->b));
	}
	return w;
}

/* Returns what part of the run or of the memory so much of a figure is; of what has none, of the figure. */
static double share_of(const struct fxt_diff_thing *t, enum fxt_diff_quantity q, double amount,
		       const struct wholes *w)
{
	const struct fxt_diff_figure *x = &t->figures[q];
	double most = larger(x->a, x->b), of = is_time(q) ? w->ns : is_bytes_held(q) ? w->bytes : 0;

	if (is_time(q) || is_bytes_held(q))
		return of > 0 ? amount / of : 0;
	return most > 0 ? amount / most * t->weight : 0;
}

/* Returns how much a figure has changed, as a part of the larger one. */
static double change_of(const struct fxt_diff_figure *x)
{
	double most = larger(fabs(x->a), fabs(x->b));

	return most > 0 ? fabs(x->b - x->a) / most : 0;
}

/* -- What is compared ------------------------------------------------------------------------------ */

static bool is_one_sided(const struct fxt_diff_thing *category)
{
	const struct fxt_diff_figure *x = &category->figures[FXT_DIFF_COUNT];

	return x->values && (x->a == 0) != (x->b == 0);
}

/* Returns whether the thing is compared for itself. A category that one side alone has events of stands for
 * all of its things, because the other side may not have recorded it. */
static bool counts(const struct fxt_diff *d, const struct fxt_diff_thing *t)
{
	if (t->parent != FXT_DIFF_NONE)
		return false;
	if (t->kind == FXT_DIFF_CATEGORY)
		return is_one_sided(t);
	/* It had no processor itself, and only called others. */
	if (t->kind == FXT_DIFF_FUNCTION && !t->figures[FXT_DIFF_CPU].values)
		return false;
	return t->category == FXT_DIFF_NONE || !is_one_sided(&d->things[t->category]);
}

/* Returns whether the thing weighs enough for figures to be compared that chance has a part in. */
static bool weighs(const struct fxt_diff_thing *t, const struct wholes *w)
{
	for (enum fxt_diff_quantity q = 0; q < FXT_DIFF_QUANTITIES; q++) {
		const struct fxt_diff_figure *x = &t->figures[q];

		if (x->values && (is_time(q) || is_bytes_held(q)) &&
		    share_of(t, q, larger(x->a, x->b), w) >= least_share)
			return true;
	}
	return false;
}

/* A figure whose p is raised. */
struct tested {
	struct fxt_diff_thing *thing;
	struct fxt_diff_figure *figure;
	double p;
};

static int by_p(const void *a, const void *b)
{
	const struct tested *x = a, *y = b;

	return x->p < y->p ? -1 : x->p > y->p;
}

static void raise_p(struct tested *list, size_t count)
{
	double highest = 0;

	qsort(list, count, sizeof(*list), by_p);
	for (size_t i = 0; i < count; i++) {
		highest = larger(highest, list[i].p * (double)(count - i));
		list[i].figure->p = highest < 1 ? highest : 1;
	}
}

/* Sets medians, and what has changed in each run. Returns whether the figure is left to the rank test. */
static bool settle(const struct fxt_diff *d, struct fxt_diff_figure *x, bool is_lossy)
{
	const double *b = x->values + d->a_count;
	size_t b_count = d->run_count - d->a_count;

	if (x->is_noisy || is_lossy || !are_equal(x->values, d->a_count) || !are_equal(b, b_count))
		return true;
	x->is_each = x->a != x->b;
	x->verdict = x->is_each ? FXT_DIFF_CHANGED : FXT_DIFF_SAME;
	return false;
}

static void set_medians(struct fxt_diff *d)
{
	for (size_t i = 0; i < d->count; i++) {
		for (unsigned q = 0; q < FXT_DIFF_QUANTITIES; q++) {
			struct fxt_diff_figure *x = &d->things[i].figures[q];

			x->p = 1;
			if (!x->values)
				continue;
			x->a = median(x->values, d->a_count);
			x->b = median(x->values + d->a_count, d->run_count - d->a_count);
		}
	}
}

/* Divides all figures by the number of calls. Faults are not divided. Returns NULL or why it cannot be. */
static char *divide(struct fxt_diff *d)
{
	const double *by = NULL;
	double *divisors;

	for (size_t i = 0; i < d->count; i++)
		if (d->things[i].kind == FXT_DIFF_CALL && d->things[i].parent == FXT_DIFF_NONE &&
		    strcmp(d->things[i].name, d->per) == 0)
			by = d->things[i].figures[FXT_DIFF_COUNT].values;
	for (size_t run = 0; run < d->run_count; run++)
		if (!by || by[run] == 0)
			return fxt_format("there is no call %s in each run to divide figures by", d->per);
	divisors = fxt_alloc(d->run_count, sizeof(*divisors));
	memcpy(divisors, by, d->run_count * sizeof(*divisors));
	for (size_t i = 0; i < d->count; i++)
		for (unsigned q = 0; q < FXT_DIFF_QUANTITIES; q++)
			for (size_t run = 0; run < d->run_count; run++)
				if (d->things[i].figures[q].values && d->things[i].kind != FXT_DIFF_FINDING)
					d->things[i].figures[q].values[run] /= divisors[run];
	free(divisors);
	return NULL;
}

/* Compares all figures. That of the run as a whole is the first question, and is none among many. */
static void test(struct fxt_diff *d, const struct wholes *w, bool is_lossy)
{
	struct fxt_diff_figure *first = &fxt_diff_whole(d)->figures[FXT_DIFF_TIME];
	size_t b_count = d->run_count - d->a_count, capacity = 0;
	struct tested *list = NULL;

	for (size_t i = 0; i < d->count; i++) {
		struct fxt_diff_thing *t = &d->things[i];
		bool is_weighty = weighs(t, w);

		for (enum fxt_diff_quantity q = 0; counts(d, t) && q < FXT_DIFF_QUANTITIES; q++) {
			struct fxt_diff_figure *x = &t->figures[q];
			struct tested one = {t, x, 1};

			if (!x->values)
				continue;
			x->share = share_of(t, q, fabs(x->b - x->a), w);
			if (q == FXT_DIFF_PATH || !settle(d, x, is_lossy) || !is_weighty)
				continue;
			one.p = fxt_rank_test(x->values, d->a_count, x->values + d->a_count, b_count);
			x->is_tested = true;
			if (x == first) {
				x->p = one.p;
				continue;
			}
			list = fxt_grow(list, &capacity, d->compared + 1, sizeof(*list));
			list[d->compared++] = one;
		}
	}
	if (d->compared)
		raise_p(list, d->compared);
	for (size_t i = 0; i < d->compared; i++) {
		struct fxt_diff_figure *x = list[i].figure;

		if (x->share >= least_share && change_of(x) >= least_change)
			x->verdict = x->p <= sure_p             ? FXT_DIFF_CHANGED
				     : fxt_diff_has_few_runs(d) ? FXT_DIFF_PERHAPS
								: FXT_DIFF_SAME;
	}
	if (first->p <= sure_p && change_of(first) >= least_share)
		first->verdict = FXT_DIFF_CHANGED;
	else if (fxt_diff_has_very_few_runs(d) && first->a != first->b)
		first->verdict = FXT_DIFF_PERHAPS;
	free(list);
}

/* -- The order ------------------------------------------------------------------------------------- */

/* Returns what a thing's change of time is worth: all that is on the critical path, and a tenth of what
 * is not. A function that is ready for a processor is on the path too, so its part there may be more than
 * it ran. */
static double worth_of(const struct fxt_diff_thing *t)
{
	const struct fxt_diff_figure *path = &t->figures[FXT_DIFF_PATH], *x = &t->figures[t->main];
	double off = fabs(x->b - x->a), on = path->values ? fabs(path->b - path->a) : 0;

	if (on >= off)
		return off > 0 ? on / off : 1;
	return 0.1 + 0.9 * on / off;
}

/* Finds the figure of a thing that has changed most. */
static void set_main(struct fxt_diff_thing *t, bool has_path)
{
	for (enum fxt_diff_quantity q = 0; q < FXT_DIFF_QUANTITIES; q++) {
		const struct fxt_diff_figure *x = &t->figures[q];

		if (!x->verdict || x->verdict < t->verdict ||
		    (x->verdict == t->verdict && x->share <= t->score))
			continue;
		t->verdict = x->verdict;
		t->score = x->share;
		t->main = q;
	}
	if (has_path && is_time(t->main))
		t->score *= worth_of(t);
}

/* Finds the function that made most of the difference of a call. */
static void set_callers(struct fxt_diff *d)
{
	for (size_t i = 0; i < d->count; i++) {
		struct fxt_diff_thing *by = &d->things[i], *call, *best;
		const struct fxt_diff_figure *x, *y;

		if (by->parent == FXT_DIFF_NONE)
			continue;
		call = &d->things[by->parent];
		best = call->by == FXT_DIFF_NONE ? NULL : &d->things[call->by];
		x = &by->figures[call->main];
		y = best ? &best->figures[call->main] : NULL;
		if (x->values && fabs(x->b - x->a) > (y ? fabs(y->b - y->a) : 0))
			call->by = (uint32_t)i;
	}
}

/* The call that makes most of the difference of a category stands for it. */
static void set_calls_of_categories(struct fxt_diff *d)
{
	for (size_t i = 0; i < d->count; i++) {
		struct fxt_diff_thing *call = &d->things[i], *category;

		if (call->kind != FXT_DIFF_CALL || call->category == FXT_DIFF_NONE)
			continue;
		category = &d->things[call->category];
		if (category->by == FXT_DIFF_NONE ||
		    larger(call->figures[category->main].a, call->figures[category->main].b) >
			    larger(d->things[category->by].figures[category->main].a,
				   d->things[category->by].figures[category->main].b))
			category->by = (uint32_t)i;
	}
}

static const struct fxt_diff *sorted;

static int by_cost(const void *a, const void *b)
{
	const struct fxt_diff_thing *x = &sorted->things[*(const uint32_t *)a];
	const struct fxt_diff_thing *y = &sorted->things[*(const uint32_t *)b];

	if (x->verdict != y->verdict)
		return x->verdict > y->verdict ? -1 : 1;
	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1) : strcmp(x->name, y->name);
}

static void put_in_order(struct fxt_diff *d)
{
	const struct fxt_diff_thing *whole = fxt_diff_whole(d);
	bool has_path = true;
	size_t capacity = 0;

	for (size_t i = 0; i < d->run_count; i++)
		has_path &= d->runs[i].has_path;
	for (size_t i = 0; i < d->count; i++) {
		set_main(&d->things[i], has_path);
		if (!d->things[i].verdict || &d->things[i] == whole)
			continue;
		d->order = fxt_grow(d->order, &capacity, d->order_count + 1, sizeof(*d->order));
		d->order[d->order_count++] = (uint32_t)i;
		d->changed += d->things[i].verdict == FXT_DIFF_CHANGED;
	}
	sorted = d;
	if (d->order_count)
		qsort(d->order, d->order_count, sizeof(*d->order), by_cost);
	set_callers(d);
	set_calls_of_categories(d);
}

char *fxt_diff_compare(struct fxt_diff *d)
{
	char *bad = d->per ? divide(d) : NULL;
	bool is_lossy = false;
	struct wholes w;

	if (bad)
		return bad;
	for (size_t i = 0; i < d->run_count; i++)
		is_lossy |= d->runs[i].lost > 0;
	set_medians(d);
	w = find_wholes(d);
	test(d, &w, is_lossy);
	put_in_order(d);
	return NULL;
}
