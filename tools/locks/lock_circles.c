/* See lock_circles.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "lock_circles.h"

#include <stdlib.h>

#include "tools/common/message.h"

/* The comparisons that are made for the circles of one length, so that no trace makes this take more than a
 * second. */
enum { WORK_MAX = 10000000 };

/* An edge: in the situation, the lock `to` was taken while `from` was held. */
struct edge {
	uint32_t from, to;
	const struct fxt_lock_situation *in;
	bool is_shared;                 /* `from` was held for reading */
};

struct search {
	const struct fxt_lock_replay *replay;
	struct fxt_lock_circles *circles;
	struct edge *edges;             /* sorted by `from`, then by `to` */
	size_t count, capacity;
	size_t *first;                  /* by lock: its first edge */
	bool *is_done;                  /* by lock: it is in a circle that was found */
	size_t length;                  /* of the circles that are looked for */
	const struct edge *path[FXT_LOCK_CIRCLE_MAX];
	uint32_t threads[FXT_LOCK_CIRCLE_MAX];  /* the threads that are chosen for the edges of the path */
	int64_t work;                   /* what is left of WORK_MAX */
};

static int by_locks(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->in < y->in ? -1 : x->in > y->in;
}

static bool is_usable(const struct fxt_lock_replay *replay, uint32_t lock)
{
	return lock != FXT_NO_LOCK && replay->places.locks[lock].is_certain &&
	       !replay->places.locks[lock].is_confused;
}

static void make_edges(struct search *s)
{
	const struct fxt_lock_replay *replay = s->replay;

	for (size_t i = 0; i < replay->count; i++) {
		const struct fxt_lock_situation *in = &replay->situations[i];

		if (!is_usable(replay, in->taken))
			continue;
		for (size_t k = 0; k < in->held_count; k++) {
			const struct fxt_lock_held *held = &replay->held[in->held + k];

			if (!is_usable(replay, held->lock))
				continue;
			s->edges = fxt_grow(s->edges, &s->capacity, s->count + 1, sizeof(*s->edges));
			s->edges[s->count++] = (struct edge){held->lock, in->taken, in, held->is_shared};
		}
	}
	if (s->count)
		qsort(s->edges, s->count, sizeof(*s->edges), by_locks);
	for (size_t i = 0; i < s->count; i++)
		s->first[s->edges[i].from + 1]++;
	for (size_t i = 0; i < replay->places.lock_count; i++)
		s->first[i + 1] += s->first[i];
}

/* Returns whether two threads can be in these situations at one time. */
static bool can_meet(struct search *s, const struct fxt_lock_situation *a, const struct fxt_lock_situation *b)
{
	const struct fxt_lock_held *x = s->replay->held + a->held, *y = s->replay->held + b->held;

	s->work -= a->held_count * b->held_count;
	for (size_t i = 0; i < a->held_count; i++)
		for (size_t k = 0; k < b->held_count; k++)
			if (x[i].address == y[k].address && !(x[i].is_shared && y[k].is_shared))
				return false;
	return true;
}

/* Returns whether the thread of the edge `before` waits while that of `edge` holds its first lock. */
static bool has_to_wait(const struct edge *before, const struct edge *edge)
{
	return !(before->in->is_shared && edge->is_shared);
}

/* Returns whether the edge can go on behind the first `count` edges of the path. */
static bool fits(struct search *s, size_t count, const struct edge *edge)
{
	if (count && !has_to_wait(s->path[count - 1], edge))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!can_meet(s, s->path[i]->in, edge->in))
			return false;
	return true;
}

static bool is_among(const uint32_t *threads, size_t count, uint32_t thread)
{
	for (size_t i = 0; i < count; i++)
		if (threads[i] == thread)
			return true;
	return false;
}

/* Chooses a thread of its own for each edge of the path from number `count` on. Returns false if there are
 * not enough different ones. */
/* NOLINTNEXTLINE(misc-no-recursion): the length of the circle bounds its depth. */
static bool choose_threads(struct search *s, size_t count)
{
	const struct fxt_lock_situation *in;

	if (count == s->length)
		return true;
	in = s->path[count]->in;
	for (size_t i = 0; i < in->sighting_count && s->work-- > 0; i++) {
		if (!fxt_lock_is_sure(s->replay, &in->sightings[i]) ||
		    is_among(s->threads, count, in->sightings[i].thread))
			continue;
		s->threads[count] = in->sightings[i].thread;
		if (choose_threads(s, count + 1))
			return true;
	}
	return false;
}

