/* Walks the graph back from the end of the run, and adds up what the path was in. See critical_graph.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "critical_graph.h"
#include "tools/common/message.h"

/* The sums of a walk. */
struct walk {
	struct fxt_critical *c;
	const struct fxt_critical_graph *g;
	struct fxt_reader *r;
	uint64_t *by_sample;            /* time on the path that a sample stands for */
	/* node of a stack -> time in waits with this stack; and time that samples of it stand for, and how
	 * many samples these are */
	struct fxt_map by_frame, sampled;
	struct fxt_map covered;         /* thing -> from when on its for_ns has all of the path */
	struct fxt_map threads;         /* that the path goes through */
};

/* Adds a stretch of the path in which a thread ran. */
static void run(struct walk *w, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct fxt_graph_thread *t = &w->g->threads[thread];
	uint32_t sample = fxt_graph_sample_at(w->g, thread, from_ns);

	if (sample == FXT_GRAPH_NONE) {
		w->c->unsampled_ns += to_ns - from_ns;
		return;
	}
	while (from_ns < to_ns) {
		uint64_t next_ns = sample + 1 < t->samples + t->sample_count ? w->g->samples[sample + 1].ns
									     : UINT64_MAX;
		uint64_t until_ns = next_ns < to_ns ? next_ns : to_ns;

		w->by_sample[sample++] += until_ns > from_ns ? until_ns - from_ns : 0;
		from_ns = until_ns > from_ns ? until_ns : from_ns;
	}
}

/* Adds a part of the path to the program that the thread belongs to, unless it is that of the last one. */
static void add_program(struct walk *w, uint32_t thread, uint64_t ns)
{
	uint64_t pid = w->r->threads[thread].pid;
	uint32_t thing;
	bool fresh;

	fxt_map_put(&w->threads, thread, 0, &fresh);
	w->c->threads += fresh;
	if (pid == w->r->threads[w->g->last_thread].pid || !ns)
		return;
	thing = fxt_graph_thing(w->c, FXT_CRITICAL_PROGRAM, fxt_graph_program(w->r, pid), 0);
	w->c->things[thing].in_ns += ns;
}

/* Adds the time from which on a node's thread waited to what it waited for. Parts of the path come from the
 * last to the first; what the thing has already does not count twice. */
static void add_waited(struct walk *w, const struct fxt_graph_node *n, uint64_t to_ns)
{
	struct fxt_slot *s;
	uint64_t until_ns = to_ns;
	bool fresh;

	if (n->thing == FXT_GRAPH_NONE)
		return;
	s = fxt_map_put(&w->covered, n->thing, 0, &fresh);
	if (!fresh && s->value[0] < until_ns)
		until_ns = s->value[0];
	if (n->start_ns < until_ns)
		w->c->things[n->thing].for_ns += until_ns - n->start_ns;
	if (fresh || n->start_ns < s->value[0])
		s->value[0] = n->start_ns;
}

/* Adds a part of the path within a node that no arrow leads away from. */
static void be_in(struct walk *w, const struct fxt_graph_node *n, uint64_t to_ns)
{
	uint64_t ns = to_ns - n->start_ns;
	bool fresh;

	add_program(w, n->thread, ns);
	if (n->thing != FXT_GRAPH_NONE)
		w->c->things[n->thing].in_ns += ns;
	if (n->standing == FXT_GRAPH_RUNS)
		run(w, n->thread, n->start_ns, to_ns);
	else if (n->standing != FXT_GRAPH_TAKES)
		w->c->unknown_ns += ns;
	else if (n->frame != FXT_NO_FRAME)
		fxt_map_put(&w->by_frame, n->frame, 0, &fresh)->value[0] += ns;
	add_waited(w, n, to_ns);
}

/* Goes back from a moment of a thread. Each step comes to an earlier node of the order, or to an earlier
 * moment of a thread, so the walk ends. */
static void go_back(struct walk *w, uint32_t thread, uint64_t ns)
{
	const struct fxt_critical_graph *g = w->g;
	uint32_t place = fxt_graph_before(g, thread, ns);

	while (ns > g->begin_ns) {
		const struct fxt_graph_node *n, *after = fxt_graph_after(g, thread, place);
		const struct fxt_graph_arrow *a;
		uint64_t from_ns;

		/* The thread was let go on from within a call of its waker, as by a write that goes on. */
		if (after && after->start_ns < ns && after->end_ns >= ns) {
			be_in(w, after, ns);
			ns = after->start_ns;
			continue;
		}
		n = place == FXT_GRAPH_NONE ? NULL : &g->nodes[place];
		from_ns = n ? n->end_ns : g->threads[thread].first_ns;
		if (from_ns < g->begin_ns)
			from_ns = g->begin_ns;
		if (from_ns < ns) {
			add_program(w, thread, ns - from_ns);
			run(w, thread, from_ns, ns);
			ns = from_ns;
		}
		if (!n) {
			/* Nobody is known to have made the thread. */
			w->c->unknown_ns += ns - g->begin_ns;
			return;
		}
		a = fxt_graph_waker(g, n);
		if (a) {
			add_program(w, thread, ns - a->woken_ns);
			w->c->wakeups_ns += ns - a->woken_ns;
			add_waited(w, n, ns);
			thread = a->waker;
			place = a->before;
			ns = a->woken_ns;
			continue;
		}
		if (n->start_ns < ns) {
			be_in(w, n, ns);
			ns = n->start_ns;
		}
		place = place > g->threads[thread].nodes ? place - 1 : FXT_GRAPH_NONE;
	}
}

