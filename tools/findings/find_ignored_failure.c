/* Finds writes that failed in a run that ended as if nothing had happened: what was to be written is lost. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rule_facts.h"
#include "tools/printing/print.h"

static bool loses_data(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EIO || error == EFBIG;
}

/* Returns whether all processes whose end is known ended with 0, and one did. */
static bool all_ended_well(const struct fxt_report *report)
{
	const struct fxt_ends *ends = &report->process_ends;
	bool any = false;

	for (const struct fxt_slot *s = fxt_map_next(&ends->by_pid, NULL); s;
	     s = fxt_map_next(&ends->by_pid, s)) {
		int status = fxt_ends_status(ends, s->a);

		if (fxt_ends_signal(s) || status > 0)
			return false;
		any = any || status == 0;
	}
	return any;
}

void fxt_find_ignored_failure(const struct fxt_report *report, struct fxt_findings *f)
{
	if (!all_ended_well(report))
		return;
	for (size_t i = 0; i < report->failures.count; i++) {
		const struct fxt_failure *one = &report->failures.list[i];
		struct fxt_finding *x;
		char *name;

		if (!loses_data(one->error) || !one->stack_count)
			continue;
		name = fxt_rule_name(report, one->name, 32);
		x = fxt_finding_add(f, one->stacks[0], FXT_FOR_CALL,
				    "%s failed %s times (%s), and the program ended with status 0", name,
				    fxt_count(one->count).text, strerror(one->error));
		fxt_finding_evidence(x, "what was to be written is lost, and nothing says so");
		x->cost_calls = one->count;
		free(name);
	}
}
