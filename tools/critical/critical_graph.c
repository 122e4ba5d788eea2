/* Makes the graph of waits of what was taken. See critical_graph.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "critical_graph.h"

#include <stdlib.h>

#include "tools/common/message.h"

/* -- Looking up ----------------------------------------------------------------------------------- */

/* Returns how many of the thread's nodes had ended at this time and stand before `limit` in the order. */
static size_t ended_at(const struct fxt_critical_graph *g, const uint32_t *place_in_order, uint32_t thread,
		       uint64_t ns, uint32_t limit)
{
	const struct fxt_graph_thread *t = &g->threads[thread];
	size_t low = 0, high = t->node_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2, place = t->nodes + middle;

		if (g->nodes[place].end_ns <= ns && (!place_in_order || place_in_order[place] < limit))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t fxt_graph_before(const struct fxt_critical_graph *g, uint32_t thread, uint64_t ns)
{
	size_t ended = ended_at(g, NULL, thread, ns, 0);

	return ended ? (uint32_t)(g->threads[thread].nodes + ended - 1) : FXT_GRAPH_NONE;
}

uint32_t fxt_graph_sample_at(const struct fxt_critical_graph *g, uint32_t thread, uint64_t ns)
{
	const struct fxt_graph_thread *t = &g->threads[thread];
	size_t low = 0, high = t->sample_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (g->samples[t->samples + middle].ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (uint32_t)(t->samples + low - 1) : FXT_GRAPH_NONE;
}

const struct fxt_graph_node *fxt_graph_after(const struct fxt_critical_graph *g, uint32_t thread,
					     uint32_t node)
{
	const struct fxt_graph_thread *t = &g->threads[thread];
	size_t next = node == FXT_GRAPH_NONE ? t->nodes : (size_t)node + 1;

	return next < t->nodes + t->node_count ? &g->nodes[next] : NULL;
}

const struct fxt_graph_arrow *fxt_graph_waker(const struct fxt_critical_graph *g,
					      const struct fxt_graph_node *n)
{
	const struct fxt_graph_arrow *last = NULL;

	for (uint32_t i = 0; i < n->arrow_count; i++) {
		const struct fxt_graph_arrow *a = &g->arrows[n->arrows + i];

		if (fxt_graph_ended_wait(n, a) && (!last || a->woken_ns > last->woken_ns))
			last = a;
	}
	return last;
}

uint32_t fxt_graph_program(struct fxt_reader *r, uint64_t pid)
{
	struct fxt_text name = fxt_process_name(r, pid);

	return fxt_symbol(r, &name);
}

/* -- Lives ---------------------------------------------------------------------------------------- */

static void take_lives(struct fxt_critical_graph *g, const struct fxt_critical_life *lives, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct fxt_graph_thread *t;

		g->threads = fxt_reach(g->threads, &g->thread_capacity, &g->thread_count, lives[i].thread,
				       sizeof(*g->threads));
		t = &g->threads[lives[i].thread];
		t->is_known = true;
		t->is_open = lives[i].is_open;
		t->first_ns = lives[i].first_ns;
		t->last_ns = lives[i].last_ns > t->first_ns ? lives[i].last_ns : t->first_ns;
	}
}

/* Finds the threads that processes ended with, and the last of these. What a process does last its first
 * thread does. One that was in a call when it ended was killed, and did not make the run longer. Returns
 * false if there is none. */
static bool find_ends(struct fxt_critical_graph *g, const struct fxt_reader *r)
{
	struct fxt_map by_pid = {0};
	bool fresh;

	g->last_thread = FXT_GRAPH_NONE;
	for (uint32_t i = 0; i < g->thread_count; i++) {
		const struct fxt_graph_thread *t = &g->threads[i];
		struct fxt_slot *s;

		if (!t->is_known)
			continue;
		s = fxt_map_put(&by_pid, r->threads[i].pid, 0, &fresh);
		if (fresh || r->threads[i].tid == r->threads[i].pid ||
		    (r->threads[s->value[0]].tid != r->threads[i].pid &&
		     t->last_ns > g->threads[s->value[0]].last_ns))
			s->value[0] = i;
	}
	for (const struct fxt_slot *s = fxt_map_next(&by_pid, NULL); s; s = fxt_map_next(&by_pid, s)) {
		uint32_t thread = (uint32_t)s->value[0];
		const struct fxt_graph_thread *t = &g->threads[thread];

		if (t->is_open)
			continue;
		if (g->last_thread == FXT_GRAPH_NONE || t->last_ns > g->threads[g->last_thread].last_ns)
			g->last_thread = thread;
		g->last_threads = fxt_grow(g->last_threads, &g->last_capacity, g->last_count + 1,
					   sizeof(*g->last_threads));
		g->last_threads[g->last_count++] = thread;
	}
	fxt_map_free(&by_pid);
	if (g->last_thread == FXT_GRAPH_NONE)
		return false;
	g->end_ns = g->threads[g->last_thread].last_ns;
	return true;
}

/* -- Joins become arrows -------------------------------------------------------------------------- */

static int by_handle(const void *a, const void *b)
{
	const struct fxt_graph_handle *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->handle != y->handle)
		return x->handle < y->handle ? -1 : 1;
	return x->ns != y->ns ? (x->ns < y->ns ? -1 : 1) : x->is_join - y->is_join;
}

