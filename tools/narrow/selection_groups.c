/* What belongs together: asyncs, flows, and what comes along with calls. See selection.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "selection.h"
#include "tools/analysis/stack_instants.h"
#include "tools/common/message.h"

enum kind { ASYNC, FLOW };

static bool is_async(const struct fxt_record *rec)
{
	return rec->subtype >= FXT_EVENT_ASYNC_BEGIN && rec->subtype <= FXT_EVENT_ASYNC_END;
}

static bool is_flow(const struct fxt_record *rec)
{
	return rec->subtype >= FXT_EVENT_FLOW_BEGIN && rec->subtype <= FXT_EVENT_FLOW_END;
}

bool fxt_is_attached(const struct fxt_record *rec)
{
	if (rec->type != FXT_RECORD_EVENT || rec->subtype == FXT_EVENT_COUNTER || is_async(rec))
		return false;
	return fxt_text_is(&rec->category, "agent") || fxt_tells_blocked(rec) || fxt_tells_unlocked(rec);
}

struct fxt_group *fxt_group_of(struct fxt_selection *s, const struct fxt_record *rec)
{
	struct fxt_slot *slot = fxt_map_find(&s->group_of, rec->extra, is_flow(rec) ? FLOW : ASYNC);

	return slot ? &s->groups[slot->value[0]] : NULL;
}

/* Returns the place of the event's group, with the event in it. */
static uint32_t note_group(struct fxt_selection *s, const struct fxt_record *rec, uint64_t ns)
{
	bool fresh = false;
	struct fxt_slot *slot = fxt_map_put(&s->group_of, rec->extra, is_flow(rec) ? FLOW : ASYNC, &fresh);
	struct fxt_group *group;

	if (fresh) {
		slot->value[0] = s->group_count;
		s->groups = fxt_grow(s->groups, &s->group_capacity, s->group_count + 1, sizeof(*s->groups));
		s->groups[s->group_count++] = (struct fxt_group){.start_ns = ns, .end_ns = 0};
	}
	group = &s->groups[slot->value[0]];
	if (ns < group->start_ns)
		group->start_ns = ns;
	/* An async whose end is not there goes on. The end may be met before the begin. */
	if (rec->subtype == FXT_EVENT_ASYNC_END || rec->subtype == FXT_EVENT_FLOW_END)
		group->end_ns = ns > group->end_ns ? ns : group->end_ns;
	return (uint32_t)slot->value[0];
}

static void add(struct fxt_narrow_moments *m, const struct fxt_record *rec, uint64_t ns, uint32_t group)
{
	m->list = fxt_grow(m->list, &m->capacity, m->count + 1, sizeof(*m->list));
	m->list[m->count++] = (struct fxt_narrow_moment){
		.ns = ns,
		.offset = rec->offset,
		.thread = rec->thread,
		.group = group,
		.is_agents = fxt_text_is(&rec->category, "agent"),
	};
}

void fxt_groups_note(struct fxt_selection *s, const struct fxt_record *rec)
{
	uint64_t ns = fxt_ns(rec->provider, rec->ticks);
	uint32_t group = FXT_NO_GROUP;

	if (rec->type != FXT_RECORD_EVENT)
		return;
	if (is_async(rec) || is_flow(rec))
		group = note_group(s, rec, ns);
	if (is_flow(rec))
		add(&s->flows, rec, ns, group);
	if (fxt_is_attached(rec) && fxt_narrow_is_by_event(s->narrow))
		add(&s->attached, rec, ns, group);
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct fxt_narrow_moment *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void sort(struct fxt_narrow_moments *m)
{
	if (m->count)
		qsort(m->list, m->count, sizeof(*m->list), by_thread_and_time);
}

void fxt_groups_settle(struct fxt_selection *s)
{
	for (size_t i = 0; i < s->group_count; i++) {
		if (!s->groups[i].end_ns)
			s->groups[i].end_ns = UINT64_MAX;
	}
	sort(&s->attached);
	sort(&s->flows);
}

/* Returns the first moment of a thread that is not before a time, or the end of the list. */
static size_t first_from(const struct fxt_narrow_moments *m, uint32_t thread, uint64_t ns)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct fxt_narrow_moment *at = &m->list[mid];

		if (at->thread < thread || (at->thread == thread && at->ns < ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool is_within(const struct fxt_narrow_moments *m, size_t at, uint32_t thread, uint64_t end_ns)
{
	return at < m->count && m->list[at].thread == thread && m->list[at].ns <= end_ns;
}

void fxt_groups_choose_within(struct fxt_selection *s, uint32_t thread, struct fxt_span span)
{
	bool fresh;

	for (size_t i = first_from(&s->attached, thread, span.start_ns);
	     is_within(&s->attached, i, thread, span.end_ns); i++) {
		struct fxt_narrow_moment *at = &s->attached.list[i];

		if (at->is_chosen)
			continue;
		at->is_chosen = true;
		fxt_map_put(&s->chosen, at->offset, 0, &fresh);
		if (at->group != FXT_NO_GROUP)
			s->groups[at->group].is_chosen = true;
	}
}

void fxt_groups_end(struct fxt_selection *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->flows.count; i++) {
		if (s->groups[s->flows.list[i].group].is_chosen)
			s->flows.list[kept++] = s->flows.list[i];
	}
	s->flows.count = kept;
}

bool fxt_carries_flow(const struct fxt_selection *s, const struct fxt_record *rec, struct fxt_span span)
{
	bool is_agents = fxt_text_is(&rec->category, "agent");

	for (size_t i = first_from(&s->flows, rec->thread, span.start_ns);
	     is_within(&s->flows, i, rec->thread, span.end_ns); i++) {
		if (s->flows.list[i].is_agents == is_agents)
			return true;
	}
	return false;
}
