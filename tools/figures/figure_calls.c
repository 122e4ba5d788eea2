/* Figures of calls: how many, how long. See figures.h.
 *
 * Of calls by a function those count whose stack has it. A call without a stack may be one of these or not,
 * and so may a record that is missing, of which even the time is unknown. From both follow the least and the
 * most that a figure may be.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/engine/each.h"
#include "tools/analysis/categories.h"
#include "tools/common/message.h"
#include "tools/common/nearest.h"
#include "tools/printing/print.h"

/* Calls that count, or that may count. */
struct group {
	uint64_t count, total_ns, max_ns;
	struct fxt_histogram durations;
};

struct calls {
	struct group sure, maybe;
	uint64_t timeless;              /* others that may count, of unknown time */
	uint64_t missing;               /* of these, records that are missing */
	uint64_t open;                  /* calls that have not returned, and count */
	uint64_t open_ns;               /* how long the longest of them has taken so far */
	bool are_any;                   /* the trace has a call of this name */
	bool has_functions;             /* functions of the program among them */
};

static void add(struct group *g, uint64_t total_ns, uint64_t max_ns, const struct fxt_histogram *durations)
{
	g->count += durations->count;
	g->total_ns += total_ns;
	g->max_ns = max_ns > g->max_ns ? max_ns : g->max_ns;
	fxt_histogram_add_all(&g->durations, durations);
}

static bool is_function(const struct fxt_report *report, uint32_t category)
{
	struct fxt_text text = fxt_symbol_text(report->r, category);

	return fxt_text_is(&text, "function") || fxt_text_is(&text, "plt");
}

/* Returns whether a call has the name that was asked for: in the trace, or in a table. */
static bool is_asked(const struct fxt_report *report, const struct fxt_asked *asked, uint32_t category,
		     uint32_t name)
{
	struct fxt_text text = fxt_symbol_text(report->r, name);
	char *label = fxt_call_label(report->r, category, name, SIZE_MAX);
	char *symbol = fxt_format("%.*s", (int)text.bytes, text.text);
	bool fits = fxt_name_fits(asked->of, symbol) || fxt_name_fits(asked->of, label);

	free(symbol);
	free(label);
	return fits;
}

enum who { HE, SOMEBODY_ELSE, NOBODY_KNOWS };

/* Returns whether the function that was asked for is on a stack: as the culprit, or anywhere. */
static enum who who_is_it(const struct fxt_report *report, const struct fxt_asked *asked,
			  enum fxt_purpose purpose, uint32_t innermost)
{
	enum { DEPTH = 512 };
	bool whole = asked->how == FXT_BY_ANY_CALLER;
	size_t room = whole ? DEPTH : 1, count;
	struct fxt_who_function *list;
	enum who who = NOBODY_KNOWS;

	if (innermost == FXT_NO_FRAME)
		return NOBODY_KNOWS;
	list = fxt_alloc(room, sizeof(*list));
	count = fxt_who_functions(report->who, purpose, innermost, whole, list, room);
	for (size_t i = 0; i < count && who != HE; i++)
		who = fxt_name_fits(asked->by, list[i].name) ? HE : SOMEBODY_ELSE;
	fxt_who_free_functions(list, count);
	free(list);
	return who;
}

bool fxt_figure_has_caller(const struct fxt_report *report, const struct fxt_asked *asked,
			   enum fxt_purpose purpose, uint32_t innermost)
{
	return who_is_it(report, asked, purpose, innermost) == HE;
}

/* Adds all calls of the name, whoever made them. Returns how many there are. */
static uint64_t take_all(struct calls *c, const struct fxt_report *report, const struct fxt_asked *asked)
{
	uint64_t count = 0;

	for (size_t i = 0; i < report->calls.count; i++) {
		const struct fxt_call *call = &report->calls.list[i];

		if (!is_asked(report, asked, call->category, call->name))
			continue;
		c->are_any = true;
		c->has_functions |= is_function(report, call->category);
		count += call->count;
		if (!asked->by)
			add(&c->sure, call->total_ns, call->max_ns, &call->durations);
	}
	return count;
}

