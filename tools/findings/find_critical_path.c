/* Says what would make the run shortest. That is no fault: something has to take the time. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "rules.h"
#include "tools/printing/print.h"

/* Returns whether the trace tells all that the prediction rests on: nothing was lost, few waits ended by
 * nobody who is known, and samples tell of what ran. */
static bool is_certain(const struct fxt_critical *c, const struct fxt_critical_thing *x)
{
	const uint64_t twentieth = c->run_ns / 20;

	return x->run_most_ns - x->run_least_ns <= twentieth && c->unknown_ns <= twentieth &&
	       c->unsampled_ns <= 2 * twentieth;
}

/* Returns the function that did most of what this one is on the path for, if that is half of it: a function
 * that only calls others is nearly the whole program. */
static const struct fxt_critical_thing *telling(const struct fxt_critical *c,
						const struct fxt_critical_thing *x)
{
	for (size_t i = 0; i < c->count && x->inner_ns >= x->in_ns / 2; i++) {
		const struct fxt_critical_thing *inner = &c->things[i];

		if (inner->kind == FXT_CRITICAL_FUNCTION && inner->key == x->inner_key &&
		    inner->module == x->inner_module)
			return inner;
	}
	return x;
}

void fxt_find_critical_path(const struct fxt_report *report, struct fxt_findings *f)
{
	const struct fxt_critical *c = &report->critical;
	const struct fxt_critical_thing *best = NULL;
	struct fxt_finding *x;

	/* Of a single thread that computes or waits, other rules say it as well. */
	if (c->threads < 2 || c->lacks_events)
		return;
	for (size_t i = 0; i < c->count && !best; i++)
		if (c->things[i].kind != FXT_CRITICAL_CALL)
			best = &c->things[i];
	if (best && best->kind == FXT_CRITICAL_FUNCTION)
		best = telling(c, best);
	if (!best || fxt_rule_percent(report, c->run_ns - best->run_ns) < FXT_LEAST(critical_path) ||
	    !is_certain(c, best))
		return;
	x = fxt_finding_add(f, best->frame, FXT_FOR_CALL,
			    "what would win most: without it the run takes %s of %s",
			    fxt_duration(best->run_ns).text, fxt_duration(c->run_ns).text);
	if (best->kind != FXT_CRITICAL_FUNCTION)
		x->culprit = fxt_critical_name(best, report->r, report->who, 60);
	x->cost_ns = c->run_ns - best->run_ns;
	fxt_finding_evidence(x, "it has %s of the critical path, which goes through %s threads",
			     fxt_duration(best->in_ns > best->for_ns ? best->in_ns : best->for_ns).text,
			     fxt_count(c->threads).text);
}
