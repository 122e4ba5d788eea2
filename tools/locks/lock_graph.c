/* See lock_graph.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "lock_graph.h"

#include <stdlib.h>

#include "tools/common/message.h"

void fxt_lock_graph_add(struct fxt_lock_graph *g, uint32_t from, uint32_t to)
{
	bool fresh;

	if (g->count == FXT_LOCK_EDGES_MAX)
		return;
	fxt_map_put(&g->known, from, to, &fresh);
	if (!fresh)
		return;
	g->edges = fxt_grow(g->edges, &g->capacity, g->count + 1, sizeof(*g->edges));
	g->edges[g->count++] = (struct fxt_lock_edge){from, to};
}

static int by_from(const void *a, const void *b)
{
	const struct fxt_lock_edge *x = a, *y = b;

	return x->from != y->from ? (x->from < y->from ? -1 : 1) : x->to < y->to ? -1 : x->to > y->to;
}

/* Takes away the locks that no edge leads to, then those that no edge leads to any more, and so on: no circle
 * goes through these. `edges` are sorted by their begins. */
static void take_away_begins(const struct fxt_lock_edge *edges, size_t count, bool *stays, size_t locks)
{
	/* by lock: its first edge; how many edges lead to it */
	size_t *first = fxt_alloc(locks + 1, sizeof(*first)), *leading = fxt_alloc(locks, sizeof(*leading));
	uint32_t *queue = fxt_alloc(locks, sizeof(*queue));
	size_t queued = 0;

	for (size_t i = 0; i < count; i++) {
		first[edges[i].from + 1]++;
		leading[edges[i].to] += stays[edges[i].from];
	}
	for (size_t i = 0; i < locks; i++)
		first[i + 1] += first[i];
	for (size_t i = 0; i < locks; i++)
		if (stays[i] && !leading[i])
			queue[queued++] = (uint32_t)i;
	for (size_t i = 0; i < queued; i++) {
		uint32_t lock = queue[i];

		stays[lock] = false;
		for (size_t k = first[lock]; k < first[lock + 1]; k++)
			if (--leading[edges[k].to] == 0 && stays[edges[k].to])
				queue[queued++] = edges[k].to;
	}
	free(first);
	free(leading);
	free(queue);
}

bool *fxt_lock_graph_circles(const struct fxt_lock_graph *g, size_t locks)
{
	struct fxt_lock_edge *edges = fxt_alloc(g->count, sizeof(*edges));
	bool *stays = fxt_alloc(locks, sizeof(*stays));

	for (size_t i = 0; i < locks; i++)
		stays[i] = true;
	/* The second time all edges are turned round, so that the locks go from which no edge leads. */
	for (int turned = 0; turned < 2; turned++) {
		for (size_t i = 0; i < g->count; i++)
			edges[i] = turned ? (struct fxt_lock_edge){g->edges[i].to, g->edges[i].from}
					  : g->edges[i];
		qsort(edges, g->count, sizeof(*edges), by_from);
		take_away_begins(edges, g->count, stays, locks);
	}
	free(edges);
	return stays;
}

void fxt_lock_graph_free(struct fxt_lock_graph *g)
{
	free(g->edges);
	fxt_map_free(&g->known);
	*g = (struct fxt_lock_graph){0};
}