/* Adds those of a function, and those that may be its. `count` is how many of the name there are. */
static void take_by(struct calls *c, const struct fxt_report *report, const struct fxt_asked *asked,
		    uint64_t count)
{
	uint64_t told = 0;

	for (size_t i = 0; i < report->stack_durations.count; i++) {
		const struct fxt_stack_duration *one = &report->stack_durations.list[i];
		enum who who;

		if (!is_asked(report, asked, one->category, one->name))
			continue;
		told += one->durations.count;
		who = who_is_it(report, asked, fxt_call_purpose(report->r, one->category), one->innermost);
		if (who != SOMEBODY_ELSE)
			add(who == HE ? &c->sure : &c->maybe, one->total_ns, one->max_ns, &one->durations);
	}
	/* Calls of which only the begin is seen are counted, and have neither a time nor a stack. */
	c->timeless += count - told;
}

static void take_open(struct calls *c, const struct fxt_report *report, const struct fxt_asked *asked)
{
	for (size_t i = 0; i < report->open.count; i++) {
		const struct fxt_call_stack *stack = &report->open.threads[i];

		for (size_t k = 0; k < stack->count; k++) {
			const struct fxt_call_in_progress *call = &stack->list[k];
			uint64_t ns = fxt_ns_between(call->start_ns, report->overview.last_ns);

			if (!is_asked(report, asked, call->category, call->name))
				continue;
			c->are_any = true;
			if (asked->by && who_is_it(report, asked, fxt_call_purpose(report->r, call->category),
						   fxt_calls_in_progress_stack(&report->open, (uint32_t)i)) ==
						 SOMEBODY_ELSE)
				continue;
			c->open++;
			c->open_ns = ns > c->open_ns ? ns : c->open_ns;
		}
	}
}

static void take(struct calls *c, const struct fxt_report *report, const struct fxt_asked *asked)
{
	uint64_t count = take_all(c, report, asked);

	if (asked->by)
		take_by(c, report, asked, count);
	take_open(c, report, asked);
	c->missing = fxt_calls_missing(report, c->has_functions);
	c->timeless += c->missing;
}

static void end(struct calls *c)
{
	fxt_histogram_free(&c->sure.durations);
	fxt_histogram_free(&c->maybe.durations);
}

/* -- Whether there would be such a call ------------------------------------------------------------ */

