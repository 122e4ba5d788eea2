/* Finds threads that ask, and wait for answers that do not come until their time limits run out. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "rule_facts.h"
#include "tools/printing/print.h"

void fxt_find_timeout(const struct fxt_report *report, struct fxt_findings *f)
{
	enum { LEAST_COUNT = 5 };

	for (size_t i = 0; i < report->timeouts.count; i++) {
		const struct fxt_asker *one = &report->timeouts.threads[i];
		struct fxt_stack_sum most = {.innermost = FXT_NO_FRAME};
		struct fxt_finding *x;
		char *call;

		if (one->unanswered < LEAST_COUNT || one->unanswered < one->answered ||
		    fxt_rule_percent(report, one->lost_ns) < FXT_LEAST(timeout))
			continue;
		fxt_stack_sums_most(&report->timeouts.sums, i, report->who, FXT_FOR_CALL, &most);
		call = fxt_rule_name(report, one->name, 32);
		x = fxt_finding_add(f, most.innermost, FXT_FOR_CALL,
				    "no answer: %s waited until its time limit ran out, %s times", call,
				    fxt_count(one->unanswered).text);
		x->about = fxt_handle_of_thread(report->r, (uint32_t)i);
		x->cost_ns = one->lost_ns;
		x->cost_calls = one->unanswered;
		fxt_finding_evidence(x, "each wait took %s in the mean; %s questions had an answer",
				     fxt_duration(one->lost_ns / one->unanswered).text,
				     one->answered ? fxt_count(one->answered).text : "no");
		free(call);
	}
}
