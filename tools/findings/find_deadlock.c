/* Finds threads that wait for each other in a circle when the trace ends: for locks, or for the ends of each
 * other. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>

#include "rules.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* Adds what one thread of the circle waits for, and its stack. */
static void add_thread(struct fxt_finding *x, const struct fxt_report *report, size_t thread)
{
	const struct fxt_blocked *b = &report->contention.blocked[thread];
	char *who = fxt_thread_label(report->r, (uint32_t)thread, report->has_processes);
	uint64_t for_ns = fxt_ns_between(b->since_ns, fxt_ends_thread_ns(&report->process_ends, report->r,
									  (uint32_t)thread));
	uint32_t stack = fxt_calls_in_progress_stack(&report->open, (uint32_t)thread);
	char *holder_name, *where = fxt_who_culprit(report->who, FXT_FOR_LOCK, stack, 48);
	int64_t holder = fxt_contention_holder(&report->contention, report->r, thread);
	char *of = fxt_format("where %s waits", who);

	holder_name = holder < 0 ? fxt_strdup("a thread")
				 : fxt_thread_label(report->r, (uint32_t)holder, report->has_processes);
	if (b->is_join) {
		fxt_finding_evidence(x, "%s waits for the end of %s%s%s, for %s", who,
				     holder == (int64_t)thread ? "itself" : holder_name, where ? " in " : "",
				     where ? where : "", fxt_duration(for_ns).text);
	} else {
		char *lock = fxt_contention_lock(b->known, b->lock);

		fxt_finding_evidence(x, "%s wants %s of %s%s%s, for %s", who, lock,
				     holder == (int64_t)thread ? "itself" : holder_name, where ? " in " : "",
				     where ? where : "", fxt_duration(for_ns).text);
		free(lock);
	}
	if (for_ns > x->cost_ns)
		x->cost_ns = for_ns;
	fxt_finding_stack(x, of, FXT_FOR_LOCK, stack);
	free(of);
	free(where);
	free(holder_name);
	free(who);
}

/* Adds the circle that the thread is in, and marks its threads. */
static void add_circle(const struct fxt_report *report, struct fxt_findings *f, size_t first, bool *told)
{
	size_t count = 0;
	struct fxt_finding *x;
	int64_t at = (int64_t)first;

	for (; at >= 0 && !told[at]; at = fxt_contention_holder(&report->contention, report->r, (size_t)at)) {
		told[at] = true;
		count++;
	}
	x = fxt_finding_add(f, fxt_calls_in_progress_stack(&report->open, (uint32_t)first), FXT_FOR_LOCK,
			    count == 1 ? "deadlock: %zu thread waits for itself, and does so for ever"
				       : "deadlock: %zu threads wait for each other, and do so for ever",
			    count);
	x->share = 1;
	if (!report->contention.blocked[first].is_join)
		x->about = fxt_handle_of_lock(report->r, report->r->threads[first].pid,
					      report->contention.blocked[first].lock);
	at = (int64_t)first;
	for (size_t i = 0; i < count && at >= 0; i++) {
		add_thread(x, report, (size_t)at);
		at = fxt_contention_holder(&report->contention, report->r, (size_t)at);
	}
}

void fxt_find_deadlock(const struct fxt_report *report, struct fxt_findings *f)
{
	const struct fxt_contention *c = &report->contention;
	bool *told = fxt_alloc(c->blocked_count + 1, sizeof(*told));

	for (size_t i = 0; i < c->blocked_count; i++)
		if (c->blocked[i].is_in_circle && !told[i])
			add_circle(report, f, i, told);
	free(told);
}
