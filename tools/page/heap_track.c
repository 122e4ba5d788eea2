/* How much of the heap was in use, over time. See heap_track.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "heap_track.h"

#include <stdlib.h>

#include "tools/common/message.h"

/* A process while its heap is replayed. */
struct replayed {
	uint64_t pid, bucket, high_ns, high_bytes, last_ns, last_bytes;
	uint32_t track;
	bool has_point;
};

struct replay {
	struct fxt_timeline *t;
	struct fxt_report *report;
	struct fxt_heaps heaps;
	struct replayed *list;          /* as heaps.list */
	size_t count, capacity;
	uint64_t width_ns;
};

static bool key_of(void *context, const struct fxt_record *rec, uint64_t *key_ns)
{
	struct replay *p = context;
	const struct fxt_role *role;

	if (!rec->known || rec->damaged || rec->subtype != FXT_EVENT_DURATION_COMPLETE ||
	    rec->extra < rec->ticks)
		return false;
	role = fxt_role_of(&p->report->roles, p->report->r, rec);
	if (!role || role->family != FXT_FAMILY_HEAP)
		return false;
	*key_ns = fxt_ns(rec->provider, role->effect == FXT_EFFECT_FREE ? rec->ticks : rec->extra);
	return true;
}

static void add_point(struct replay *p, struct replayed *x, uint64_t at_ns, uint64_t bytes)
{
	fxt_track_add_point(&p->t->tracks[x->track], at_ns, (int64_t)bytes);
}

/* Adds the points of the time that is over. */
static void end_bucket(struct replay *p, struct replayed *x)
{
	if (!x->has_point)
		return;
	add_point(p, x, x->high_ns, x->high_bytes);
	if (x->last_ns != x->high_ns)
		add_point(p, x, x->last_ns, x->last_bytes);
	x->has_point = false;
}

static void note(struct replay *p, size_t place, uint64_t at_ns)
{
	const struct fxt_process_heap *heap = &p->heaps.list[place];
	struct replayed *x;
	bool fresh = place >= p->count;

	p->list = fxt_reach(p->list, &p->capacity, &p->count, place, sizeof(*p->list));
	x = &p->list[place];
	if (fresh) {
		x->pid = heap->pid;
		x->track = fxt_timeline_points(p->t, heap->pid, "heap in use, bytes");
	}
	if (x->has_point && at_ns / p->width_ns != x->bucket)
		end_bucket(p, x);
	x->bucket = at_ns / p->width_ns;
	if (!x->has_point || heap->in_use_bytes > x->high_bytes) {
		x->high_ns = at_ns;
		x->high_bytes = heap->in_use_bytes;
	}
	x->last_ns = at_ns;
	x->last_bytes = heap->in_use_bytes;
	x->has_point = true;
}

/* Returns whether the replay knows all that any process has: what it had before a gap is not known. */
static bool is_known(const struct fxt_report *report)
{
	for (size_t i = 0; i < report->heaps.count; i++) {
		if (report->heaps.list[i].known_from_ns)
			return false;
	}
	return report->heaps.count != 0;
}

void fxt_heap_tracks(struct fxt_timeline *t, const struct fxt_report *report)
{
	struct replay p = {
		.t = t,
		.report = (struct fxt_report *)report,
		.width_ns = (t->last_ns - t->first_ns) / 2048 + 1,
	};
	struct fxt_order order = {0};
	struct fxt_record rec;

	if (!is_known(report))
		return;
	fxt_order_gather(&order, report->r, key_of, &p);
	while (fxt_order_next(&order, &rec)) {
		const struct fxt_role *role = fxt_role_of(&p.report->roles, report->r, &rec);
		bool at_start = role->effect == FXT_EFFECT_FREE;
		const struct fxt_slot *heap;

		fxt_heaps_take(&p.heaps, report->r, &rec, role);
		heap = fxt_map_find(&p.heaps.by_provider, rec.provider->index,
				    report->r->threads[rec.thread].pid);
		if (heap)
			note(&p, heap->value[0], fxt_ns(rec.provider, at_start ? rec.ticks : rec.extra));
	}
	for (size_t i = 0; i < p.count; i++)
		end_bucket(&p, &p.list[i]);
	fxt_order_free(&order);
	fxt_heaps_free(&p.heaps);
	free(p.list);
}
