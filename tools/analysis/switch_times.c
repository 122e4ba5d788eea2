/* For how long threads ran, were ready, or were blocked. See switch_times.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "switch_times.h"

#include <stdlib.h>

#include "tools/common/message.h"

static struct fxt_switch_thread *bearer_of(struct fxt_switch_times *t, const struct fxt_record *rec,
					   uint64_t tid)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&t->by_tid, rec->provider->index, tid, &fresh);

	if (fresh) {
		s->value[0] = t->count;
		t->list = fxt_grow(t->list, &t->capacity, t->count + 1, sizeof(*t->list));
		t->list[t->count++] = (struct fxt_switch_thread){.tid = tid};
	}
	return &t->list[s->value[0]];
}

static struct fxt_switch_sums *sums_of(struct fxt_switch_times *t, struct fxt_switch_thread *one)
{
	if (!one->is_known)
		return &one->sums;
	t->sums = fxt_reach(t->sums, &t->sum_capacity, &t->sum_count, one->thread, sizeof(*t->sums));
	return &t->sums[one->thread];
}

/* Adds the time since the thread's last change. Times that go back count as none. */
static void add_time(struct fxt_switch_times *t, struct fxt_switch_thread *one, uint64_t at_ns)
{
	struct fxt_switch_sums *sums = sums_of(t, one);
	uint64_t ns = at_ns > one->since_ns ? at_ns - one->since_ns : 0;

	switch (one->state) {
	case FXT_SWITCH_RUNNING: sums->running_ns += ns; break;
	case FXT_SWITCH_READY: sums->ready_ns += ns; break;
	case FXT_SWITCH_BLOCKED: sums->blocked_ns += ns; break;
	default: break;
	}
}

static void become(struct fxt_switch_thread *one, enum fxt_switch_state state, uint64_t at_ns)
{
	one->state = state;
	one->since_ns = at_ns;
}

/* Says which thread bears the id from now on. Another one that bore it before has ended. */
static void know(struct fxt_switch_times *t, struct fxt_switch_thread *one, uint32_t thread)
{
	struct fxt_switch_sums before = one->sums, *sums;

	if (one->is_known && one->thread == thread)
		return;
	if (one->is_known)
		one->state = FXT_SWITCH_UNKNOWN;
	one->is_known = true;
	one->thread = thread;
	one->sums = (struct fxt_switch_sums){0};
	sums = sums_of(t, one);
	sums->running_ns += before.running_ns;
	sums->ready_ns += before.ready_ns;
	sums->blocked_ns += before.blocked_ns;
	sums->switches += before.switches;
	sums->preemptions += before.preemptions;
}

static enum fxt_switch_state state_of(unsigned state)
{
	switch (state) {
	case FXT_THREAD_RUNNING: return FXT_SWITCH_READY;
	case FXT_THREAD_NEW:
	case FXT_THREAD_SUSPENDED:
	case FXT_THREAD_BLOCKED: return FXT_SWITCH_BLOCKED;
	default: return FXT_SWITCH_ENDED;
	}
}

static void leave(struct fxt_switch_times *t, struct fxt_switch_thread *one, unsigned state, uint64_t at_ns)
{
	struct fxt_switch_sums *sums = sums_of(t, one);

	if (one->state == FXT_SWITCH_ENDED)
		return;
	sums->switches++;
	sums->preemptions += state == FXT_THREAD_RUNNING;
	/* If it was not running, the switch in between is missing. */
	if (one->state == FXT_SWITCH_RUNNING)
		add_time(t, one, at_ns);
	become(one, state_of(state), at_ns);
}

static void enter(struct fxt_switch_times *t, struct fxt_switch_thread *one, uint64_t at_ns)
{
	/* A thread that has ended does not run again. Another one has its id now. */
	if (one->state == FXT_SWITCH_ENDED)
		one->is_known = false;
	else if (one->state != FXT_SWITCH_RUNNING)
		add_time(t, one, at_ns);
	become(one, FXT_SWITCH_RUNNING, at_ns);
}

void fxt_switch_times_switch(struct fxt_switch_times *t, const struct fxt_record *rec)
{
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks);

	t->switches++;
	if (rec->id)
		leave(t, bearer_of(t, rec, rec->id), rec->state, at_ns);
	if (rec->extra)
		enter(t, bearer_of(t, rec, rec->extra), at_ns);
}

