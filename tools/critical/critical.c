/* Finds the critical path, and what a change would win. See critical.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "critical.h"

#include <stdlib.h>

#include "critical_graph.h"
#include "tools/common/message.h"

/* The time on the path that a thing has a part in. Who waits by a call, a condition or a barrier waits for
 * what others do, and that has a part of its own. */
static uint64_t part_ns(const struct fxt_critical_thing *x)
{
	if (x->is_signal || (x->kind != FXT_CRITICAL_LOCK && x->kind != FXT_CRITICAL_FILE))
		return x->in_ns;
	return x->in_ns > x->for_ns ? x->in_ns : x->for_ns;
}

/* Returns whether too few samples stand for more than a fifth of what is known of a function. */
static bool is_guessed(const struct fxt_critical *c, const struct fxt_critical_thing *x)
{
	return x->kind == FXT_CRITICAL_FUNCTION && x->samples < c->least_samples &&
	       x->sampled_ns > x->in_ns / 5;
}

struct ranked {
	uint64_t ns;
	uint32_t place;
};

static int by_part(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : (x->place < y->place ? -1 : 1);
}

/* Returns how many things are worth a replay, and puts them first: those with most of the path. */
static size_t choose(const struct fxt_critical *c, uint32_t *things)
{
	struct ranked *list = fxt_alloc(c->count ? c->count : 1, sizeof(*list));
	size_t count = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		const struct fxt_critical_thing *x = &c->things[i];

		if (x->is_of_agent || is_guessed(c, x))
			continue;
		/* Of what took less than a thousandth nobody wants to know what it would win. */
		if (!x->is_passed && !x->is_signal && part_ns(x) > c->run_ns / 1000)
			list[count++] = (struct ranked){part_ns(x), i};
	}
	if (count)
		qsort(list, count, sizeof(*list), by_part);
	if (count > FXT_CRITICAL_TRIED)
		count = FXT_CRITICAL_TRIED;
	for (size_t i = 0; i < count; i++)
		things[i] = list[i].place;
	free(list);
	return count;
}

/* What would win most comes first, and of equals, what has most of the path. */
static int by_gain(const void *a, const void *b)
{
	const struct fxt_critical_thing *x = a, *y = b;

	if (x->run_ns != y->run_ns)
		return x->run_ns < y->run_ns ? -1 : 1;
	if (part_ns(x) != part_ns(y))
		return part_ns(x) > part_ns(y) ? -1 : 1;
	return x->kind != y->kind ? (x->kind > y->kind ? -1 : 1) : (x->key < y->key ? -1 : x->key > y->key);
}

/* Keeps those things that were replayed. */
static void keep(struct fxt_critical *c, const uint32_t *things, size_t count)
{
	struct fxt_critical_thing *list = fxt_alloc(count ? count : 1, sizeof(*list));

	for (size_t i = 0; i < count; i++) {
		list[i] = c->things[things[i]];
		c->things[things[i]].label = NULL;
		c->has_bounds |= list[i].run_most_ns != list[i].run_least_ns;
	}
	for (size_t i = 0; i < c->count; i++)
		free(c->things[i].label);
	free(c->things);
	c->things = list;
	c->count = c->capacity = count;
	if (count)
		qsort(list, count, sizeof(*list), by_gain);
}

void fxt_critical_finish(struct fxt_critical *c, struct fxt_reader *r, struct fxt_who *who,
			 const struct fxt_critical_life *lives, size_t count, uint64_t first_ns)
{
	uint32_t things[FXT_CRITICAL_TRIED];
	size_t tried = 0;

	if (!c->graph)
		return;
	if (fxt_graph_make(c, r, lives, count, first_ns)) {
		c->is_known = true;
		fxt_critical_walk(c, r, who);
		tried = choose(c, things);
		fxt_critical_replay(c, r, who, things, tried);
	}
	keep(c, things, tried);
	fxt_graph_free(c->graph);
	c->graph = NULL;
}

void fxt_critical_free(struct fxt_critical *c)
{
	fxt_graph_free(c->graph);
	for (size_t i = 0; i < c->count; i++)
		free(c->things[i].label);
	free(c->things);
	*c = (struct fxt_critical){0};
}
