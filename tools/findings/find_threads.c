/* Finds threads that are too many, that have unequal work, or that are all busy while work queues; and loops
 * that serve many and are blocked. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "rule_facts.h"
#include "rule_threads.h"
#include "tools/printing/print.h"

/* -- Too many threads ------------------------------------------------------------------------------- */

/* Returns how many processors the kernel told of. */
static uint64_t processors(const struct fxt_report *report)
{
	uint64_t count = 0;

	for (size_t i = 0; i < report->r->thread_count; i++)
		count += report->r->threads[i].pid == FXT_KERNEL_PROVIDER_ID;
	return count;
}

static uint64_t life_ns(const struct fxt_rule_thread *t)
{
	return fxt_ns_between(t->begin_ns, t->end_ns);
}

static uint64_t busy_ns(const struct fxt_rule_thread *t)
{
	return t->times.running_ns + t->times.ready_ns;
}

static uint64_t middle_of_time(const struct fxt_rule_thread *t)
{
	return t->begin_ns + life_ns(t) / 2;
}

/* Returns how many threads of the group there are in the middle of the life of one of them, which are busy
 * for three quarters of their lives; the most that there are for any of them. */
static uint64_t busy_at_once(const struct fxt_rule_group *g)
{
	enum { LOOKED_AT = 256 }; /* so that a trace with many threads takes no square of their number */
	size_t step = g->count / LOOKED_AT + 1;
	uint64_t most = 0;

	for (size_t i = 0; i < g->count; i += step) {
		uint64_t at_ns = middle_of_time(&g->list[i]), count = 0;

		for (size_t k = 0; k < g->count; k++) {
			const struct fxt_rule_thread *t = &g->list[k];

			count += t->begin_ns <= at_ns && at_ns <= t->end_ns &&
				 busy_ns(t) >= life_ns(t) / 4 * 3;
		}
		most = count > most ? count : most;
	}
	return most;
}

void fxt_find_too_many_threads(const struct fxt_report *report, struct fxt_findings *f)
{
	uint64_t cpus = processors(report);
	size_t count;
	struct fxt_rule_group *groups = fxt_rule_groups(report, &count);

	for (size_t i = 0; cpus && i < count; i++) {
		const struct fxt_rule_group *g = &groups[i];
		uint64_t running_ns = 0, ready_ns = 0, preemptions = 0, most;
		struct fxt_finding *x;

		for (size_t k = 0; k < g->count; k++) {
			running_ns += g->list[k].times.running_ns;
			ready_ns += g->list[k].times.ready_ns;
			preemptions += g->list[k].times.preemptions;
		}
		if (g->count < 8 || ready_ns < running_ns * 2 || running_ns < fxt_rule_run_ns(report) / 5)
			continue;
		most = busy_at_once(g);
		if (most < 8 || most < cpus * (uint64_t)FXT_LEAST(too_many_threads))
			continue;
		x = fxt_finding_add(f, g->maker, FXT_FOR_CALL,
				    "%s threads computed at once, on %s processor%s", fxt_count(most).text,
				    fxt_count(cpus).text, cpus == 1 ? "" : "s");
		fxt_finding_evidence(
			x, "they ran for %s, and were ready for %s; %s times one had to stop for another",
			fxt_duration(running_ns).text, fxt_duration(ready_ns).text,
			fxt_count(preemptions).text);
		x->cost_calls = most;
	}
	fxt_rule_free_groups(groups, count);
}

/* -- Unequal work ----------------------------------------------------------------------------------- */

/* Adds a finding about the thread that the others of so many waited for: each of them so long in the mean. */
static void add_unequal(const struct fxt_report *report, struct fxt_findings *f, uint32_t thread,
			uint64_t count, uint64_t mean_ns, bool is_join)
{
	uint64_t samples, longest = 0;
	uint32_t who = fxt_rule_computes_in(report, thread, &samples);
	char *label = fxt_thread_label(report->r, thread, report->has_processes);
	struct fxt_finding *x;

	/* A thread that waited instead of computing is told by where it waited. */
	for (size_t i = 0; samples < 5 && i < report->thread_waits.count; i++) {
		const struct fxt_thread_wait *wait = &report->thread_waits.list[i];

		if (wait->thread == thread && wait->ns > longest) {
			longest = wait->ns;
			who = wait->innermost;
		}
	}
	x = fxt_finding_add(f, who, FXT_FOR_CALL,
			    is_join ? "unequal work: of %s threads one went on when the others had ended"
				    : "unequal work: of %s threads at a barrier one was always the last",
			    fxt_count(count).text);
	fxt_finding_evidence(x, is_join ? "it was %s, for %s" : "it was %s; the others waited %s in the mean",
			     label, fxt_duration(mean_ns).text);
	x->cost_ns = mean_ns;
	free(label);
}

