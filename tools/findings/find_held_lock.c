/* Finds locks that their holders keep while they wait for something else: a pause, a peer, a child. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "rule_facts.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

bool fxt_rule_held_across_wait(const struct fxt_report *report, const struct fxt_held_lock *l)
{
	return l->waited_in != FXT_NO_FRAME && l->lost_ns >= l->total_ns / 2 &&
	       fxt_rule_percent(report, l->lost_ns) >= FXT_LEAST(held_lock);
}

void fxt_find_held_lock(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->held.count; i++) {
		const struct fxt_held_lock *l = &report->held.list[i];
		char *label, *what, *call, *waiter;
		struct fxt_finding *x;

		if (!fxt_rule_held_across_wait(report, l))
			continue;
		label = l->label ? fxt_strdup(l->label) : fxt_contention_lock(l->known, l->lock);
		what = fxt_wait_name(l->kind, label);
		call = fxt_rule_name(report, l->waited_call, 32);
		x = fxt_finding_add(f, l->waited_in, FXT_FOR_CALL,
				    "held across a wait: who had %s waited in %s, and others for that", what,
				    call);
		x->about = l->label ? fxt_handle_of_name(FXT_HANDLE_FILE, l->label)
				    : fxt_handle_of_lock(report->r, l->pid, l->lock);
		x->cost_ns = l->lost_ns;
		x->cost_calls = l->count;
		fxt_finding_evidence(x, "%s wait%s for it in all, %s, the longest %s",
				     fxt_count(l->count).text, l->count == 1 ? "" : "s",
				     fxt_duration(l->total_ns).text, fxt_duration(l->max_ns).text);
		waiter = fxt_who_line(report->who, FXT_FOR_LOCK, l->innermost, fxt_width() - 20);
		if (waiter)
			fxt_finding_evidence(x, "wanted by %s", waiter);
		fxt_finding_stack(x, "wanted by", FXT_FOR_LOCK, l->innermost);
		free(waiter);
		free(call);
		free(what);
		free(label);
	}
}
