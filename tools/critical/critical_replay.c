/* Replays the graph of waits with one thing after the other taking no time. See critical_graph.h.
 *
 * A replay gives each node a new end. A thread runs for as long as it ran, without what the thing took of
 * that; what the world outside takes it takes again; and whoever was let go on by another thread goes on when
 * that one has come to the same moment. So the threads that were not on the path bound what can be won.
 *
 * Where nobody is known to have ended a wait, three replays differ. One takes it to last as long as it did.
 * One ends it when it ended, which nothing makes earlier: then as little is won as can be. One ends it so
 * much earlier as the thing, and wakeups, took any time up to then: nothing that others did can have come
 * earlier than by that, so as much is won as can be.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "critical_graph.h"
#include "tools/common/message.h"

enum how { AS_LONG, AS_LATE, AS_EARLY };

/* The run is divided into so many parts to know when a thing took time. */
enum { PARTS = 1024 };

struct replay {
	struct fxt_critical *c;
	const struct fxt_critical_graph *g;
	struct fxt_map masks;           /* node of a stack -> the things with a function on it, a bit each */
	uint32_t *sample_masks;         /* by sample */
	uint32_t *thread_masks;         /* by thread: its program */
	double *taken;                  /* by sample: what the thing took until its time begins */
	double *ends;                   /* by node: its new end, since the begin of the run */
	/* What the thing took in each part of the run; and once that is known, up to its end. */
	double parts[PARTS];
	double rates[PARTS];            /* by how much more of a part it took than of the one before it */
	double part_ns;
	/* the thing that takes no time, and its bit */
	uint32_t thing, bit;
	enum how how;
};

static double since(const struct replay *p, uint64_t ns)
{
	return ns > p->g->begin_ns ? (double)(ns - p->g->begin_ns) : 0;
}

/* Notes that of the time from one moment to another the thing took so much, and no more at one end of it than
 * at the other. */
static void note(struct replay *p, uint64_t from_ns, uint64_t to_ns, double ns)
{
	double from = since(p, from_ns), to = since(p, to_ns);
	size_t first = (size_t)(from / p->part_ns), last = (size_t)(to / p->part_ns);
	double rate;

	if (p->how != AS_LONG || ns <= 0 || to <= from || first >= PARTS)
		return;
	last = last < PARTS ? last : PARTS - 1;
	rate = ns / (to - from);
	if (first == last) {
		p->parts[first] += ns;
		return;
	}
	p->parts[first] += rate * ((double)(first + 1) * p->part_ns - from);
	p->parts[last] += rate * (to - (double)last * p->part_ns);
	/* Those between them have all of it. */
	p->rates[first + 1] += rate;
	p->rates[last] -= rate;
}

/* Makes a sum of each part and those before it. All threads together cannot have taken more of a part than
 * it is long, for what they wait for. */
static void add_parts(struct replay *p)
{
	double taken = 0, rate = 0;

	for (size_t part = 0; part < PARTS; part++) {
		rate += p->rates[part];
		p->parts[part] += rate * p->part_ns;
		taken += p->parts[part] < p->part_ns ? p->parts[part] : p->part_ns;
		p->parts[part] = taken;
	}
}

/* Returns the earliest time at which a wait can have ended, if what it waited for came as much earlier as the
 * thing took time until then. */
static double earliest(const struct replay *p, uint64_t ns)
{
	double end = since(p, ns);
	size_t part = (size_t)(end / p->part_ns);
	double taken = p->parts[part < PARTS ? part : PARTS - 1];

	return taken < end ? end - taken : 0;
}

