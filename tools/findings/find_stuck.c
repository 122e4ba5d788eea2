/* Finds programs in which nothing goes on any more: threads and processes that wait for each other through
 * pipes, conditions, children and whatever else; a wakeup that came before its wait; an end of file that
 * never comes; and a lock that was held when its process was forked. stuck.h says who is stuck. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>

#include "rule_facts.h"
#include "stuck.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* What the threads of a group have in common. Each group is told by one rule. */
enum kind { DEADLOCK, FORK_LOCK, NO_END_OF_FILE, LOST_WAKEUP, OTHERWISE, NOT_STUCK };

static char *label_of(const struct fxt_report *report, const struct fxt_stuck_thread *t)
{
	return fxt_thread_label(report->r, t->thread, report->has_processes);
}

static uint64_t pid_of(const struct fxt_report *report, const struct fxt_stuck_thread *t)
{
	return report->r->threads[t->thread].pid;
}

static uint64_t for_ns(const struct fxt_report *report, const struct fxt_stuck_thread *t)
{
	return fxt_ns_between(t->since_ns, fxt_ends_thread_ns(&report->process_ends, report->r, t->thread));
}

static const struct fxt_stuck_child *as_child(const struct fxt_stuck *s, uint64_t pid)
{
	for (size_t i = 0; i < s->child_count; i++)
		if (s->children[i].pid == pid)
			return &s->children[i];
	return NULL;
}

/* Returns whether a process has made the other one, or one that did. */
static bool is_ancestor(const struct fxt_stuck *s, uint64_t pid, uint64_t of)
{
	const struct fxt_stuck_child *child = as_child(s, of);

	for (unsigned i = 0; child && i < 64; i++, child = as_child(s, child->parent))
		if (child->parent == pid)
			return true;
	return false;
}

/* -- End of file ---------------------------------------------------------------------------------- */

/* Returns the process that keeps a thread's end of file from coming, because it has the writing end and does
 * not use it; or 0. The thread's own process is one, as is one that has inherited the end and waits; what had
 * been read came from others. */
static uint64_t keeper_of(const struct fxt_stuck *s, const struct fxt_stuck_thread *t)
{
	const struct fxt_report *report = s->report;
	const struct fxt_standstill *still = &report->standstill;
	uint64_t own = pid_of(report, t), keeper = 0;

	if (t->awaits != FXT_AWAITS_FILE || t->told->wanted != FXT_WANTS_TO_READ)
		return 0;
	for (size_t i = fxt_standstill_holder(still, t->told->by); i < still->holder_count;
	     i = still->holders[i].next) {
		const struct fxt_holder *h = &still->holders[i];
		bool waits_for_it = false;

		if (!fxt_stuck_has_other_end(t, h))
			continue;
		if (h->pid == own) {
			keeper = keeper ? keeper : own;
			continue;
		}
		for (size_t k = 0; k < s->count; k++)
			waits_for_it |= pid_of(report, &s->list[k]) == h->pid && !s->list[k].may_go_on &&
					s->list[k].awaits == FXT_AWAITS_CHILD && is_ancestor(s, h->pid, own);
		if (!waits_for_it && (fxt_moved_out(&report->moved, h->pid, h->fd) ||
				      !fxt_moved_in(&report->moved, own, t->object)))
			return 0;
		keeper = h->pid;
	}
	return keeper;
}

/* -- Wakeups that came too early ------------------------------------------------------------------- */

static const struct fxt_woken *cond_of(const struct fxt_stuck *s, const struct fxt_stuck_thread *t)
{
	struct fxt_text call = fxt_symbol_text(s->report->r, t->call);

	return fxt_text_is(&call, "pthread_cond_wait") || fxt_text_is(&call, "cnd_wait")
		       ? fxt_repeats_cond(&s->report->repeats, pid_of(s->report, t), t->object)
		       : NULL;
}

/* Returns whether the condition was signalled right before the thread began to wait, by a thread that is
 * still there and does not wait for it itself. Where waits for it were of use before, a signal that is much
 * older was for one of those. */