static void make_joins(struct fxt_critical *c)
{
	struct fxt_critical_graph *g = c->graph;
	const struct fxt_graph_handle *made = NULL;

	if (g->handle_count)
		qsort(g->handles, g->handle_count, sizeof(*g->handles), by_handle);
	for (size_t i = 0; i < g->handle_count; i++) {
		const struct fxt_graph_handle *h = &g->handles[i];
		uint64_t last_ns;

		if (!h->is_join) {
			made = h;
			continue;
		}
		if (!made || made->pid != h->pid || made->handle != h->handle ||
		    made->thread >= g->thread_count || !g->threads[made->thread].is_known)
			continue;
		last_ns = g->threads[made->thread].last_ns;
		fxt_critical_cause(c, h->thread,
				   &(struct fxt_flight_cause){.woken_ns = last_ns < h->ns ? last_ns : h->ns,
							      .at_ns = h->ns,
							      .waker = made->thread});
	}
}

/* -- Nodes and arrows ----------------------------------------------------------------------------- */

static int by_node(const void *a, const void *b)
{
	const struct fxt_graph_node *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Sorts nodes, and cuts each where an earlier one of its thread, which lies within it, ended. */
static void sort_nodes(struct fxt_critical_graph *g)
{
	if (g->node_count)
		qsort(g->nodes, g->node_count, sizeof(*g->nodes), by_node);
	for (size_t i = 0; i < g->thread_count; i++)
		g->threads[i].nodes = g->threads[i].node_count = 0;
	for (size_t i = 0; i < g->node_count; i++) {
		struct fxt_graph_node *n = &g->nodes[i];
		struct fxt_graph_thread *t;

		g->threads = fxt_reach(g->threads, &g->thread_capacity, &g->thread_count, n->thread,
				       sizeof(*g->threads));
		t = &g->threads[n->thread];
		if (!t->is_known) {
			*t = (struct fxt_graph_thread){
				.is_known = true, .first_ns = n->start_ns, .last_ns = n->end_ns};
		}
		if (!t->node_count++)
			t->nodes = i;
		else if (n->start_ns < n[-1].end_ns)
			n->start_ns = n[-1].end_ns;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct fxt_graph_arrow *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->woken_ns != y->woken_ns)
		return x->woken_ns < y->woken_ns ? -1 : 1;
	return x->waker < y->waker ? -1 : x->waker > y->waker;
}

/* Returns the place of the node in which the arrow ends; NONE: there was no such call, or a short one. A
 * thread may have waited for its descriptors by a call of its own and read what there was by another one;
 * then it is the former that the arrow ended. */
static uint32_t node_of(const struct fxt_critical_graph *g, const struct fxt_graph_arrow *a)
{
	enum { LOOKED_AT = 8 };
	const struct fxt_graph_thread *t = &g->threads[a->thread];
	size_t ended = ended_at(g, NULL, a->thread, a->at_ns, 0);
	const struct fxt_graph_node *last = ended ? &g->nodes[t->nodes + ended - 1] : NULL;
	const struct fxt_graph_node *next =
		ended < t->node_count ? &g->nodes[t->nodes + ended] : NULL;

	if (last && last->end_ns == a->at_ns && last->start_ns < a->woken_ns)
		return (uint32_t)(last - g->nodes);
	if (next && next->start_ns < a->woken_ns)
		return (uint32_t)(next - g->nodes);
	for (size_t i = 1; i <= LOOKED_AT && i <= ended; i++) {
		const struct fxt_graph_node *n = &g->nodes[t->nodes + ended - i];

		if (n->end_ns <= a->woken_ns)
			break;
		if (n->is_poll && n->start_ns < a->woken_ns)
			return (uint32_t)(n - g->nodes);
	}
	if (last && last->end_ns == a->at_ns)
		return (uint32_t)(last - g->nodes);
	return next && next->start_ns < a->at_ns ? (uint32_t)(next - g->nodes) : FXT_GRAPH_NONE;
}

/* Whoever comes last to a barrier lets the others go on, and has waited for each of them by then. The moment
 * lies within its call, so it has a node of its own. */
static void add_meetings(struct fxt_critical *c)
{
	struct fxt_critical_graph *g = c->graph;
	size_t count = g->arrow_count;

	for (size_t i = 0; i < count && g->arrow_count < FXT_GRAPH_NODES; i++) {
		const struct fxt_graph_arrow a = g->arrows[i];
		uint32_t place = node_of(g, &a);

		if (place == FXT_GRAPH_NONE || g->nodes[place].standing != FXT_GRAPH_MEETS ||
		    g->nodes[place].start_ns > a.woken_ns || a.waker == a.thread)
			continue;
		fxt_critical_cause(c, a.waker,
				   &(struct fxt_flight_cause){.woken_ns = g->nodes[place].start_ns,
							      .at_ns = a.woken_ns,
							      .waker = a.thread});
		g->arrows[g->arrow_count - 1].is_meeting = true;
	}
}

/* Makes a node of no length for each arrow that ends in none. */
static void find_nodes(struct fxt_critical_graph *g)
{
	const size_t real = g->node_count;
	uint32_t *places;

	for (size_t i = 0; i < real; i++)
		g->nodes[i].id = (uint32_t)i;
	for (size_t i = 0; i < g->arrow_count; i++) {
		struct fxt_graph_arrow *a = &g->arrows[i];
		const struct fxt_graph_arrow *last = i ? a - 1 : NULL;

		a->node = a->is_meeting ? FXT_GRAPH_NONE : node_of(g, a);
		if (a->node != FXT_GRAPH_NONE)
			continue;
		/* Arrows that end in one moment end in one node. */
		if (g->node_count > real && last && last->thread == a->thread && last->at_ns == a->at_ns &&
		    last->node >= real) {
			a->node = last->node;
			continue;
		}
		g->nodes = fxt_grow(g->nodes, &g->node_capacity, g->node_count + 1, sizeof(*g->nodes));
		a->node = (uint32_t)g->node_count;
		g->nodes[g->node_count++] = (struct fxt_graph_node){.start_ns = a->at_ns,
								    .end_ns = a->at_ns,
								    .thread = a->thread,
								    .thing = FXT_GRAPH_NONE,
								    .frame = FXT_NO_FRAME,
								    .standing = FXT_GRAPH_RUNS,
								    .id = a->node};
	}
	sort_nodes(g);
	places = fxt_alloc(g->node_count ? g->node_count : 1, sizeof(*places));
	for (size_t i = 0; i < g->node_count; i++)
		places[g->nodes[i].id] = (uint32_t)i;
	for (size_t i = 0; i < g->arrow_count; i++)
		g->arrows[i].node = places[g->arrows[i].node];
	free(places);
}

static int by_arrows_node(const void *a, const void *b)
{
	const struct fxt_graph_arrow *x = a, *y = b;

	return x->node != y->node ? (x->node < y->node ? -1 : 1) : by_time(a, b);
}

/* A call that is shorter than this and that nobody ended was a thread that ran, or was preempted. */
enum { SHORT_NS = 20000 };

static bool is_meeting(const struct fxt_critical_graph *g, const struct fxt_graph_node *n)
{
	return n->arrow_count && g->arrows[n->arrows].is_meeting;
}

static void hand_arrows_out(struct fxt_critical_graph *g)
{
	if (g->arrow_count)
		qsort(g->arrows, g->arrow_count, sizeof(*g->arrows), by_arrows_node);
	for (size_t i = 0; i < g->arrow_count; i++) {
		struct fxt_graph_node *n = &g->nodes[g->arrows[i].node];

		if (!n->arrow_count++)
			n->arrows = (uint32_t)i;
		/* Its first node may be the making of a thread. */
		if (g->threads[n->thread].nodes == g->arrows[i].node && n->start_ns == n->end_ns &&
		    g->arrows[i].woken_ns <= g->threads[n->thread].first_ns)
			n->is_begin = true;
	}
	/* Nor did a thread wait for another one that had come before; or at a barrier, once it had let others
	 * go on. */
	for (size_t i = 0; i < g->node_count; i++) {
		struct fxt_graph_node *n = &g->nodes[i];
		bool is_short = n->end_ns - n->start_ns < SHORT_NS && !n->is_sleep;
		bool came_first = n->standing == FXT_GRAPH_WAITS && n->arrow_count;

		if (n->standing == FXT_GRAPH_MEETS)
			came_first = i && is_meeting(g, &g->nodes[i - 1]);
		if (!fxt_graph_waker(g, n) && (is_short || came_first))
			n->standing = FXT_GRAPH_RUNS;
	}
}

/* A semaphore is a lock if somebody who lets others go on by it waits for it as well. */
static void find_locks(struct fxt_critical *c)
{
	struct fxt_critical_graph *g = c->graph;
	struct fxt_map waited = {0};
	bool fresh;

	for (size_t i = 0; i < g->node_count; i++) {
		const struct fxt_graph_node *n = &g->nodes[i];

		if (n->thing != FXT_GRAPH_NONE && n->standing == FXT_GRAPH_WAITS &&
		    c->things[n->thing].is_signal && strncmp(c->things[n->thing].label, "sem", 3) == 0)
			fxt_map_put(&waited, n->thing, n->thread, &fresh);
	}
	for (size_t i = 0; i < g->arrow_count; i++) {
		uint32_t thing = g->nodes[g->arrows[i].node].thing;

		if (thing != FXT_GRAPH_NONE && fxt_map_find(&waited, thing, g->arrows[i].waker))
			c->things[thing].is_signal = false;
	}
	fxt_map_free(&waited);
}

/* -- Order ---------------------------------------------------------------------------------------- */

struct ordered {
	uint64_t end_ns;
	uint32_t place;
};

static int by_end(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

/* Puts nodes in the order of their ends, and finds the place in its waker that each arrow leads from. This is
 * a node that stands earlier in the order, so the graph has no circle. */
static void put_in_order(struct fxt_critical_graph *g)
{
	const size_t count = g->node_count ? g->node_count : 1;
	struct ordered *list = fxt_alloc(count, sizeof(*list));
	uint32_t *place_in_order = fxt_alloc(count, sizeof(*place_in_order));

	g->order = fxt_alloc(count, sizeof(*g->order));
	for (size_t i = 0; i < g->node_count; i++)
		list[i] = (struct ordered){g->nodes[i].end_ns, (uint32_t)i};
	if (g->node_count)
		qsort(list, g->node_count, sizeof(*list), by_end);
	for (size_t i = 0; i < g->node_count; i++) {
		g->order[i] = list[i].place;
		place_in_order[list[i].place] = (uint32_t)i;
	}
	for (size_t i = 0; i < g->arrow_count; i++) {
		struct fxt_graph_arrow *a = &g->arrows[i];
		size_t ended = ended_at(g, place_in_order, a->waker, a->woken_ns, place_in_order[a->node]);

		a->before = ended ? (uint32_t)(g->threads[a->waker].nodes + ended - 1) : FXT_GRAPH_NONE;
	}
	free(list);
	free(place_in_order);
}

/* -- Samples -------------------------------------------------------------------------------------- */

static int by_sample(const void *a, const void *b)
{
	const struct fxt_graph_sample *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

static void find_samples(struct fxt_critical_graph *g)
{
	uint64_t last_ns = 0;

	if (g->sample_count)
		qsort(g->samples, g->sample_count, sizeof(*g->samples), by_sample);
	for (size_t i = 0; i < g->sample_count; i++) {
		struct fxt_graph_sample *s = &g->samples[i];
		uint64_t at_ns = s->ns;
		struct fxt_graph_thread *t;

		if (s->thread >= g->thread_count)
			continue;
		t = &g->threads[s->thread];
		if (!t->sample_count++) {
			t->samples = i;
			s->ns = 0;
		} else {
			s->ns = last_ns + (at_ns - last_ns) / 2;
		}
		last_ns = at_ns;
	}
	for (size_t i = 0; i < g->node_count; i++) {
		struct fxt_graph_node *n = &g->nodes[i];

		n->start_sample = fxt_graph_sample_at(g, n->thread, n->start_ns);
		n->end_sample = fxt_graph_sample_at(g, n->thread, n->end_ns);
	}
	for (size_t i = 0; i < g->arrow_count; i++) {
		struct fxt_graph_arrow *a = &g->arrows[i];

		a->sample = fxt_graph_sample_at(g, a->waker, a->woken_ns);
	}
}

bool fxt_graph_make(struct fxt_critical *c, struct fxt_reader *r, const struct fxt_critical_life *lives,
		    size_t count, uint64_t first_ns)
{
	struct fxt_critical_graph *g = c->graph;
	uint32_t most = 0;

	take_lives(g, lives, count);
	make_joins(c);
	sort_nodes(g);
	/* Whoever is mentioned has a place. */
	for (size_t i = 0; i < g->arrow_count; i++) {
		most = g->arrows[i].waker > most ? g->arrows[i].waker : most;
		most = g->arrows[i].thread > most ? g->arrows[i].thread : most;
	}
	g->threads = fxt_reach(g->threads, &g->thread_capacity, &g->thread_count, most, sizeof(*g->threads));
	add_meetings(c);
	if (g->arrow_count)
		qsort(g->arrows, g->arrow_count, sizeof(*g->arrows), by_time);
	find_nodes(g);
	hand_arrows_out(g);
	find_locks(c);
	put_in_order(g);
	find_samples(g);
	if (!find_ends(g, r))
		return false;
	g->begin_ns = first_ns;
	return g->begin_ns < g->end_ns;
}
