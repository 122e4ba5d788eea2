/* Follows asyncs and flows, whose ids are shared by the whole trace. check_windows.c calls it for one
 * stretch of time after the other. See check.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>

#include "check.h"

static int async_order(const void *a, const void *b)
{
	const struct fxt_link *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Sorts flows by time. An end at the same time as its begin comes after it, wherever it is in the file. */
static int flow_order(const void *a, const void *b)
{
	const struct fxt_link *x = a, *y = b;
	bool x_ends = x->kind == FXT_EVENT_FLOW_END, y_ends = y->kind == FXT_EVENT_FLOW_END;

	if (x->ticks == y->ticks && x_ends != y_ends)
		return x_ends ? 1 : -1;
	return async_order(a, b);
}

static void orphan(struct fxt_check *c, enum fxt_fault fault, const struct fxt_link *l)
{
	if (c->options.ring)
		c->noted[FXT_NOTED_ORPHANS]++;
	else
		fxt_check_bad(c, fault, l->offset, "id %" PRIu64, l->id);
}

/* LIVE_MOST ids of asyncs, and as many of flows, are followed at once, and PAST_MOST ended ones are
 * remembered. That takes at most 25 MB and 6 MB. Traces of the agent have some thousands open at once. */
enum { LIVE_MOST = 1 << 18, PAST_MOST = 1 << 16 };

/* Returns whether the id of an event may be missing because it could not be followed, and counts the
 * event then. */
static bool follows_nothing(struct fxt_check *c, const struct fxt_links *links)
{
	if (!links->lost)
		return false;
	c->noted[FXT_NOTED_NOT_FOLLOWED]++;
	return true;
}

/* Returns the entry of an id that begins, or NULL if there are too many. */
static struct fxt_slot *begin(struct fxt_check *c, struct fxt_links *links, uint64_t id, bool *fresh)
{
	struct fxt_slot *s = fxt_map_find(&links->live, id, 0);

	*fresh = !s;
	if (s)
		return s;
	if (links->live.used < LIVE_MOST)
		return fxt_map_put(&links->live, id, 0, fresh);
	links->lost = true;
	c->noted[FXT_NOTED_NOT_FOLLOWED]++;
	return NULL;
}

/* Remembers to whom an id belonged that is not live any more, unless that is known. */
static void remember(struct fxt_check *c, struct fxt_links *links, uint64_t id, uint64_t whose)
{
	struct fxt_slot *s;
	bool fresh;

	if (links->past.used >= PAST_MOST && !fxt_map_find(&links->past, id, 0)) {
		c->noted[FXT_NOTED_FORGOTTEN] += links->past.used;
		fxt_map_free(&links->past);
	}
	s = fxt_map_put(&links->past, id, 0, &fresh);
	if (fresh)
		s->value[0] = whose;
}

/* -- Asyncs: a live id has the number that is open, and its category and name; an instant may have another
 * name ---------------------------------------------------------------------------------------------- */

static void begin_async(struct fxt_check *c, const struct fxt_link *l, uint64_t name)
{
	bool fresh;
	struct fxt_slot *s = begin(c, &c->asyncs, l->id, &fresh);

	if (!s)
		return;
	if (fresh)
		s->value[1] = name;
	s->value[0]++;
}

static void take_async(struct fxt_check *c, const struct fxt_link *l)
{
	bool is_instant = l->kind == FXT_EVENT_ASYNC_INSTANT;
	uint64_t name = (uint64_t)l->category << 32 | l->name;
	struct fxt_slot *s = fxt_map_find(&c->asyncs.live, l->id, 0);
	const struct fxt_slot *past = s ? NULL : fxt_map_find(&c->asyncs.past, l->id, 0);

	if (!is_instant && ((s && s->value[1] != name) || (past && past->value[0] != name)))
		fxt_check_bad(c, FXT_FAULT_ASYNC_TWO_NAMES, l->offset, "id %" PRIu64, l->id);
	if (l->kind == FXT_EVENT_ASYNC_BEGIN) {
		begin_async(c, l, past ? past->value[0] : name);
	} else if (!s) {
		if (!is_instant)
			remember(c, &c->asyncs, l->id, name);
		if (!follows_nothing(c, &c->asyncs))
			orphan(c,
			       is_instant ? FXT_FAULT_ASYNC_INSTANT_ORPHAN : FXT_FAULT_ASYNC_END_ORPHAN,
			       l);
	} else if (l->kind == FXT_EVENT_ASYNC_END && --s->value[0] == 0) {
		name = s->value[1];
		fxt_map_remove(&c->asyncs.live, s);
		remember(c, &c->asyncs, l->id, name);
	}
}

void fxt_check_asyncs(struct fxt_check *c)
{
	if (c->asyncs.count)
		qsort(c->asyncs.list, c->asyncs.count, sizeof(struct fxt_link), async_order);
	for (size_t i = 0; i < c->asyncs.count; i++)
		take_async(c, &c->asyncs.list[i]);
}

/* -- Flows: a live id has the beginning of the slice that it was last in, and its process ------------ */

static void begin_flow(struct fxt_check *c, const struct fxt_link *l)
{
	uint64_t pid = c->r->threads[l->thread].pid, whose = pid;
	const struct fxt_slot *past = fxt_map_find(&c->flows.past, l->id, 0);
	bool fresh;
	struct fxt_slot *s = begin(c, &c->flows, l->id, &fresh);

	if (!s)
		return;
	if (!fresh) {
		fxt_check_bad(c, FXT_FAULT_FLOW_TWICE, l->offset, "id %" PRIu64, l->id);
		whose = s->value[1];
	} else if (past) {
		whose = past->value[0];
	}
	if (whose != pid)
		fxt_check_bad(c, FXT_FAULT_FLOW_TWO_PROCESSES, l->offset, "id %" PRIu64, l->id);
	s->value[0] = l->bound;
	s->value[1] = whose;
}

static void take_flow(struct fxt_check *c, const struct fxt_link *l)
{
	struct fxt_slot *s;

	if (l->kind == FXT_EVENT_FLOW_BEGIN) {
		begin_flow(c, l);
		return;
	}
	s = fxt_map_find(&c->flows.live, l->id, 0);
	if (!s) {
		if (!follows_nothing(c, &c->flows))
			orphan(c,
			       l->kind == FXT_EVENT_FLOW_END ? FXT_FAULT_FLOW_END_ORPHAN
							     : FXT_FAULT_FLOW_STEP_ORPHAN,
			       l);
		return;
	}
	if (l->bound < s->value[0])
		fxt_check_bad(c, FXT_FAULT_FLOW_BACKWARDS, l->offset, "id %" PRIu64, l->id);
	s->value[0] = l->bound;
	if (l->kind == FXT_EVENT_FLOW_END) {
		uint64_t whose = s->value[1];

		fxt_map_remove(&c->flows.live, s);
		remember(c, &c->flows, l->id, whose);
	}
}

void fxt_check_flows(struct fxt_check *c)
{
	if (c->flows.count)
		qsort(c->flows.list, c->flows.count, sizeof(struct fxt_link), flow_order);
	for (size_t i = 0; i < c->flows.count; i++)
		take_flow(c, &c->flows.list[i]);
}

void fxt_check_open_links(struct fxt_check *c)
{
	for (struct fxt_slot *s = fxt_map_next(&c->asyncs.live, NULL); s;
	     s = fxt_map_next(&c->asyncs.live, s))
		c->noted[FXT_NOTED_OPEN_ASYNCS] += s->value[0];
	c->noted[FXT_NOTED_OPEN_FLOWS] = c->flows.live.used;
}