static const struct {
	const char *name, *category;
} calls[] = {
#define BY_HAND(category, name, role) {#name, #category},
#define EVENT BY_HAND
#define CALL(category, type, name, ...) {#name, #category},
#define SYSTEM_CALL CALL
#define BY_NUMBER_ALONE CALL
#include "interpose/engine/rows.inc"
#include "interpose/tables/calls.def"
#include "interpose/engine/unrows.inc"
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

void fxt_figure_unrecorded(struct fxt_figure *x, const char *category, const char *hint)
{
	fxt_figure_unknown(x, fxt_format("the trace has no event of category %s, so it may not have been "
					 "recorded (--recorded)%s", category, hint));
}

bool fxt_figure_is_recorded(const struct fxt_known *known, const char *category)
{
	const struct fxt_overview *o = &known->report->overview;

	for (size_t i = 0; i < o->category_count; i++) {
		struct fxt_text one = fxt_symbol_text(known->report->r, o->categories[i].category);

		if (fxt_text_is(&one, category))
			return true;
	}
	return known->recorded && fxt_categories_have(known->recorded, category);
}

/* Sets the figure where the trace has no call of the name. */
static void find_none(struct fxt_figure *x, const struct fxt_asked *asked, const struct fxt_known *known)
{
	const char *names[CALLS], *missing = NULL;
	bool is_call = false;
	char *hint;

	for (size_t i = 0; i < CALLS; i++) {
		names[i] = calls[i].name;
		if (!fxt_name_fits(asked->of, calls[i].name))
			continue;
		is_call = true;
		if (!fxt_figure_is_recorded(known, calls[i].category))
			missing = calls[i].category;
	}
	if (!is_call && !fxt_figure_is_recorded(known, "function") && !fxt_figure_is_recorded(known, "plt"))
		missing = "function";
	hint = is_call ? fxt_strdup("") : fxt_did_you_mean(asked->of, names, CALLS);
	if (missing)
		fxt_figure_unrecorded(x, missing, hint);
	else
		x->remark = fxt_format("no such call%s", hint);
	free(hint);
}

/* Takes the calls. Returns false if nothing is known of such calls: the figure says so. */
static bool find(struct fxt_figure *x, const struct fxt_asked *asked, const struct fxt_known *known,
		 struct calls *c)
{
	*c = (struct calls){0};
	take(c, known->report, asked);
	if (!c->are_any)
		find_none(x, asked, known);
	if (c->are_any && asked->by && !c->sure.count)
		x->remark = fxt_format("none with this function on its stack");
	return !x->doubt;
}

/* Says how far the figure may be off, if it may. */
static void doubt(struct fxt_figure *x, const struct calls *c, uint64_t low, uint64_t high)
{
	if (c->maybe.count || c->timeless > c->missing)
		fxt_figure_may_be(x, low, high, fxt_format("%s such calls have no stack",
							   fxt_count(c->maybe.count + c->timeless -
								     c->missing).text));
	if (c->missing)
		fxt_figure_may_be(x, low, high, fxt_calls_missing_why(c->missing));
}

/* -- The figures ----------------------------------------------------------------------------------- */

FXT_FIND(count)
{
	struct calls c;

	if (find(x, asked, known, &c)) {
		fxt_figure_certain(x, c.sure.count);
		doubt(x, &c, c.sure.count, c.sure.count + c.maybe.count + c.timeless);
	}
	end(&c);
}

FXT_FIND(total)
{
	struct calls c;

	if (find(x, asked, known, &c)) {
		fxt_figure_certain(x, c.sure.total_ns);
		doubt(x, &c, c.sure.total_ns,
		      c.missing ? FXT_ANY : c.sure.total_ns + c.maybe.total_ns);
	}
	end(&c);
}

FXT_FIND(longest)
{
	struct calls c;

	if (find(x, asked, known, &c)) {
		uint64_t max_ns = c.sure.max_ns > c.open_ns ? c.sure.max_ns : c.open_ns;

		fxt_figure_certain(x, max_ns);
		doubt(x, &c, max_ns, c.missing ? FXT_ANY : c.maybe.max_ns);
		if (c.open && c.open_ns == max_ns) {
			free(x->remark);
			x->remark = fxt_strdup("a call that has not returned");
		}
	}
	end(&c);
}

/* Returns the least number of calls that is a share of `count`: the rank of a percentile. */
static uint64_t rank_of(double percent, uint64_t count)
{
	return (uint64_t)ceil((double)count * percent / 100);
}

/* Finds the least and the most that a percentile may be. It is least if those of the calls that may count do
 * count which are as short or shorter, and what is missing took no time; and most the other way round. */
static void bounds(const struct calls *c, double percent, uint64_t *low, uint64_t *high)
{
	uint64_t sure = 0, maybe = 0, sure_below, maybe_below;
	bool has_low = c->timeless && c->timeless >= rank_of(percent, c->sure.count + c->timeless);

	*low = *high = 0;
	for (unsigned i = 0; i < FXT_HISTOGRAM_BUCKETS; i++) {
		uint64_t in_sure = fxt_histogram_in_bucket(&c->sure.durations, i);
		uint64_t in_maybe = fxt_histogram_in_bucket(&c->maybe.durations, i);

		if (!in_sure && !in_maybe)
			continue;
		sure_below = sure;
		maybe_below = maybe;
		sure += in_sure;
		maybe += in_maybe;
		if (!has_low && sure + maybe + c->timeless >=
					rank_of(percent, c->sure.count + maybe + c->timeless)) {
			has_low = true;
			*low = fxt_histogram_bucket_middle(i);
		}
		if (sure_below < rank_of(percent, c->sure.count + c->maybe.count - maybe_below + c->timeless))
			*high = fxt_histogram_bucket_middle(i);
	}
	if (c->timeless && c->sure.count < rank_of(percent, c->sure.count + c->timeless))
		*high = FXT_ANY;
}

FXT_FIND(percentile)
{
	double percent = asked->quantity->percent;
	struct calls c;

	if (find(x, asked, known, &c)) {
		uint64_t low, high, ns = fxt_histogram_percentile(&c.sure.durations, percent);

		/* The middle of the last bucket may lie above all values in it. */
		ns = ns < c.sure.max_ns ? ns : c.sure.max_ns;
		bounds(&c, percent, &low, &high);
		if (c.sure.count) {
			fxt_figure_certain(x, ns);
			doubt(x, &c, low, high);
		} else {
			fxt_figure_unknown(x, fxt_strdup("there was no such call, so it has no percentile"));
		}
	}
	end(&c);
}
