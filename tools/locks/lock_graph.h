/* A graph of locks: an edge leads from a lock to one that was taken while the first was held. lock_scan.c
 * makes it, and asks which locks may lie in a circle. */
#ifndef FXT_TOOLS_LOCK_GRAPH_H
#define FXT_TOOLS_LOCK_GRAPH_H

#include "tools/common/map.h"

/* Further edges are left out, so that no trace makes this take more than some 20 MB. */
enum { FXT_LOCK_EDGES_MAX = 1 << 18 };

struct fxt_lock_edge {
	uint32_t from, to;              /* numbers of locks, from 0 up */
};

/* The edges. When there are none, all members are zero. */
struct fxt_lock_graph {
	struct fxt_lock_edge *edges;
	size_t count, capacity;
	struct fxt_map known;           /* a set of pairs */
};

/* Adds an edge, if it is new and there is room for it. */
void fxt_lock_graph_add(struct fxt_lock_graph *g, uint32_t from, uint32_t to);

/* Returns for each of `locks` locks whether it may lie in a circle. That is so for all that do, and for those
 * on a way from one circle to another. The caller frees the array. */
bool *fxt_lock_graph_circles(const struct fxt_lock_graph *g, size_t locks);

void fxt_lock_graph_free(struct fxt_lock_graph *g);

#endif