/* Returns the first edge from a lock that leads to another one, or to one with a higher number. */
static size_t first_between(const struct search *s, uint32_t from, uint32_t to)
{
	size_t low = s->first[from], high = s->first[from + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->edges[middle].to < to)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sums up what the thread did along an edge, in all situations. */
static struct fxt_lock_order order_of(const struct search *s, const struct edge *edge, uint32_t thread)
{
	struct fxt_lock_order order = {edge->from, edge->to, thread, UINT64_MAX, 0, FXT_NO_FRAME};

	for (size_t i = first_between(s, edge->from, edge->to);
	     i < s->first[edge->from + 1] && s->edges[i].to == edge->to; i++) {
		const struct fxt_lock_situation *in = s->edges[i].in;

		for (size_t k = 0; k < in->sighting_count; k++) {
			const struct fxt_lock_sighting *sighting = &in->sightings[k];

			if (sighting->thread != thread || !fxt_lock_is_sure(s->replay, sighting))
				continue;
			order.count += sighting->count;
			if (order.innermost == FXT_NO_FRAME)
				order.innermost = sighting->innermost;
			if (sighting->first_ns < order.first_ns)
				order.first_ns = sighting->first_ns;
		}
	}
	return order;
}

static void found(struct search *s)
{
	struct fxt_lock_circles *c = s->circles;
	struct fxt_lock_circle *circle;

	c->list = fxt_grow(c->list, &c->capacity, c->count + 1, sizeof(*c->list));
	circle = &c->list[c->count++];
	circle->count = s->length;
	for (size_t i = 0; i < s->length; i++) {
		circle->orders[i] = order_of(s, s->path[i], s->threads[i]);
		s->is_done[s->path[i]->from] = true;
	}
}

/* Returns whether the path of `count` edges goes through the lock. */
static bool is_on_path(const struct search *s, size_t count, uint32_t lock)
{
	for (size_t i = 0; i < count; i++)
		if (s->path[i]->from == lock)
			return true;
	return false;
}

/* Closes the circle behind the first `count` edges of the path. */
static bool close_circle(struct search *s, size_t count)
{
	uint32_t start = s->path[0]->from, from = s->path[count - 1]->to;

	for (size_t i = first_between(s, from, start);
	     i < s->first[from + 1] && s->edges[i].to == start && s->work-- > 0; i++) {
		s->path[count] = &s->edges[i];
		if (fits(s, count, s->path[count]) && has_to_wait(s->path[count], s->path[0]) &&
		    choose_threads(s, 0))
			return true;
	}
	return false;
}

/* Completes a path of `count` edges to a circle. Its first lock is the one with the lowest number. */
/* NOLINTNEXTLINE(misc-no-recursion): the length of the circle bounds its depth. */
static bool complete(struct search *s, size_t count)
{
	uint32_t start = s->path[0]->from, from = s->path[count - 1]->to;

	if (count + 1 == s->length)
		return close_circle(s, count);
	for (size_t i = first_between(s, from, start + 1); i < s->first[from + 1] && s->work-- > 0; i++) {
		const struct edge *edge = &s->edges[i];

		if (s->is_done[edge->to] || is_on_path(s, count, edge->to) || !fits(s, count, edge))
			continue;
		s->path[count] = edge;
		if (complete(s, count + 1))
			return true;
	}
	return false;
}

/* Finds the circles that begin with edges of this lock: of two locks all, of longer ones one. */
static void find_from(struct search *s, uint32_t start)
{
	uint32_t last = FXT_NO_LOCK;

	for (size_t i = s->first[start]; i < s->first[start + 1]; i++) {
		const struct edge *edge = &s->edges[i];

		if (s->work <= 0 || s->circles->count == FXT_LOCK_CIRCLES_MAX)
			return;
		if (edge->to <= start || edge->to == last)
			continue;
		if (s->length > 2 && (s->is_done[start] || s->is_done[edge->to]))
			continue;
		s->path[0] = edge;
		if (!complete(s, 1))
			continue;
		found(s);
		last = edge->to;
	}
}

void fxt_lock_circles_find(struct fxt_lock_circles *circles, const struct fxt_lock_replay *replay)
{
	size_t locks = replay->places.lock_count;
	struct search s = {.replay = replay, .circles = circles};

	s.first = fxt_alloc(locks + 1, sizeof(*s.first));
	s.is_done = fxt_alloc(locks, sizeof(*s.is_done));
	make_edges(&s);
	for (s.length = 2; s.count && s.length <= FXT_LOCK_CIRCLE_MAX; s.length++) {
		s.work = WORK_MAX;
		for (size_t i = 0; i < locks; i++)
			find_from(&s, (uint32_t)i);
	}
	free(s.edges);
	free(s.first);
	free(s.is_done);
}

void fxt_lock_circles_free(struct fxt_lock_circles *circles)
{
	free(circles->list);
	*circles = (struct fxt_lock_circles){0};
}
