/* Finds functions that sleep again and again. That is no fault by itself: services look after things so. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "rules.h"
#include "tools/printing/print.h"

void fxt_find_sleep_loop(const struct fxt_report *report, struct fxt_findings *f)
{
	static const char *const names[] = {"nanosleep", "usleep", "sleep",
					    "clock_nanosleep", "thrd_sleep", NULL};
	struct fxt_rule_calls calls = fxt_rule_calls(report, names);
	struct fxt_finding *x;

	if (calls.by_count >= 8 && fxt_rule_percent(report, calls.by_ns) >= FXT_LEAST(sleep_loop)) {
		x = fxt_finding_add(f, calls.innermost, FXT_FOR_CALL,
				    "sleeps in a loop: %s was called %s times at one place", calls.name,
				    fxt_count(calls.by_count).text);
		x->cost_ns = calls.by_ns;
		x->cost_calls = calls.by_count;
		fxt_finding_evidence(x, "each took %s in the mean",
				     fxt_duration(calls.by_ns / calls.by_count).text);
	}
	free(calls.name);
}