/* Finds barriers for which one thread is always the last. */
static void find_at_barriers(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->waits.count; i++) {
		const struct fxt_wait *w = &report->waits.list[i];
		const struct fxt_waiter *last;
		uint64_t mean_ns;

		if (strcmp(w->kind, "barrier") || w->waiter_count < 3)
			continue;
		/* They are sorted, so this one waited least. */
		last = &w->waiters[w->waiter_count - 1];
		mean_ns = (w->total_ns - last->total_ns) / (w->waiter_count - 1);
		if (fxt_rule_percent(report, mean_ns) < FXT_LEAST(unequal_work) ||
		    last->total_ns > mean_ns / 4 || w->waiters[w->waiter_count - 2].total_ns < mean_ns / 2)
			continue;
		add_unequal(report, f, last->thread, w->waiter_count, mean_ns, false);
	}
}

/* Returns whether some thread waited for the end of this one. */
static bool is_joined(const struct fxt_report *report, uint32_t thread)
{
	return fxt_map_find(&report->chains.joined, thread, 0);
}

/* Finds threads that were made together and joined, of which one went on for long when the others had
 * ended. */
static void find_at_joins(const struct fxt_report *report, struct fxt_findings *f)
{
	size_t count;
	struct fxt_rule_group *groups = fxt_rule_groups(report, &count);

	for (size_t i = 0; i < count; i++) {
		const struct fxt_rule_group *g = &groups[i];
		const struct fxt_rule_thread *last = g->list, *next = NULL;
		uint64_t first_ns = UINT64_MAX, last_begin_ns = 0, extra_ns;

		if (g->count < 3)
			continue;
		for (size_t k = 0; k < g->count; k++) {
			const struct fxt_rule_thread *t = &g->list[k];

			first_ns = t->begin_ns < first_ns ? t->begin_ns : first_ns;
			last_begin_ns = t->begin_ns > last_begin_ns ? t->begin_ns : last_begin_ns;
			last = t->end_ns > last->end_ns ? t : last;
		}
		for (size_t k = 0; k < g->count; k++)
			if (&g->list[k] != last && (!next || g->list[k].end_ns > next->end_ns))
				next = &g->list[k];
		extra_ns = fxt_ns_between(next->end_ns, last->end_ns);
		/* The others take half as long at most, and were made at the same time. */
		if (fxt_rule_percent(report, extra_ns) < FXT_LEAST(unequal_work) ||
		    fxt_ns_between(first_ns, next->end_ns) > extra_ns ||
		    fxt_ns_between(first_ns, last_begin_ns) > extra_ns / 4 || busy_ns(last) < extra_ns / 2 ||
		    !is_joined(report, last->thread))
			continue;
		add_unequal(report, f, last->thread, g->count, extra_ns, true);
	}
	fxt_rule_free_groups(groups, count);
}

void fxt_find_unequal_work(const struct fxt_report *report, struct fxt_findings *f)
{
	find_at_barriers(report, f);
	find_at_joins(report, f);
}

/* -- Pools that are full ------------------------------------------------------------------------------ */

/* Returns whether the wait is for the world outside, and not for something to do. */
static bool is_work(const struct fxt_report *report, const struct fxt_thread_wait *wait)
{
	static const char *const idle[] = {"accept",	   "accept4",	 "poll",	"ppoll",
					   "select",	   "pselect",	 "epoll_wait",	"epoll_pwait",
					   "epoll_pwait2", "sigwait",	 "sigwaitinfo", "sigtimedwait",
					   "pause",	   "sigsuspend", "mq_receive",	"msgrcv"};
	struct fxt_text name = fxt_symbol_text(report->r, wait->name);

	if (!wait->role || wait->role->family == FXT_FAMILY_WAIT)
		return false;
	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
		if (fxt_text_is(&name, idle[i]))
			return false;
	return true;
}

/* Finds where the thread waits longest for the world outside. */
static const struct fxt_thread_wait *longest_work(const struct fxt_report *report, uint32_t thread)
{
	const struct fxt_thread_wait *longest = NULL;

	for (size_t i = 0; i < report->thread_waits.count; i++) {
		const struct fxt_thread_wait *wait = &report->thread_waits.list[i];

		if (wait->thread == thread && (!longest || wait->ns > longest->ns) && is_work(report, wait))
			longest = wait;
	}
	return longest;
}

/* Returns the wait that all threads of the group spend most of their lives in, or NULL. Each has begun it
 * anew several times. */