/* Returns how much of the time from one moment of a thread to another, in which it ran, the thing took. */
static double taken_of(const struct replay *p, uint32_t thread, uint64_t from_ns, uint32_t from_sample,
		       uint64_t to_ns, uint32_t to_sample)
{
	const struct fxt_graph_sample *samples = p->g->samples;
	double taken = 0;

	if (to_ns <= from_ns)
		return 0;
	if (p->thread_masks[thread] & p->bit)
		return (double)(to_ns - from_ns);
	if (to_sample == FXT_GRAPH_NONE || from_sample == FXT_GRAPH_NONE)
		return 0;
	taken = p->taken[to_sample] - p->taken[from_sample];
	if (p->sample_masks[to_sample] & p->bit)
		taken += (double)(to_ns - samples[to_sample].ns);
	if (p->sample_masks[from_sample] & p->bit)
		taken -= (double)(from_ns - samples[from_sample].ns);
	return taken > 0 ? taken : 0;
}

/* Notes when the thing took time while a thread ran. */
static void note_run(struct replay *p, uint32_t thread, uint64_t from_ns, uint32_t sample, uint64_t to_ns)
{
	const struct fxt_graph_thread *t = &p->g->threads[thread];
	const struct fxt_graph_sample *samples = p->g->samples;
	const size_t end = t->samples + t->sample_count;

	if (p->thread_masks[thread] & p->bit) {
		note(p, from_ns, to_ns, (double)(to_ns - from_ns));
		return;
	}
	for (; sample != FXT_GRAPH_NONE && sample < end && from_ns < to_ns; sample++) {
		uint64_t until_ns = to_ns;

		if (sample + 1 < end && samples[sample + 1].ns < to_ns)
			until_ns = samples[sample + 1].ns;
		if (until_ns <= from_ns)
			continue;
		if (p->sample_masks[sample] & p->bit)
			note(p, from_ns, until_ns, (double)(until_ns - from_ns));
		from_ns = until_ns;
	}
}

/* Returns when the thread comes to a moment in which it runs, after a node or after its begin. */
static double come_to(struct replay *p, uint32_t thread, uint32_t before, uint64_t ns, uint32_t sample,
		      bool is_noted)
{
	const struct fxt_graph_thread *t = &p->g->threads[thread];
	uint64_t from_ns = t->is_known ? t->first_ns : ns;
	uint32_t from_sample;
	double at;

	if (before != FXT_GRAPH_NONE) {
		from_ns = p->g->nodes[before].end_ns;
		from_sample = p->g->nodes[before].end_sample;
		at = p->ends[before];
	} else {
		if (from_ns > ns)
			from_ns = ns;
		from_sample = t->sample_count ? (uint32_t)t->samples : FXT_GRAPH_NONE;
		/* It is not known who made the thread. */
		at = p->how == AS_EARLY ? earliest(p, from_ns) : since(p, from_ns);
	}
	if (from_ns < p->g->begin_ns)
		from_ns = p->g->begin_ns;
	if (ns <= from_ns)
		return at;
	if (is_noted && p->how == AS_LONG)
		note_run(p, thread, from_ns, from_sample, ns);
	return at + (double)(ns - from_ns) - taken_of(p, thread, from_ns, from_sample, ns, sample);
}

/* Returns how long a node's thread is in it by itself. */
static double length_of(struct replay *p, const struct fxt_graph_node *n, uint64_t to_ns)
{
	double length = (double)(to_ns - n->start_ns), taken = 0;
	const struct fxt_slot *s;

	if (n->thing == p->thing || (p->thread_masks[n->thread] & p->bit))
		taken = length;
	else if (n->standing == FXT_GRAPH_RUNS)
		taken = taken_of(p, n->thread, n->start_ns, n->start_sample, to_ns,
				 to_ns == n->end_ns ? n->end_sample
						    : fxt_graph_sample_at(p->g, n->thread, to_ns));
	else if (n->frame != FXT_NO_FRAME && n->standing == FXT_GRAPH_TAKES &&
		 (s = fxt_map_find(&p->masks, n->frame, 0)) && (s->value[0] & p->bit))
		taken = length;
	/* What ran is noted a little too early or too late. */
	if (to_ns == n->end_ns)
		note(p, n->start_ns, to_ns, taken);
	return length - taken;
}

