/* Finds locks that threads waited for long because others held them. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "rule_facts.h"
#include "tools/analysis/demangle.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* Returns whether the holders explain the waits. Where a lock is held for next to nothing, threads wait for
 * processors. */
static bool is_held(const struct fxt_contention *c, uint64_t key)
{
	enum { QUEUE = 32 };            /* so many threads in front of one may have the lock before it */
	uint64_t held_ns = 0, held_count = 0, total_ns = 0, count = 0;

	for (size_t i = 0; i < c->count; i++) {
		if (c->list[i].key != key)
			continue;
		held_ns += c->list[i].held_ns;
		held_count += c->list[i].held_count;
		total_ns += c->list[i].total_ns;
		count += c->list[i].count;
	}
	return !held_count || !count || held_ns / held_count * QUEUE >= total_ns / count;
}

static void print_rows(const struct fxt_report *report, const struct fxt_finding *x, FILE *out)
{
	fxt_contention_print_one(&report->contention, x->row, report->r, report->who, out);
}

/* So many samples have to say what holders did, and one place is to blame if it took so much of the time that
 * they computed. */
enum { LEAST_SAMPLES = 5, LEAST_PERCENT = 20 };

static const struct fxt_held_lock *what_holders_did(const struct fxt_report *report,
						    const struct fxt_contended *lock)
{
	for (size_t i = 0; i < report->held.count; i++)
		if (report->held.list[i].pid == lock->pid && report->held.list[i].lock == lock->lock &&
		    !report->held.list[i].label)
			return &report->held.list[i];
	return NULL;
}

/* Returns the node of a sample's stack that is in the function which gave up the lock: it had the work done
 * that others waited for. If there is none, returns the sample's own. */
static uint32_t who_had_it_done(const struct fxt_report *report, uint32_t sample, uint32_t unlock)
{
	enum { EXAMINED = 256 };
	const struct fxt_call_stacks *s = &report->who->stacks;
	uint32_t giver = fxt_culprit_of(&report->who->culprits, FXT_FOR_LOCK, unlock), at = sample;

	for (unsigned i = 0; giver != FXT_NO_FRAME && at != FXT_NO_FRAME && i < EXAMINED;
	     i++, at = s->frames[at].parent)
		if (s->frames[at].name && s->frames[at].name == s->frames[giver].name &&
		    s->frames[at].module == s->frames[giver].module)
			return at;
	return sample;
}

/* Adds in what holders computed. */
static void add_work(struct fxt_finding *x, const struct fxt_report *report, const struct fxt_held_lock *did)
{
	char *line = fxt_who_line(report->who, FXT_FOR_CALL, did->worked_in, fxt_width() - 44);

	fxt_finding_evidence(x, "%.0f%% of what its holders computed: %s",
			     100.0 * (double)did->worked_in_ns / (double)did->worked_ns, line ? line : "?");
	free(line);
}

/* Adds the finding of all entries of the lock, which are in the list from `first` on. The holder that ended
 * most of their time is to blame. */
static void add_lock(const struct fxt_report *report, struct fxt_findings *f, size_t first, uint64_t total_ns,
		     uint64_t count)
{
	const struct fxt_contended *one = &report->contention.list[first], *held = one;
	char *lock = fxt_contention_lock(one->known, one->lock), *what = fxt_wait_name(one->kind, lock);
	uint64_t max_ns = 0, held_ns = 0, held_count = 0;
	struct fxt_finding *x;
	bool is_seen;
	const struct fxt_held_lock *did = what_holders_did(report, one);
	char *waiter;

	if (did && fxt_rule_held_across_wait(report, did)) {
		free(what);
		free(lock);
		return;
	}
	for (size_t i = first; i < report->contention.count; i++) {
		const struct fxt_contended *other = &report->contention.list[i];

		if (other->key != one->key)
			continue;
		held = other->holder_ns > held->holder_ns ? other : held;
		max_ns = other->max_ns > max_ns ? other->max_ns : max_ns;
		held_ns += other->held_ns;
		held_count += other->held_count;
	}
	is_seen = did && did->worked_in != FXT_NO_FRAME && report->held.sample_ns &&
		  did->worked_ns >= LEAST_SAMPLES * report->held.sample_ns &&
		  did->worked_in_ns >= did->worked_ns / 100 * LEAST_PERCENT;
	x = fxt_finding_add(f,
			    is_seen ? who_had_it_done(report, did->worked_in, held->holder) : held->holder,
			    is_seen ? FXT_FOR_CALL : FXT_FOR_LOCK,
			    "lock contention: threads waited %s for %s", fxt_duration(total_ns).text, what);
	x->cost_ns = total_ns;
	x->cost_calls = count;
	x->row = first;
	x->about = fxt_handle_of_lock(report->r, one->pid, one->lock);
	x->print_rows = print_rows;
	if (held->holder == FXT_NO_FRAME && !is_seen) {
		struct fxt_text text = fxt_symbol_text(report->r, one->held_at);

		if (!fxt_text_is(&text, FXT_NO_PLACE))
			x->culprit = fxt_function_label(&text, 60);
	}
	fxt_finding_evidence(x, "%s wait%s, the longest %s%s%s", fxt_count(count).text, count == 1 ? "" : "s",
			     fxt_duration(max_ns).text, held_count ? "; it had been held for " : "",
			     held_count ? fxt_duration(held_ns / held_count).text : "");
	if (is_seen)
		add_work(x, report, did);
	waiter = fxt_who_line(report->who, FXT_FOR_LOCK, one->innermost, fxt_width() - 20);
	if (waiter)
		fxt_finding_evidence(x, "wanted by %s", waiter);
	fxt_finding_stack(x, "wanted by", FXT_FOR_LOCK, one->innermost);
	if (is_seen) {
		fxt_finding_stack(x, "computed meanwhile", FXT_FOR_CALL, did->worked_in);
		fxt_finding_stack(x, "given up by", FXT_FOR_LOCK, held->holder);
	}
	free(waiter);
	free(what);
	free(lock);
}

void fxt_find_contention(const struct fxt_report *report, struct fxt_findings *f)
{
	const struct fxt_contention *c = &report->contention;
	struct fxt_map locks = {0};
	struct fxt_slot *s;
	bool fresh;

	/* The list has an entry for each function that wanted the lock. */
	for (size_t i = 0; i < c->count; i++) {
		s = fxt_map_put(&locks, c->list[i].key, 0, &fresh);
		if (fresh)
			s->value[1] = i;
		s->value[0] += c->list[i].total_ns;
	}
	for (s = fxt_map_next(&locks, NULL); s; s = fxt_map_next(&locks, s)) {
		uint64_t count = 0;

		if (fxt_rule_percent(report, s->value[0]) < FXT_LEAST(contention) || !is_held(c, s->a))
			continue;
		for (size_t i = s->value[1]; i < c->count; i++)
			if (c->list[i].key == s->a)
				count += c->list[i].count;
		add_lock(report, f, s->value[1], s->value[0], count);
	}
	fxt_map_free(&locks);
}