/* -- Functions ------------------------------------------------------------------------------------ */

/* Returns whether the node names a function that somebody has written: none of the kernel's, and no wrapper,
 * which does its caller's work. */
static bool counts(struct fxt_who *who, uint32_t frame)
{
	const struct fxt_call_frame *f = &who->stacks.frames[frame];
	struct fxt_text name;

	if (!f->name || fxt_is_wrapper(&who->culprits, FXT_FOR_CALL, frame))
		return false;
	name = fxt_symbol_text(who->r, f->name);
	return name.bytes && name.text[0] != '[';
}

size_t fxt_critical_functions(struct fxt_critical *c, struct fxt_who *who, uint32_t frame, uint32_t *list)
{
	size_t count = 0, k;

	for (size_t depth = 0; frame != FXT_NO_FRAME && depth < FXT_CRITICAL_DEPTH; depth++) {
		const struct fxt_call_frame *f = &who->stacks.frames[frame];

		if (counts(who, frame)) {
			uint32_t thing = fxt_graph_thing(c, FXT_CRITICAL_FUNCTION, f->name, f->module);

			if (c->things[thing].frame == FXT_NO_FRAME)
				c->things[thing].frame = frame;
			for (k = 0; k < count && list[k] != thing; k++)
				;
			if (k == count)
				list[count++] = thing;
		}
		frame = f->parent;
	}
	return count > 1 ? count - 1 : count;
}

/* Adds a part of the path, of which so many samples tell, to all functions of a stack, to pairs of a function
 * and whom it called, and to pairs of a function and the innermost one. */
static void add_stack(struct fxt_critical *c, struct fxt_who *who, struct fxt_map *pairs,
		      struct fxt_map *inner, uint32_t frame, uint64_t ns, uint64_t samples)
{
	uint32_t list[FXT_CRITICAL_DEPTH];
	size_t count = fxt_critical_functions(c, who, frame, list);
	bool fresh;

	for (size_t i = 0; i < count; i++) {
		c->things[list[i]].in_ns += ns;
		c->things[list[i]].samples += samples;
		c->things[list[i]].sampled_ns += samples ? ns : 0;
		fxt_map_put(inner, list[i], list[0], &fresh)->value[0] += ns;
		if (i)
			fxt_map_put(pairs, list[i], list[i - 1], &fresh)->value[0] += ns;
	}
}

/* Adds up functions. Where nearly all that two functions did was that one called the other, the caller says
 * nothing that the other one does not. */
static void add_functions(struct walk *w, struct fxt_who *who)
{
	struct fxt_map pairs = {0}, inner = {0};
	bool fresh;

	for (size_t i = 0; i < w->g->sample_count; i++) {
		const struct fxt_graph_sample *s = &w->g->samples[i];

		if (w->by_sample[i] && s->frame != FXT_NO_FRAME) {
			struct fxt_slot *frame = fxt_map_put(&w->sampled, s->frame, 0, &fresh);

			frame->value[0] += w->by_sample[i];
			frame->value[1]++;
		} else {
			w->c->unsampled_ns += w->by_sample[i];
		}
	}
	for (const struct fxt_slot *s = fxt_map_next(&w->by_frame, NULL); s;
	     s = fxt_map_next(&w->by_frame, s))
		add_stack(w->c, who, &pairs, &inner, (uint32_t)s->a, s->value[0], 0);
	for (const struct fxt_slot *s = fxt_map_next(&w->sampled, NULL); s; s = fxt_map_next(&w->sampled, s))
		add_stack(w->c, who, &pairs, &inner, (uint32_t)s->a, s->value[0], s->value[1]);
	for (const struct fxt_slot *s = fxt_map_next(&pairs, NULL); s; s = fxt_map_next(&pairs, s)) {
		struct fxt_critical_thing *caller = &w->c->things[s->a], *called = &w->c->things[s->b];

		caller->is_passed |=
			s->value[0] >= caller->in_ns / 10 * 9 && s->value[0] >= called->in_ns / 10 * 9;
	}
	for (const struct fxt_slot *s = fxt_map_next(&inner, NULL); s; s = fxt_map_next(&inner, s)) {
		struct fxt_critical_thing *function = &w->c->things[s->a];

		if (s->value[0] <= function->inner_ns)
			continue;
		function->inner_ns = s->value[0];
		function->inner_key = w->c->things[s->b].key;
		function->inner_module = w->c->things[s->b].module;
	}
	fxt_map_free(&pairs);
	fxt_map_free(&inner);
}

void fxt_critical_walk(struct fxt_critical *c, struct fxt_reader *r, struct fxt_who *who)
{
	struct fxt_critical_graph *g = c->graph;
	struct walk w = {.c = c, .g = g, .r = r};

	w.by_sample = fxt_alloc(g->sample_count ? g->sample_count : 1, sizeof(*w.by_sample));
	c->run_ns = g->end_ns - g->begin_ns;
	c->last_thread = g->last_thread;
	go_back(&w, g->last_thread, g->end_ns);
	add_functions(&w, who);
	free(w.by_sample);
	fxt_map_free(&w.by_frame);
	fxt_map_free(&w.sampled);
	fxt_map_free(&w.covered);
	fxt_map_free(&w.threads);
}
