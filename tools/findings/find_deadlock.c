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

/* What a thread of a circle waits for. */
struct wait {
	uint32_t thread, innermost;
	int64_t holder;                 /* the thread; -1: it is not known */
	char *lock;                     /* NULL: the end of `holder` */
	uint64_t for_ns;
};

/* Adds what one thread of the circle waits for, and its stack. Frees the name of the lock. */
static void add_thread(struct fxt_finding *x, const struct fxt_report *report, const struct wait *w)
{
	char *who = fxt_thread_label(report->r, w->thread, report->has_processes);
	char *where = fxt_who_culprit(report->who, FXT_FOR_LOCK, w->innermost, 48);
	char *of = fxt_format("where %s waits", who);
	char *holder = w->holder < 0		? fxt_strdup("a thread")
		       : w->holder == w->thread ? fxt_strdup("itself")
						: fxt_thread_label(report->r, (uint32_t)w->holder,
								   report->has_processes);

	fxt_finding_evidence(x, "%s %s%s of %s%s%s, for %s", who, w->lock ? "wants " : "waits for the end",
			     w->lock ? w->lock : "", holder, where ? " in " : "", where ? where : "",
			     fxt_duration(w->for_ns).text);
	if (w->for_ns > x->cost_ns)
		x->cost_ns = w->for_ns;
	fxt_finding_stack(x, of, FXT_FOR_LOCK, w->innermost);
	free(w->lock);
	free(holder);
	free(of);
	free(where);
	free(who);
}

static struct fxt_finding *new_circle(struct fxt_findings *f, uint32_t innermost, size_t count)
{
	struct fxt_finding *x =
		fxt_finding_add(f, innermost, FXT_FOR_LOCK,
				count == 1 ? "deadlock: %zu thread waits for itself, and does so for ever"
					   : "deadlock: %zu threads wait for each other, and do so for ever",
				count);

	x->share = 1;
	return x;
}

/* -- As the calls in progress tell ----------------------------------------------------------------- */

static int64_t holder_of(const struct fxt_report *report, int64_t thread)
{
	return fxt_contention_holder(&report->contention, report->r, (size_t)thread);
}

static struct wait wait_of(const struct fxt_report *report, int64_t thread)
{
	const struct fxt_blocked *b = &report->contention.blocked[thread];
	uint64_t end_ns = fxt_ends_thread_ns(&report->process_ends, report->r, (uint32_t)thread);

	return (struct wait){
		.thread = (uint32_t)thread,
		.innermost = fxt_calls_in_progress_stack(&report->open, (uint32_t)thread),
		.holder = holder_of(report, thread),
		.lock = b->is_join ? NULL : fxt_contention_lock(b->known, b->lock),
		.for_ns = fxt_ns_between(b->since_ns, end_ns),
	};
}

/* Adds the circle that the thread is in, and marks its threads. */
static void add_circle(const struct fxt_report *report, struct fxt_findings *f, size_t first, bool *told)
{
	const struct fxt_blocked *b = &report->contention.blocked[first];
	size_t count = 0;
	struct fxt_finding *x;
	int64_t at = (int64_t)first;

	for (; at >= 0 && !told[at]; at = holder_of(report, at)) {
		told[at] = true;
		count++;
	}
	x = new_circle(f, fxt_calls_in_progress_stack(&report->open, (uint32_t)first), count);
	if (!b->is_join)
		x->about = fxt_handle_of_lock(report->r, report->r->threads[first].pid, b->lock);
	at = (int64_t)first;
	for (size_t i = 0; i < count && at >= 0; i++, at = holder_of(report, at)) {
		struct wait w = wait_of(report, at);

		add_thread(x, report, &w);
	}
}

/* -- As the kernel's part tells, where fxt record -p watched ---------------------------------------- */

/* Returns the thread, or NULL: a trace that was made up may have it twice, with the awaited one nowhere. */
static const struct fxt_blocked_thread *watched(const struct fxt_report *report, uint32_t thread)
{
	const struct fxt_blocked_threads *b = &report->blocked;

	for (size_t i = 0; i < b->count; i++)
		if (b->list[i].thread == thread)
			return &b->list[i];
	return NULL;
}

/* Adds the circle that the thread is in, and marks its threads. */
static void add_watched_circle(const struct fxt_report *report, struct fxt_findings *f,
			       const struct fxt_blocked_thread *first, bool *told)
{
	const struct fxt_blocked_thread *list = report->blocked.list, *one;
	size_t count = 0;
	struct fxt_finding *x;

	for (one = first; one && !told[one - list]; one = watched(report, one->awaited)) {
		told[one - list] = true;
		count++;
	}
	x = new_circle(f, first->innermost, count);
	one = first;
	for (size_t i = 0; i < count && one; i++, one = watched(report, one->awaited)) {
		struct wait w = {one->thread, one->innermost, one->awaited, NULL,
				 fxt_ns_between(one->since_ns, one->at_ns)};

		if (one->lock)
			w.lock = fxt_format("mutex 0x%" PRIx64, one->lock);
		add_thread(x, report, &w);
	}
}

void fxt_find_deadlock(const struct fxt_report *report, struct fxt_findings *f)
{
	const struct fxt_contention *c = &report->contention;
	const struct fxt_blocked_threads *b = &report->blocked;
	bool *told = fxt_alloc(c->blocked_count + b->count + 1, sizeof(*told));

	for (size_t i = 0; i < c->blocked_count; i++)
		if (c->blocked[i].is_in_circle && !told[i])
			add_circle(report, f, i, told);
	for (size_t i = 0; i < b->count; i++)
		if (b->list[i].is_in_circle && !told[c->blocked_count + i])
			add_watched_circle(report, f, &b->list[i], told + c->blocked_count);
	free(told);
}
