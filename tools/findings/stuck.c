/* See stuck.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "stuck.h"

#include <stdlib.h>
#include <string.h>

#include "rule_facts.h"
#include "tools/common/message.h"

/* A wait that is shorter may be over already: who was woken needs a processor. */
enum { LEAST_NS = 20 * 1000 * 1000 };
/* Whoever waits for others along a longer way counts as one that may go on. */
enum { MOST_STEPS = 64 };

struct call {
	const char *name;
	enum fxt_awaits awaits;
};

/* Calls without a time limit that end by what others do. FXT_AWAITS_THREAD: if it is known. */
static const struct call calls[] = {
	{"pthread_mutex_lock", FXT_AWAITS_THREAD},	{"mtx_lock", FXT_AWAITS_THREAD},
	{"pthread_spin_lock", FXT_AWAITS_THREAD},	{"pthread_rwlock_rdlock", FXT_AWAITS_THREAD},
	{"pthread_rwlock_wrlock", FXT_AWAITS_THREAD},	{"pthread_join", FXT_AWAITS_THREAD},
	{"thrd_join", FXT_AWAITS_THREAD},		{"pthread_cond_wait", FXT_AWAITS_OTHERS},
	{"cnd_wait", FXT_AWAITS_OTHERS},		{"sem_wait", FXT_AWAITS_OTHERS},
	{"pthread_barrier_wait", FXT_AWAITS_OTHERS},	{"wait", FXT_AWAITS_CHILD},
	{"waitpid", FXT_AWAITS_CHILD},			{"wait3", FXT_AWAITS_CHILD},
	{"wait4", FXT_AWAITS_CHILD},			{"waitid", FXT_AWAITS_CHILD},
	{"pclose", FXT_AWAITS_CHILD},			{"system", FXT_AWAITS_CHILD},
};

static enum fxt_awaits awaits_of(const struct fxt_report *report, uint32_t symbol)
{
	struct fxt_text name = fxt_symbol_text(report->r, symbol);

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (fxt_text_is(&name, calls[i].name))
			return calls[i].awaits;
	return FXT_AWAITS_UNKNOWN;
}