/* Returns when the waker comes to the begin of an arrow. */
static double leave_at(struct replay *p, const struct fxt_graph_arrow *a)
{
	const struct fxt_graph_node *after = fxt_graph_after(p->g, a->waker, a->before);

	/* It is in a call then. */
	if (after && after->start_ns < a->woken_ns && after->end_ns >= a->woken_ns)
		return come_to(p, a->waker, a->before, after->start_ns, after->start_sample, false) +
		       length_of(p, after, a->woken_ns);
	return come_to(p, a->waker, a->before, a->woken_ns, a->sample, false);
}

/* Returns the new end of a node whose thread comes to it at `start`. */
static double end_of(struct replay *p, const struct fxt_graph_node *n, double start)
{
	const struct fxt_graph_arrow *waker = fxt_graph_waker(p->g, n);
	double woken = 0, end = start;

	/* A call that waits for what another thread does cannot be taken away; a lock or a peer can. */
	if (n->thing == p->thing && (!waker || p->c->things[p->thing].kind != FXT_CRITICAL_CALL)) {
		note(p, n->start_ns, n->end_ns, (double)(n->end_ns - n->start_ns));
		return start;
	}
	for (uint32_t i = 0; i < n->arrow_count; i++) {
		double at = leave_at(p, &p->g->arrows[n->arrows + i]);

		woken = at > woken ? at : woken;
	}
	if (waker) {
		bool is_free = p->thread_masks[n->thread] & p->bit;

		/* From the wakeup until the thread ran, time passes only if it has waited. So this may be won
		 * besides. */
		note(p, waker->woken_ns, n->end_ns, (double)(n->end_ns - waker->woken_ns));
		if (woken <= start && !n->is_begin)
			return start;
		return woken + (is_free ? 0 : (double)(n->end_ns - waker->woken_ns));
	}
	if ((n->standing == FXT_GRAPH_WAITS || n->standing == FXT_GRAPH_MEETS) && p->how == AS_LATE)
		end = since(p, n->end_ns);
	else if ((n->standing == FXT_GRAPH_WAITS || n->standing == FXT_GRAPH_MEETS) && p->how == AS_EARLY)
		end = earliest(p, n->end_ns);
	else
		end = start + length_of(p, n, n->end_ns);
	end = end > start ? end : start;
	return end > woken ? end : woken;
}

/* Returns when a thread comes to its end. */
static double come_to_end(struct replay *p, uint32_t thread)
{
	const struct fxt_graph_thread *t = &p->g->threads[thread];
	uint32_t last = t->node_count ? (uint32_t)(t->nodes + t->node_count - 1) : FXT_GRAPH_NONE;

	return come_to(p, thread, last, t->last_ns, fxt_graph_sample_at(p->g, thread, t->last_ns), true);
}

/* Returns how long the run takes. */
static double run(struct replay *p, enum how how)
{
	const struct fxt_critical_graph *g = p->g;
	double last = 0;

	p->how = how;
	for (size_t i = 0; i < g->node_count; i++) {
		uint32_t place = g->order[i];
		const struct fxt_graph_node *n = &g->nodes[place];
		uint32_t before = place > g->threads[n->thread].nodes ? place - 1 : FXT_GRAPH_NONE;
		double start = 0;

		if (!n->is_begin)
			start = come_to(p, n->thread, before, n->start_ns, n->start_sample, true);
		p->ends[place] = end_of(p, n, start);
	}
	for (size_t i = 0; i < g->last_count; i++) {
		double end = come_to_end(p, g->last_threads[i]);

		last = end > last ? end : last;
	}
	/* What others did to their ends is noted, too. */
	for (uint32_t i = 0; how == AS_LONG && i < g->thread_count; i++)
		if (g->threads[i].is_known)
			come_to_end(p, i);
	return last < (double)p->c->run_ns ? last : (double)p->c->run_ns;
}

/* -- Which moments belong to the things ----------------------------------------------------------- */