static const struct fxt_thread_wait *common_work(const struct fxt_report *report,
						 const struct fxt_rule_group *g, uint64_t *all_ns)
{
	enum { AGAIN = 5 };
	struct fxt_culprits *culprits = &report->who->culprits;
	const struct fxt_thread_wait *common = NULL;
	uint32_t common_path = FXT_NO_PATH;

	*all_ns = 0;
	for (size_t i = 0; i < g->count; i++) {
		const struct fxt_thread_wait *wait = longest_work(report, g->list[i].thread);
		uint32_t path = wait ? fxt_path_of(culprits, FXT_FOR_CALL, wait->innermost) : FXT_NO_PATH;

		if (path == FXT_NO_PATH || wait->count < AGAIN ||
		    wait->ns < life_ns(&g->list[i]) / 5 * 3)
			return NULL;
		path = fxt_path_short(culprits, FXT_FOR_CALL, path);
		if (common && path != common_path)
			return NULL;
		common_path = path;
		*all_ns += wait->ns;
		if (!common || wait->ns > common->ns)
			common = wait;
	}
	return common;
}

void fxt_find_full_pool(const struct fxt_report *report, struct fxt_findings *f)
{
	size_t count;
	struct fxt_rule_group *groups = fxt_rule_groups(report, &count);

	for (size_t i = 0; i < count; i++) {
		const struct fxt_rule_group *g = &groups[i];
		uint64_t all_ns, waits, waited_ns, requests;
		const struct fxt_thread_wait *work;
		struct fxt_finding *x;
		char *name;

		/* Looking for each thread's waits takes time for each of all. */
		if (g->count < 2 || g->count > 256)
			continue;
		waited_ns = fxt_rule_waited_for(report, g, false, &waits);
		if (waits < 8 || fxt_rule_percent(report, waited_ns) < FXT_LEAST(full_pool))
			continue;
		work = common_work(report, g, &all_ns);
		/* Threads that others ask, as those of a server, wait to be asked. */
		if (!work || fxt_rule_waited_for(report, g, true, &requests) > all_ns / 4)
			continue;
		name = fxt_rule_name(report, work->name, 24);
		x = fxt_finding_add(f, work->innermost, FXT_FOR_CALL,
				    "a pool is full: all its %s threads spend their time in %s",
				    fxt_count(g->count).text, name);
		fxt_finding_evidence(x, "they were in it for %s; others waited for them %s times",
				     fxt_duration(all_ns).text, fxt_count(waits).text);
		fxt_finding_stack(x, "threads made by", FXT_FOR_CALL, g->maker);
		x->sure = "likely";
		x->cost_ns = waited_ns;
		x->cost_calls = waits;
		free(name);
	}
	fxt_rule_free_groups(groups, count);
}

/* -- Loops that are blocked --------------------------------------------------------------------------- */

/* Returns where the thread computes, if that is what makes its turns long: half of its samples are there, and
 * it ran for a good part of the time in which it could. A thread that others keep from the processor has long
 * turns as well. */
static uint32_t computes_for_long(const struct fxt_report *report, uint32_t thread)
{
	uint64_t samples;
	uint32_t who = fxt_rule_computes_in(report, thread, &samples);

	for (size_t i = 0; i < report->processor.thread_count; i++) {
		const struct fxt_processor_thread *t = &report->processor.threads[i];

		if (t->thread == thread && samples >= 8 && samples * 2 >= t->samples &&
		    t->times.running_ns >= t->times.ready_ns / 4)
			return who;
	}
	return FXT_NO_FRAME;
}

void fxt_find_blocked_loop(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->thread_waits.turn_count; i++) {
		const struct fxt_turns *t = &report->thread_waits.turns[i];
		bool waits = t->waiting_ns > t->long_ns / 2;
		uint32_t who = FXT_NO_FRAME;
		struct fxt_stack_sum most;
		struct fxt_finding *x;

		if (t->polls < 20 || t->watched < 3 || t->long_count < 3 ||
		    t->ready * 3 < t->long_count * 2 ||
		    fxt_rule_percent(report, t->long_ns) < FXT_LEAST(blocked_loop))
			continue;
		if (waits &&
		    fxt_stack_sums_most(&report->thread_waits.in_turns, i, report->who, FXT_FOR_CALL, &most))
			who = most.innermost;
		else if (!waits)
			who = computes_for_long(report, (uint32_t)i);
		if (who == FXT_NO_FRAME)
			continue;
		x = fxt_finding_add(f, who, FXT_FOR_CALL, "a loop that serves many was kept from it %s times",
				    fxt_count(t->long_count).text);
		fxt_finding_evidence(x, "it %s for %s in the mean, and %s times something was ready then",
				     waits ? "waited here" : "computed",
				     fxt_duration(t->long_ns / t->long_count).text, fxt_count(t->ready).text);
		x->sure = "likely";
		x->cost_ns = t->long_ns;
		x->cost_calls = t->long_count;
	}
}
