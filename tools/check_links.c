/* Follows asyncs and flows, whose ids are one space for the whole trace. Called by fxt_check(). */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>

#include "check.h"
#include "map.h"

static int async_order(const void *a, const void *b)
{
	const struct fxt_link *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* An end of the same time as its begin comes after it, wherever it is in the file. */
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

void fxt_check_asyncs(struct fxt_check *c)
{
	struct fxt_map owners = {0};    /* id -> how many are open, category and name */

	if (c->asyncs.count)
		qsort(c->asyncs.list, c->asyncs.count, sizeof(struct fxt_link), async_order);
	for (size_t i = 0; i < c->asyncs.count; i++) {
		const struct fxt_link *l = &c->asyncs.list[i];
		uint64_t name = (uint64_t)l->category << 32 | l->name;
		bool fresh;
		struct fxt_slot *s = fxt_map_put(&owners, l->id, 0, &fresh);

		if (fresh)
			s->value[1] = name;
		else if (s->value[1] != name)
			fxt_check_bad(c, FXT_FAULT_ASYNC_TWO_NAMES, l->offset, "id %" PRIu64, l->id);
		if (l->kind == FXT_EVENT_ASYNC_BEGIN)
			s->value[0]++;
		else if (s->value[0] == 0)
			orphan(c, l->kind == FXT_EVENT_ASYNC_END ? FXT_FAULT_ASYNC_END_ORPHAN
								 : FXT_FAULT_ASYNC_INSTANT_ORPHAN, l);
		else if (l->kind == FXT_EVENT_ASYNC_END)
			s->value[0]--;
	}
	for (struct fxt_slot *s = fxt_map_next(&owners, NULL); s; s = fxt_map_next(&owners, s))
		c->noted[FXT_NOTED_OPEN_ASYNCS] += s->value[0];
	fxt_map_free(&owners);
}

static void begin_flow(struct fxt_check *c, struct fxt_map *live, struct fxt_map *beginners,
		       const struct fxt_link *l)
{
	uint64_t pid = c->r->threads[l->thread].pid;
	bool fresh;
	struct fxt_slot *s = fxt_map_put(live, l->id, 0, &fresh);

	if (!fresh)
		fxt_check_bad(c, FXT_FAULT_FLOW_TWICE, l->offset, "id %" PRIu64, l->id);
	s->value[0] = l->bound;
	s = fxt_map_put(beginners, l->id, 0, &fresh);
	if (fresh)
		s->value[0] = pid;
	else if (s->value[0] != pid)
		fxt_check_bad(c, FXT_FAULT_FLOW_TWO_PROCESSES, l->offset, "id %" PRIu64, l->id);
}

void fxt_check_flows(struct fxt_check *c)
{
	struct fxt_map live = {0};      /* id -> when the slice began that it was last in */
	struct fxt_map beginners = {0}; /* id -> process */

	if (c->flows.count)
		qsort(c->flows.list, c->flows.count, sizeof(struct fxt_link), flow_order);
	for (size_t i = 0; i < c->flows.count; i++) {
		const struct fxt_link *l = &c->flows.list[i];
		struct fxt_slot *s;

		if (l->kind == FXT_EVENT_FLOW_BEGIN) {
			begin_flow(c, &live, &beginners, l);
			continue;
		}
		s = fxt_map_find(&live, l->id, 0);
		if (!s) {
			orphan(c, l->kind == FXT_EVENT_FLOW_END ? FXT_FAULT_FLOW_END_ORPHAN
								: FXT_FAULT_FLOW_STEP_ORPHAN, l);
			continue;
		}
		if (l->bound < s->value[0])
			fxt_check_bad(c, FXT_FAULT_FLOW_BACKWARDS, l->offset, "id %" PRIu64, l->id);
		s->value[0] = l->bound;
		if (l->kind == FXT_EVENT_FLOW_END)
			fxt_map_remove(&live, s);
	}
	c->noted[FXT_NOTED_OPEN_FLOWS] = live.used;
	fxt_map_free(&live);
	fxt_map_free(&beginners);
}