static bool came_too_late(const struct fxt_stuck *s, const struct fxt_stuck_thread *t)
{
	enum { RIGHT_BEFORE_NS = 1000 * 1000 };
	const struct fxt_woken *cond = cond_of(s, t);
	const struct fxt_stuck_thread *signaller;

	if (!cond || !cond->signalled_ns || cond->signalled_ns > t->since_ns ||
	    !s->place[cond->signaller] || cond->signaller == t->thread)
		return false;
	signaller = &s->list[s->place[cond->signaller] - 1];
	return !(signaller->object == t->object && signaller->call == t->call) &&
	       (cond->waits == 0 || t->since_ns - cond->signalled_ns < RIGHT_BEFORE_NS);
}

/* Adds a finding, and frees `what`. It stands before that of who has ended the program, who did so because it
 * was stuck. */
static struct fxt_finding *new_finding(struct fxt_findings *f, uint32_t innermost,
				       enum fxt_purpose purpose, char *what)
{
	struct fxt_finding *x = fxt_finding_add(f, innermost, purpose, "%s", what);

	x->share = 1;
	x->cost_calls = 1;
	free(what);
	return x;
}

/* -- Groups ---------------------------------------------------------------------------------------- */

static enum kind kind_of(const struct fxt_stuck *s, const struct fxt_stuck_thread *t)
{
	const struct fxt_contention *c = &s->report->contention;

	if (t->thread < c->blocked_count && c->blocked[t->thread].is_in_circle)
		return DEADLOCK;
	if (t->awaits == FXT_AWAITS_NOBODY)
		return FORK_LOCK;
	if (keeper_of(s, t))
		return NO_END_OF_FILE;
	return came_too_late(s, t) ? LOST_WAKEUP : OTHERWISE;
}

/* Calls `add` for each group of this kind, with the thread that makes it one. */
static void for_each(const struct fxt_report *report, struct fxt_findings *f, enum kind kind,
		     void (*add)(const struct fxt_stuck *s, const struct fxt_stuck_thread *t,
				 struct fxt_findings *f))
{
	struct fxt_stuck s;
	enum kind *kinds;
	size_t *who;

	fxt_stuck_make(&s, report);
	kinds = fxt_alloc(s.count + 1, sizeof(*kinds));
	who = fxt_alloc(s.count + 1, sizeof(*who));
	for (size_t i = 0; i < s.count; i++)
		kinds[i] = NOT_STUCK;
	for (size_t i = 0; i < s.count; i++) {
		enum kind one = s.list[i].may_go_on ? NOT_STUCK : kind_of(&s, &s.list[i]);

		if (one < kinds[s.list[i].group]) {
			kinds[s.list[i].group] = one;
			who[s.list[i].group] = i;
		}
	}
	for (size_t i = 0; i < s.count; i++)
		if (kinds[i] == kind)
			add(&s, &s.list[who[i]], f);
	free(kinds);
	free(who);
	fxt_stuck_free(&s);
}

/* -- What a thread waits for, in words -------------------------------------------------------------- */

/* Returns who could let the thread go on: those who have the other end of its file. */
static char *holders_of(const struct fxt_stuck *s, const struct fxt_stuck_thread *t)
{
	const struct fxt_standstill *still = &s->report->standstill;
	uint64_t own = pid_of(s->report, t), one = 0;
	size_t more = 0;
	char *name, *text;

	for (size_t i = fxt_standstill_holder(still, t->told->by); i < still->holder_count;
	     i = still->holders[i].next) {
		const struct fxt_holder *h = &still->holders[i];

		if (!fxt_stuck_has_other_end(t, h) || h->pid == own || h->pid == one)
			continue;
		more += one != 0;
		one = one ? one : h->pid;
	}
	if (!one)
		return fxt_strdup("itself alone");
	name = fxt_rule_process(s->report, one);
	text = more ? fxt_format("%s and %zu more", name, more) : fxt_strdup(name);
	free(name);
	return text;
}