/* Returns whether signals may do what the program's own threads do: a timer's handler may post. */
static bool has_timers(const struct fxt_report *report)
{
	static const char *const names[] = {"setitimer", "alarm", "timer_create", "shmat", "sem_open"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (fxt_rule_times_called(report, names[i]))
			return true;
	return false;
}

static bool has_handlers(const struct fxt_report *report)
{
	return fxt_rule_times_called(report, "sigaction") || fxt_rule_times_called(report, "signal");
}

/* -- What threads wait for ------------------------------------------------------------------------- */

/* Returns whether the lock that a thread waits for is held, by what stands in it, by a thread of another
 * process. */
static bool is_held_elsewhere(const struct fxt_report *report, uint32_t thread)
{
	const struct fxt_contention *c = &report->contention;
	const struct fxt_reader *r = report->r;
	int64_t holder = fxt_contention_holder_anywhere(c, r, thread);

	return holder >= 0 && !c->blocked[thread].is_join &&
	       r->threads[holder].pid != r->threads[thread].pid;
}

/* Takes what the call in progress says. */
static void take_call(struct fxt_stuck *s, struct fxt_stuck_thread *t,
		      const struct fxt_call_in_progress *call)
{
	const struct fxt_report *report = s->report;
	struct fxt_record rec;
	int64_t holder;

	t->call = call->name;
	t->since_ns = call->start_ns;
	t->awaits = awaits_of(report, call->name);
	fxt_reader_event_at(report->r, call->offset, call->provider, &rec);
	if (rec.arg_count)
		fxt_argument_u64(&rec.args[0], &t->object);
	t->child = t->awaits == FXT_AWAITS_CHILD ? fxt_argument_or(&rec, "pid", 0) : 0;
	if ((int64_t)t->child <= 0)
		t->child = 0;
	if (t->awaits == FXT_AWAITS_THREAD) {
		holder = fxt_contention_holder(&report->contention, report->r, t->thread);
		t->awaited = holder < 0 ? 0 : (uint32_t)holder;
		if (holder < 0)
			t->awaits = FXT_AWAITS_OTHERS;
		if (holder < 0 && is_held_elsewhere(report, t->thread))
			t->awaits = FXT_AWAITS_NOBODY;
	}
	if ((t->awaits == FXT_AWAITS_OTHERS || t->awaits == FXT_AWAITS_NOBODY ||
	     t->awaits == FXT_AWAITS_THREAD) &&
	    fxt_standstill_is_shared(&report->standstill, t->object))
		t->awaits = FXT_AWAITS_UNKNOWN;
}

/* Finds what a thread waits for, and takes it into the list. */
static void take_thread(struct fxt_stuck *s, uint32_t thread, bool time_counts)
{
	const struct fxt_report *report = s->report;
	const struct fxt_call_stack *open =
		thread < report->open.count ? &report->open.threads[thread] : NULL;
	const struct fxt_long_blocked *told = fxt_standstill_of(&report->standstill, report->r, thread);
	struct fxt_stuck_thread *t = &s->list[s->count];
	uint64_t end_ns = fxt_ends_thread_ns(&report->process_ends, report->r, thread);

	if (!(open && open->count) && !told)
		return;
	*t = (struct fxt_stuck_thread){.thread = thread,
				       .innermost = fxt_calls_in_progress_stack(&report->open, thread),
				       .told = told};
	if (open && open->count)
		take_call(s, t, &open->list[open->count - 1]);
	if (told && (!t->call || told->at_ns >= t->since_ns)) {
		t->innermost = t->innermost == FXT_NO_FRAME ? told->innermost : t->innermost;
		t->since_ns = t->call ? t->since_ns : told->at_ns;
		if (told->by && (told->wanted == FXT_WANTS_TO_READ || told->wanted == FXT_WANTS_TO_WRITE))
			t->awaits = FXT_AWAITS_FILE;
	}
	if (time_counts && t->awaits != FXT_AWAITS_FILE)
		t->awaits = FXT_AWAITS_UNKNOWN;
	t->may_go_on = t->awaits == FXT_AWAITS_UNKNOWN || fxt_ns_between(t->since_ns, end_ns) < LEAST_NS;
	s->place[thread] = ++s->count;
}

/* -- Who may go on --------------------------------------------------------------------------------- */

/* Returns whether a process has ended by itself: what its threads were in then is of no interest. */
static bool has_exited(const struct fxt_report *report, uint64_t pid)
{
	return fxt_ends_status(&report->process_ends, pid) >= 0;
}

static bool is_over(const struct fxt_report *report, uint32_t thread)
{
	return fxt_map_find(&report->standstill.over, thread, 0) != NULL;
}

/* Returns whether it is a thread that was there at the end, and not a place for what belongs to none. */
static bool is_there(const struct fxt_report *report, const struct fxt_thread_time *t)
{
	return (t->has_events || t->is_told) && !report->r->threads[t->thread].is_track &&
	       !is_over(report, t->thread);
}

/* Returns whether a thread may do something. One that has ended does nothing; one that is in no call runs. */
static bool thread_goes_on(const struct fxt_stuck *s, uint32_t thread)
{
	return s->place[thread] ? s->list[s->place[thread] - 1].may_go_on : !is_over(s->report, thread);
}

static void count_one(struct fxt_stuck *s, uint32_t thread)
{
	bool fresh;

	fxt_map_put(&s->going, s->report->r->threads[thread].pid, 0, &fresh)->value[0]++;
}

/* Returns whether a thread of the process may go on. */
static bool any_goes_on(const struct fxt_stuck *s, uint64_t pid)
{
	return fxt_map_find(&s->going, pid, 0) != NULL;
}

bool fxt_stuck_process_goes_on(const struct fxt_stuck *s, uint64_t pid)
{
	return has_exited(s->report, pid) || any_goes_on(s, pid);
}

bool fxt_stuck_has_other_end(const struct fxt_stuck_thread *t, const struct fxt_holder *h)
{
	return t->told && h->file == t->told->by &&
	       (t->told->wanted == FXT_WANTS_TO_READ ? h->writes : h->reads);
}

static bool file_goes_on(const struct fxt_stuck *s, const struct fxt_stuck_thread *t)
{
	const struct fxt_standstill *still = &s->report->standstill;
	size_t first = fxt_standstill_holder(still, t->told->by), i;
	bool has_any = false;

	/* A younger process may have what its parent has, and nobody tells. */
	if (s->youngest_ns > t->told->at_ns)
		return true;
	for (i = first; i < still->holder_count; i = still->holders[i].next) {
		if (!fxt_stuck_has_other_end(t, &still->holders[i]))
			continue;
		has_any = true;
		if (fxt_stuck_process_goes_on(s, still->holders[i].pid))
			return true;
	}
	/* Nobody of the run has it: it is somebody else's. */
	return !has_any;
}

/* Returns whether a child that the thread waits for may end, or has ended. */
static bool child_goes_on(const struct fxt_stuck *s, const struct fxt_stuck_thread *t)
{
	uint64_t own = s->report->r->threads[t->thread].pid;
	bool has_child = false;
	int signal;

	for (size_t i = 0; i < s->child_count; i++) {
		const struct fxt_stuck_child *child = &s->children[i];

		if (child->parent != own || (t->child && t->child != child->pid &&
					     t->child != fxt_number(s->report->r, child->pid)))
			continue;
		has_child = true;
		/* One that was killed was killed with the rest. */
		if ((fxt_ends_known(&s->report->process_ends, child->pid, &signal) && !signal) ||
		    fxt_stuck_process_goes_on(s, child->pid))
			return true;
	}
	return !has_child;
}

static bool goes_on(const struct fxt_stuck *s, const struct fxt_stuck_thread *t)
{
	switch (t->awaits) {
	/* A lock whose holder has ended is held for ever; the end of a thread has come then. */
	case FXT_AWAITS_THREAD:
		return thread_goes_on(s, t->awaited) ||
		       (s->report->contention.blocked[t->thread].is_join && is_over(s->report, t->awaited));
	case FXT_AWAITS_OTHERS: return any_goes_on(s, s->report->r->threads[t->thread].pid);
	case FXT_AWAITS_CHILD: return child_goes_on(s, t);
	case FXT_AWAITS_FILE: return file_goes_on(s, t);
	case FXT_AWAITS_NOBODY: return false;
	default: return true;
	}
}

/* -- All of them ---------------------------------------------------------------------------------- */

/* A handler may post a semaphore. Where one thread alone waits for that, it may be all that it is for. */
static void spare_handlers(struct fxt_stuck *s)
{
	struct fxt_map waiting = {0};
	bool fresh;

	for (size_t i = 0; i < s->count; i++)
		fxt_map_put(&waiting, s->report->r->threads[s->list[i].thread].pid, 0, &fresh)->value[0]++;
	for (size_t i = 0; i < s->count; i++) {
		struct fxt_text call = fxt_symbol_text(s->report->r, s->list[i].call);
		uint64_t pid = s->report->r->threads[s->list[i].thread].pid;

		if (fxt_text_is(&call, "sem_wait") && fxt_map_find(&waiting, pid, 0)->value[0] == 1)
			s->list[i].may_go_on = true;
	}
	fxt_map_free(&waiting);
}

/* Takes the children that were not waited for, and when the youngest process began. */
static void take_processes(struct fxt_stuck *s)
{
	const struct fxt_report *report = s->report;
	struct fxt_map begins = {0};
	const struct fxt_slot *slot;
	bool fresh;

	for (size_t i = 0; i < report->made.alive_count; i++) {
		const struct fxt_alive *child = &report->made.alive[i];

		if (child->maker == FXT_NO_MAKER || !child->koid)
			continue;
		s->children = fxt_grow(s->children, &s->child_capacity, s->child_count + 1,
				       sizeof(*s->children));
		s->children[s->child_count++] = (struct fxt_stuck_child){
			child->koid, report->made.list[child->maker].pid,
			report->made.list[child->maker].innermost};
	}
	for (size_t i = 0; i < report->threads.count; i++) {
		const struct fxt_thread_time *t = &report->threads.list[i];
		struct fxt_slot *begin;

		if (!t->has_events && !t->is_told)
			continue;
		begin = fxt_map_put(&begins, report->r->threads[t->thread].pid, 0, &fresh);
		if (fresh || t->first_ns < begin->value[0])
			begin->value[0] = t->first_ns;
	}
	for (slot = fxt_map_next(&begins, NULL); slot; slot = fxt_map_next(&begins, slot))
		s->youngest_ns = slot->value[0] > s->youngest_ns ? slot->value[0] : s->youngest_ns;
	fxt_map_free(&begins);
}

/* Puts processes together whose threads wait for each other. */
static size_t root_of(size_t *groups, size_t at)
{
	while (groups[at] != at)
		at = groups[at] = groups[groups[at]];
	return at;
}

static void make_groups(struct fxt_stuck *s)
{
	const struct fxt_reader *r = s->report->r;
	const struct fxt_standstill *still = &s->report->standstill;
	size_t *groups = fxt_alloc(s->count + 1, sizeof(*groups));
	struct fxt_map first = {0};
	const struct fxt_slot *other;
	bool fresh;

	for (size_t i = 0; i < s->count; i++) {
		struct fxt_slot *slot = fxt_map_put(&first, r->threads[s->list[i].thread].pid, 0, &fresh);

		if (fresh)
			slot->value[0] = i;
		groups[i] = slot->value[0];
	}
	for (size_t i = 0; i < s->count; i++) {
		const struct fxt_stuck_thread *t = &s->list[i];

		if (t->may_go_on)
			continue;
		for (size_t k = 0; t->awaits == FXT_AWAITS_CHILD && k < s->child_count; k++)
			if (s->children[k].parent == r->threads[t->thread].pid &&
			    (other = fxt_map_find(&first, s->children[k].pid, 0)))
				groups[root_of(groups, other->value[0])] = root_of(groups, i);
		if (t->awaits != FXT_AWAITS_FILE)
			continue;
		for (size_t k = fxt_standstill_holder(still, t->told->by); k < still->holder_count;
		     k = still->holders[k].next)
			if (fxt_stuck_has_other_end(t, &still->holders[k]) &&
			    (other = fxt_map_find(&first, still->holders[k].pid, 0)))
				groups[root_of(groups, other->value[0])] = root_of(groups, i);
	}
	for (size_t i = 0; i < s->count; i++)
		s->list[i].group = root_of(groups, i);
	fxt_map_free(&first);
	free(groups);
}

void fxt_stuck_make(struct fxt_stuck *s, const struct fxt_report *report)
{
	const struct fxt_reader *r = report->r;
	bool time_counts = has_timers(report), has_changed = true;
	unsigned steps = 0;

	*s = (struct fxt_stuck){
		.report = report,
		.list = fxt_alloc(r->thread_count + 1, sizeof(*s->list)),
		.place = fxt_alloc(r->thread_count + 1, sizeof(*s->place)),
	};
	take_processes(s);
	for (size_t i = 0; i < report->threads.count; i++)
		if (is_there(report, &report->threads.list[i]) &&
		    !has_exited(report, r->threads[report->threads.list[i].thread].pid))
			take_thread(s, report->threads.list[i].thread, time_counts);
	if (has_handlers(report))
		spare_handlers(s);
	for (size_t i = 0; i < report->threads.count; i++)
		if (is_there(report, &report->threads.list[i]) &&
		    thread_goes_on(s, report->threads.list[i].thread))
			count_one(s, report->threads.list[i].thread);
	while (has_changed) {
		has_changed = false;
		for (size_t i = 0; i < s->count; i++) {
			if (s->list[i].may_go_on || (steps < MOST_STEPS && !goes_on(s, &s->list[i])))
				continue;
			has_changed = s->list[i].may_go_on = true;
			count_one(s, s->list[i].thread);
		}
		steps++;
	}
	make_groups(s);
}

void fxt_stuck_free(struct fxt_stuck *s)
{
	free(s->list);
	free(s->place);
	free(s->children);
	fxt_map_free(&s->going);
}
