/* What rules ask of threads. See rule_threads.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "rule_threads.h"

#include <stdlib.h>

#include "tools/common/message.h"
#include "tools/printing/print.h"

/* -- Groups ---------------------------------------------------------------------------------------- */

/* Returns the life of the thread, or NULL if it has no events. */
static const struct fxt_thread_time *life_of(const struct fxt_report *report, const struct fxt_map *lives,
					     uint32_t thread)
{
	const struct fxt_slot *s = fxt_map_find(lives, thread, 0);

	return s && s->value[0] ? &report->threads.list[s->value[0] - 1] : NULL;
}

/* Notes where each thread stands in the two tables of threads: places plus 1. */
static void find_places(const struct fxt_report *report, struct fxt_map *places)
{
	bool fresh;

	for (size_t i = 0; i < report->threads.count; i++)
		if (report->threads.list[i].has_events)
			fxt_map_put(places, report->threads.list[i].thread, 0, &fresh)->value[0] = i + 1;
	for (size_t i = 0; i < report->processor.thread_count; i++)
		fxt_map_put(places, report->processor.threads[i].thread, 0, &fresh)->value[1] = i + 1;
}

static void add_thread(const struct fxt_report *report, const struct fxt_map *places,
		       struct fxt_rule_group *g, uint32_t thread)
{
	const struct fxt_thread_time *life = life_of(report, places, thread);
	const struct fxt_slot *s = fxt_map_find(places, thread, 0);
	struct fxt_rule_thread *t;

	if (!life)
		return;
	g->list = fxt_grow(g->list, &g->capacity, g->count + 1, sizeof(*g->list));
	t = &g->list[g->count++];
	*t = (struct fxt_rule_thread){
		.thread = thread,
		.begin_ns = life->first_ns,
		.end_ns = life->last_ns,
		.times.running_ns = life->running_ns,
		.times.blocked_ns = life->blocked_ns + life->waiting_ns,
	};
	if (s->value[1] && report->processor.switches.switches)
		t->times = report->processor.threads[s->value[1] - 1].times;
}

struct fxt_rule_group *fxt_rule_groups(const struct fxt_report *report, size_t *count)
{
	struct fxt_culprits *culprits = &report->who->culprits;
	struct fxt_map places = {0}, by_maker = {0};
	struct fxt_rule_group *groups = NULL;
	size_t capacity = 0;

	*count = 0;
	find_places(report, &places);
	for (const struct fxt_slot *s = fxt_map_next(&report->makers, NULL); s;
	     s = fxt_map_next(&report->makers, s)) {
		uint32_t thread = (uint32_t)s->a, maker = (uint32_t)s->value[0];
		uint32_t path = fxt_path_of(culprits, FXT_FOR_CALL, maker);
		uint64_t pid = report->r->threads[thread].pid;
		struct fxt_slot *group;
		bool fresh;

		/* Without names each stack is a group of its own. */
		group = fxt_map_put(&by_maker, pid,
				    path == FXT_NO_PATH ? (uint64_t)1 << 32 | maker
							: fxt_path_short(culprits, FXT_FOR_CALL, path),
				    &fresh);
		if (fresh) {
			group->value[0] = *count;
			groups = fxt_grow(groups, &capacity, *count + 1, sizeof(*groups));
			groups[(*count)++] = (struct fxt_rule_group){.pid = pid, .maker = maker};
		}
		add_thread(report, &places, &groups[group->value[0]], thread);
	}
	fxt_map_free(&places);
	fxt_map_free(&by_maker);
	return groups;
}

void fxt_rule_free_groups(struct fxt_rule_group *groups, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(groups[i].list);
	free(groups);
}

bool fxt_rule_group_has(const struct fxt_rule_group *g, uint32_t thread)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->list[i].thread == thread)
			return true;
	return false;
}

/* -- Computing and waiting -------------------------------------------------------------------------- */

uint32_t fxt_rule_computes_in(const struct fxt_report *report, uint32_t thread, uint64_t *samples)
{
	const struct fxt_call_tree *tree = &report->processor.tree;
	const struct fxt_call_stacks *stacks = &report->who->stacks;
	struct fxt_stack_sums sums = {0};
	struct fxt_stack_sum most;
	bool is_found;

	for (const struct fxt_slot *s = fxt_map_next(&tree->by_id, NULL); s;
	     s = fxt_map_next(&tree->by_id, s)) {
		const struct fxt_slot *leaf = fxt_map_find(&tree->leaves, thread, s->value[0]);
		const struct fxt_slot *frame = fxt_map_find(&stacks->by_id, s->a, s->b);

		if (leaf && frame)
			fxt_stack_sums_add(&sums, 0, (uint32_t)frame->value[0], leaf->value[0]);
	}
	fxt_stack_sums_finish(&sums);
	is_found = fxt_stack_sums_most(&sums, 0, report->who, FXT_FOR_CALL, &most);
	*samples = is_found ? most.total_ns : 0;
	fxt_stack_sums_free(&sums);
	return is_found ? most.innermost : FXT_NO_FRAME;
}

uint64_t fxt_rule_waited_for(const struct fxt_report *report, const struct fxt_rule_group *g, bool by_group,
			     uint64_t *count)
{
	uint64_t ns = 0;

	*count = 0;
	for (const struct fxt_slot *s = fxt_map_next(&report->chains.pairs, NULL); s;
	     s = fxt_map_next(&report->chains.pairs, s)) {
		uint32_t other = (uint32_t)(by_group ? s->b : s->a), own = (uint32_t)(by_group ? s->a : s->b);

		if (report->r->threads[other].pid == g->pid && fxt_rule_group_has(g, own) &&
		    !fxt_rule_group_has(g, other)) {
			*count += s->value[0];
			ns += s->value[1];
		}
	}
	return ns;
}