static char *object_of(const struct fxt_stuck *s, const struct fxt_stuck_thread *t)
{
	const struct fxt_report *report = s->report;
	const struct fxt_call_stack *open = &report->open.threads[t->thread];
	const struct fxt_call_in_progress *call = &open->list[open->count - 1];
	struct fxt_record rec;
	const struct fxt_object *known;

	fxt_reader_event_at(report->r, call->offset, call->provider, &rec);
	known = rec.arg_count ? fxt_object_of(&report->objects, report->r, &rec, &rec.args[0]) : NULL;
	return t->awaits == FXT_AWAITS_OTHERS || t->awaits == FXT_AWAITS_NOBODY
		       ? fxt_contention_lock(known, t->object)
		       : fxt_strdup("");
}

/* Returns what a thread waits for, as "waits in pthread_cond_wait for freed". */
static char *what_of(const struct fxt_stuck *s, const struct fxt_stuck_thread *t)
{
	const struct fxt_report *report = s->report;
	char *who, *call, *text;

	if (t->awaits == FXT_AWAITS_FILE) {
		bool is_pipe = fxt_symbol_text(report->r, t->told->file).text[0] == 'p';

		who = holders_of(s, t);
		text = t->told->wanted == FXT_WANTS_TO_READ
			       ? fxt_format("reads a %s that %s could write to",
					    is_pipe ? "pipe" : "socket", who)
			       : fxt_format("writes to a full %s that %s could read",
					    is_pipe ? "pipe" : "socket", who);
		free(who);
		return text;
	}
	call = fxt_rule_name(report, t->call, 32);
	if (t->awaits == FXT_AWAITS_THREAD) {
		who = fxt_thread_label(report->r, t->awaited, report->has_processes);
		text = fxt_format("waits in %s for %s", call, who);
	} else {
		who = object_of(s, t);
		text = fxt_format("waits in %s%s%s", call, *who ? " for " : "", who);
	}
	free(who);
	free(call);
	return text;
}

/* Adds a line about a thread, with its stack. `alike` others wait at the same place. */
static void add_thread(struct fxt_finding *x, const struct fxt_stuck *s, const struct fxt_stuck_thread *t,
		       size_t alike)
{
	const struct fxt_report *report = s->report;
	char *who = label_of(report, t), *what = what_of(s, t), *of = fxt_format("where %s waits", who);
	char *where = fxt_who_culprit(report->who, FXT_FOR_LOCK, t->innermost, 40);
	char *more = alike ? fxt_format(" and %zu more", alike) : fxt_strdup("");
	uint64_t ns = for_ns(report, t);

	fxt_finding_evidence(x, "%s%s %s%s%s", who, more, what, where ? " in " : "", where ? where : "");
	fxt_finding_stack(x, of, FXT_FOR_LOCK, t->innermost);
	x->cost_ns = ns > x->cost_ns ? ns : x->cost_ns;
	free(more);
	free(where);
	free(of);
	free(what);
	free(who);
}

/* -- Stuck ----------------------------------------------------------------------------------------- */

/* A place where threads of a group wait. */
struct place {
	const struct fxt_stuck_thread *first;
	size_t count;
};

/* Returns whether a thread waits at a place of the list, and counts it there. */
static bool is_at(const struct fxt_stuck *s, struct place *places, size_t count,
		  const struct fxt_stuck_thread *t)
{
	struct fxt_culprits *c = &s->report->who->culprits;
	uint32_t path = fxt_path_of(c, FXT_FOR_LOCK, t->innermost);

	for (size_t i = 0; i < count; i++) {
		const struct fxt_stuck_thread *other = places[i].first;

		if (path == FXT_NO_PATH || other->call != t->call ||
		    fxt_path_of(c, FXT_FOR_LOCK, other->innermost) != path)
			continue;
		places[i].count++;
		return true;
	}
	return false;
}

/* Returns how much a place says of why nothing goes on. A thread that waits for another one's end says least,
 * and where several wait it is no accident. */
static size_t tells(const struct place *p)
{
	const struct fxt_stuck_thread *t = p->first;

	return (t->innermost == FXT_NO_FRAME ? 0 : 1) + 2 * p->count +
	       (t->awaits == FXT_AWAITS_THREAD || t->awaits == FXT_AWAITS_CHILD ? 0 : 1000000);
}