void fxt_switch_times_runs(struct fxt_switch_times *t, const struct fxt_reader *r,
			   const struct fxt_record *rec, uint32_t thread)
{
	struct fxt_switch_thread *one = bearer_of(t, rec, r->threads[thread].tid);
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks);

	know(t, one, thread);
	/* Records of two processors may be in the wrong order by a little. */
	if (one->state == FXT_SWITCH_RUNNING || (one->state != FXT_SWITCH_UNKNOWN && at_ns <= one->since_ns))
		return;
	become(one, FXT_SWITCH_RUNNING, at_ns);
}

void fxt_switch_times_gap(struct fxt_switch_times *t, const struct fxt_record *rec)
{
	for (const struct fxt_slot *s = fxt_map_next(&t->by_tid, NULL); s; s = fxt_map_next(&t->by_tid, s))
		if (s->a == rec->provider->index && t->list[s->value[0]].state != FXT_SWITCH_ENDED)
			t->list[s->value[0]].state = FXT_SWITCH_UNKNOWN;
}

void fxt_switch_times_end(struct fxt_switch_times *t, const struct fxt_reader *r,
			  const struct fxt_record *rec, uint32_t thread)
{
	const struct fxt_trace_thread *known = &r->threads[thread];
	struct fxt_switch_thread *one = bearer_of(t, rec, known->tid);
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks);
	bool fresh;

	know(t, one, thread);
	if (one->state == FXT_SWITCH_RUNNING)
		add_time(t, one, at_ns);
	become(one, FXT_SWITCH_ENDED, at_ns);
	if (known->pid == known->tid)
		fxt_map_put(&t->exits, known->pid, 0, &fresh)->value[0] = at_ns;
}

/* -- The end ----------------------------------------------------------------------------------------- */

/* Finds the threads of which there are switches only, by the ids of all threads of the trace. If several
 * threads had the id, it is not known which of them it was. */
static void know_the_rest(struct fxt_switch_times *t, const struct fxt_reader *r)
{
	struct fxt_map threads = {0};
	bool fresh;

	for (size_t i = 0; i < r->thread_count; i++) {
		struct fxt_slot *s = fxt_map_put(&threads, r->threads[i].tid, 0, &fresh);

		s->value[0] = i;
		s->value[1]++;
	}
	for (size_t i = 0; i < t->count; i++) {
		const struct fxt_slot *s = fxt_map_find(&threads, t->list[i].tid, 0);

		if (!t->list[i].is_known && s && s->value[1] == 1)
			know(t, &t->list[i], (uint32_t)s->value[0]);
	}
	fxt_map_free(&threads);
}

/* Returns whether the process is known to have ended, and sets when; or else when the trace ended. */
static bool process_ended(const struct fxt_switch_times *t, uint64_t pid, const struct fxt_ends *ends,
			  uint64_t *at_ns)
{
	const struct fxt_slot *s = fxt_map_find(&t->exits, pid, 0);
	int signal;

	*at_ns = s ? s->value[0] : fxt_ends_ns(ends, pid);
	return s || fxt_ends_known(ends, pid, &signal);
}

void fxt_switch_times_finish(struct fxt_switch_times *t, const struct fxt_reader *r,
			     const struct fxt_ends *ends)
{
	know_the_rest(t, r);
	for (size_t i = 0; i < t->count; i++) {
		struct fxt_switch_thread *one = &t->list[i];
		uint64_t end_ns;

		if (!one->is_known)
			continue;
		if (!process_ended(t, r->threads[one->thread].pid, ends, &end_ns) ||
		    one->state == FXT_SWITCH_RUNNING)
			add_time(t, one, end_ns);
	}
	free(t->list);
	t->list = NULL;
	t->count = t->capacity = 0;
	fxt_map_free(&t->by_tid);
	fxt_map_free(&t->exits);
}

const struct fxt_switch_sums *fxt_switch_times_of(const struct fxt_switch_times *t, uint32_t thread)
{
	static const struct fxt_switch_sums none;
	const struct fxt_switch_sums *sums = thread < t->sum_count ? &t->sums[thread] : &none;

	return sums->running_ns || sums->ready_ns || sums->blocked_ns || sums->switches ? sums : NULL;
}

void fxt_switch_times_free(struct fxt_switch_times *t)
{
	free(t->list);
	free(t->sums);
	fxt_map_free(&t->by_tid);
	fxt_map_free(&t->exits);
	*t = (struct fxt_switch_times){0};
}
