/* Says who waits for child processes. That is no fault: shells and compilers do little else. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "rules.h"
#include "tools/printing/print.h"

void fxt_find_slow_child(const struct fxt_report *report, struct fxt_findings *f)
{
	static const char *const names[] = {"waitpid", "wait", "wait3", "wait4",
					    "waitid", "system", "pclose", NULL};
	struct fxt_rule_calls calls = fxt_rule_calls(report, names);
	struct fxt_finding *x;

	if (calls.by_count && fxt_rule_percent(report, calls.by_ns) >= FXT_LEAST(slow_child)) {
		x = fxt_finding_add(f, calls.innermost, FXT_FOR_CALL,
				    "waited for child processes: %s in %s call%s", calls.name,
				    fxt_count(calls.by_count).text, calls.by_count == 1 ? "" : "s");
		x->cost_ns = calls.by_ns;
		x->cost_calls = calls.by_count;
	}
	free(calls.name);
}