/* Adds who gave a condition its last signal. */
static void add_signaller(struct fxt_finding *x, const struct fxt_stuck *s, const struct fxt_stuck_thread *t)
{
	const struct fxt_report *report = s->report;
	const struct fxt_woken *cond = cond_of(s, t);
	const struct fxt_slot *over;
	char *who;

	if (!cond || !cond->signalled_ns)
		return;
	who = fxt_thread_label(report->r, cond->signaller, report->has_processes);
	over = fxt_map_find(&report->standstill.over, cond->signaller, 0);
	if (over)
		fxt_finding_evidence(x, "it was last signalled by %s, which ended %s before", who,
				     fxt_duration(fxt_ns_between(over->value[0], report->overview.last_ns))
					     .text);
	else
		fxt_finding_evidence(x, "it was last signalled by %s, which waits too", who);
	free(who);
}

static void add_stuck(const struct fxt_stuck *s, const struct fxt_stuck_thread *t, struct fxt_findings *f)
{
	enum { PLACES = FXT_FINDING_EVIDENCE };
	struct place places[PLACES] = {{t, 1}};
	size_t count = 0, threads = 0, best = 0;
	struct fxt_finding *x;

	for (size_t i = 0; i < s->count; i++) {
		const struct fxt_stuck_thread *one = &s->list[i];

		if (one->may_go_on || one->group != t->group)
			continue;
		threads++;
		if (!is_at(s, places, count, one) && count < PLACES)
			places[count++] = (struct place){one, 1};
	}
	for (size_t i = 0; i < count; i++)
		best = tells(&places[i]) > tells(&places[best]) ? i : best;
	x = new_finding(f, places[best].first->innermost, FXT_FOR_LOCK,
		fxt_format(threads == 1 ? "stuck: %zu thread waits, and nobody is left who could let it go on"
					: "stuck: %zu threads wait, and only they could let each other go on",
			   threads));
	add_thread(x, s, places[best].first, places[best].count - 1);
	add_signaller(x, s, places[best].first);
	for (size_t i = 0; i < count; i++)
		if (i != best)
			add_thread(x, s, places[i].first, places[i].count - 1);
}

void fxt_find_stuck(const struct fxt_report *report, struct fxt_findings *f)
{
	for_each(report, f, OTHERWISE, add_stuck);
}

/* -- The other kinds -------------------------------------------------------------------------------- */

static void add_lost_wakeup(const struct fxt_stuck *s, const struct fxt_stuck_thread *t,
			    struct fxt_findings *f)
{
	const struct fxt_report *report = s->report;
	const struct fxt_woken *cond = cond_of(s, t);
	char *who = label_of(report, t), *what = object_of(s, t);
	char *signaller = fxt_thread_label(report->r, cond->signaller, report->has_processes);
	struct fxt_finding *x = new_finding(f, t->innermost, FXT_FOR_LOCK,
				    fxt_format("lost wakeup: %s waits for %s, which was signalled before",
					       who, what));

	x->cost_ns = for_ns(report, t);
	x->sure = cond->waits ? "likely" : NULL;
	fxt_finding_evidence(x, "last signalled %s before it began to wait, by %s, while it did not wait",
			     fxt_duration(t->since_ns - cond->signalled_ns).text, signaller);
	for (size_t i = 0; i < s->count; i++)
		if (!s->list[i].may_go_on && s->list[i].group == t->group && &s->list[i] != t)
			add_thread(x, s, &s->list[i], 0);
	free(signaller);
	free(what);
	free(who);
}

void fxt_find_lost_wakeup(const struct fxt_report *report, struct fxt_findings *f)
{
	for_each(report, f, LOST_WAKEUP, add_lost_wakeup);
}

