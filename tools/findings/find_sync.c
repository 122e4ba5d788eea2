/* Finds functions that wait for the disk again and again: a sync for each record. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "rule_facts.h"
#include "tools/printing/print.h"

enum { OFTEN = 32 };

/* Returns whether one file, or mapping, was brought to the disk again and again. Who brings many files there
 * once does what databases do at their ends. */
static bool is_of_one_file(const struct fxt_report *report)
{
	for (size_t i = 0; i < report->files.count; i++) {
		const struct fxt_transfers *other = report->files.list[i].uses[FXT_FILE_OTHER];

		if (other && other->calls >= OFTEN &&
		    fxt_rule_percent(report, other->total_ns) >= FXT_LEAST(sync))
			return true;
	}
	return fxt_rule_times_called(report, "msync") >= OFTEN;
}

void fxt_find_sync(const struct fxt_report *report, struct fxt_findings *f)
{
	static const char *const names[] = {"fsync", "fdatasync", "sync_file_range", "msync", "syncfs", NULL};
	struct fxt_rule_calls calls = fxt_rule_calls(report, names);
	struct fxt_finding *x;

	if (calls.count >= OFTEN && fxt_rule_percent(report, calls.total_ns) >= FXT_LEAST(sync) &&
	    is_of_one_file(report)) {
		x = fxt_finding_add(f, calls.innermost, FXT_FOR_CALL,
				    "slow disk: %s was called %s times, and waited each time", calls.name,
				    fxt_count(calls.count).text);
		x->cost_ns = calls.total_ns;
		x->cost_calls = calls.count;
		fxt_rule_contrast_waits(report, x, calls.key);
		fxt_finding_evidence(x, "each took %s in the mean",
				     fxt_duration(calls.total_ns / calls.count).text);
	}
	free(calls.name);
}