static uint32_t mask_of(struct replay *p, struct fxt_who *who, const struct fxt_map *bits, uint32_t frame)
{
	uint32_t list[FXT_CRITICAL_DEPTH];
	struct fxt_slot *s;
	bool fresh;
	size_t count;

	if (frame == FXT_NO_FRAME)
		return 0;
	s = fxt_map_put(&p->masks, frame, 0, &fresh);
	if (!fresh)
		return (uint32_t)s->value[0];
	count = fxt_critical_functions(p->c, who, frame, list);
	for (size_t i = 0; i < count; i++) {
		const struct fxt_slot *bit = fxt_map_find(bits, list[i], 0);

		s->value[0] |= bit ? bit->value[0] : 0;
	}
	return (uint32_t)s->value[0];
}

static void find_masks(struct replay *p, struct fxt_reader *r, struct fxt_who *who, const uint32_t *things,
		       size_t count)
{
	const struct fxt_critical_graph *g = p->g;
	uint64_t last_pid = r->threads[g->last_thread].pid;
	struct fxt_map bits = {0};
	bool fresh;

	for (size_t i = 0; i < count; i++)
		fxt_map_put(&bits, things[i], 0, &fresh)->value[0] = UINT32_C(1) << i;
	for (size_t i = 0; i < g->sample_count; i++)
		p->sample_masks[i] = mask_of(p, who, &bits, g->samples[i].frame);
	for (size_t i = 0; i < g->node_count; i++)
		mask_of(p, who, &bits, g->nodes[i].frame);
	for (uint32_t i = 0; i < g->thread_count; i++) {
		const struct fxt_slot *s;
		uint32_t thing;

		if (r->threads[i].pid == last_pid)
			continue;
		thing = fxt_graph_thing(p->c, FXT_CRITICAL_PROGRAM,
					fxt_graph_program(r, r->threads[i].pid), 0);
		s = fxt_map_find(&bits, thing, 0);
		p->thread_masks[i] = s ? (uint32_t)s->value[0] : 0;
	}
	fxt_map_free(&bits);
}

/* Adds up what the thing took until each sample's time begins, by thread. */
static void add_up(struct replay *p)
{
	const struct fxt_graph_sample *samples = p->g->samples;

	for (size_t i = 0; i < p->g->sample_count; i++) {
		if (!i || samples[i - 1].thread != samples[i].thread) {
			p->taken[i] = 0;
			continue;
		}
		p->taken[i] = p->taken[i - 1];
		if (p->sample_masks[i - 1] & p->bit)
			p->taken[i] += (double)(samples[i].ns - samples[i - 1].ns);
	}
}

void fxt_critical_replay(struct fxt_critical *c, struct fxt_reader *r, struct fxt_who *who,
			 const uint32_t *things, size_t count)
{
	const struct fxt_critical_graph *g = c->graph;
	struct replay p = {.c = c, .g = g, .part_ns = (double)c->run_ns / PARTS};

	p.sample_masks = fxt_alloc(g->sample_count + 1, sizeof(*p.sample_masks));
	p.thread_masks = fxt_alloc(g->thread_count + 1, sizeof(*p.thread_masks));
	p.taken = fxt_alloc(g->sample_count + 1, sizeof(*p.taken));
	p.ends = fxt_alloc(g->node_count + 1, sizeof(*p.ends));
	find_masks(&p, r, who, things, count);
	for (size_t i = 0; i < count; i++) {
		struct fxt_critical_thing *thing;

		p.thing = things[i];
		p.bit = UINT32_C(1) << i;
		memset(p.parts, 0, sizeof(p.parts));
		memset(p.rates, 0, sizeof(p.rates));
		add_up(&p);
		thing = &c->things[things[i]];
		thing->run_ns = (uint64_t)run(&p, AS_LONG);
		add_parts(&p);
		thing->run_most_ns = (uint64_t)run(&p, AS_LATE);
		thing->run_least_ns = (uint64_t)run(&p, AS_EARLY);
		if (thing->run_least_ns > thing->run_ns)
			thing->run_least_ns = thing->run_ns;
		if (thing->run_most_ns < thing->run_ns)
			thing->run_most_ns = thing->run_ns;
	}
	free(p.sample_masks);
	free(p.thread_masks);
	free(p.taken);
	free(p.ends);
	fxt_map_free(&p.masks);
}