static void add_no_end(const struct fxt_stuck *s, const struct fxt_stuck_thread *t, struct fxt_findings *f)
{
	const struct fxt_report *report = s->report;
	uint64_t keeper = keeper_of(s, t), own = pid_of(report, t);
	const struct fxt_stuck_child *child = keeper == own || is_ancestor(s, keeper, own)
						      ? NULL
						      : as_child(s, keeper);
	char *who = label_of(report, t), *other = fxt_rule_process(report, keeper);
	const char *thing = fxt_symbol_text(report->r, t->told->file).text[0] == 'p' ? "pipe" : "socket";
	struct fxt_finding *x = new_finding(f, child ? child->innermost : t->innermost,
				    child ? FXT_FOR_CALL : FXT_FOR_LOCK,
				    fxt_format("no end of file: %s reads a %s that %s can still write to",
					       who, thing, keeper == own ? "it" : other));

	if (child)
		fxt_finding_evidence(x, "%s has inherited that end from the process that started it here",
				     other);
	else
		fxt_finding_evidence(x, "%s has not closed that end, and does not write to it", other);
	add_thread(x, s, t, 0);
	for (size_t i = 0; i < s->count; i++)
		if (!s->list[i].may_go_on && pid_of(report, &s->list[i]) == keeper && &s->list[i] != t)
			add_thread(x, s, &s->list[i], 0);
	free(other);
	free(who);
}

/* Adds those that open a FIFO to write to it. Whoever opens one to read may be a service that waits for
 * somebody. */
static void find_fifos(const struct fxt_report *report, struct fxt_findings *f)
{
	enum { LEAST_NS = 20 * 1000 * 1000 };
	const struct fxt_standstill *still = &report->standstill;

	for (size_t i = 0; i < still->count; i++) {
		uint32_t thread = still->list[i].thread;
		const struct fxt_long_blocked *told = fxt_standstill_of(still, report->r, thread);
		uint64_t pid = report->r->threads[thread].pid, since_ns = told ? told->at_ns : 0, ns;
		const struct fxt_call_stack *open;
		struct fxt_finding *x;
		char *who, *path;

		if (!told || told->wanted != FXT_WANTS_A_READER ||
		    fxt_ends_status(&report->process_ends, pid) >= 0)
			continue;
		open = thread < report->open.count ? &report->open.threads[thread] : NULL;
		if (open && open->count)
			since_ns = open->list[open->count - 1].start_ns;
		ns = fxt_ns_between(since_ns, fxt_ends_thread_ns(&report->process_ends, report->r, thread));
		if (ns < LEAST_NS)
			continue;
		who = fxt_thread_label(report->r, thread, report->has_processes);
		path = fxt_rule_name(report, told->file, 48);
		x = new_finding(f, told->innermost, FXT_FOR_CALL,
			fxt_format("%s opens the FIFO %s to write to it, and nobody reads there", who, path));
		x->cost_ns = ns;
		fxt_finding_evidence(x, "open returns when another process opens the FIFO");
		free(path);
		free(who);
	}
}

void fxt_find_no_end_of_file(const struct fxt_report *report, struct fxt_findings *f)
{
	for_each(report, f, NO_END_OF_FILE, add_no_end);
	find_fifos(report, f);
}

static void add_fork_lock(const struct fxt_stuck *s, const struct fxt_stuck_thread *t,
			  struct fxt_findings *f)
{
	const struct fxt_report *report = s->report;
	const struct fxt_stuck_child *child = as_child(s, pid_of(report, t));
	char *who = label_of(report, t), *what = object_of(s, t);
	struct fxt_finding *x =
		new_finding(f, child ? child->innermost : FXT_NO_FRAME, FXT_FOR_CALL,
		    fxt_format("forked while %s was held: the child %s waits for it in vain", what, who));
	int64_t holder = fxt_contention_holder_anywhere(&report->contention, report->r, t->thread);
	char *other = holder < 0 ? NULL : fxt_thread_label(report->r, (uint32_t)holder, true);

	add_thread(x, s, t, 0);
	if (other)
		fxt_finding_evidence(x, "%s held it when the process was forked", other);
	free(other);
	free(what);
	free(who);
}

void fxt_find_fork_lock(const struct fxt_report *report, struct fxt_findings *f)
{
	for_each(report, f, FORK_LOCK, add_fork_lock);
}
