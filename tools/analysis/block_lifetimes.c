/* Keeps the times at which heap blocks began and ended. See block_lifetimes.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tools/analysis/block_lifetimes.h"

#include <stdlib.h>

#include "tools/common/message.h"
#include "tools/reading/reader_internal.h"

bool fxt_block_lives_want(uint64_t header)
{
	return fxt_get_record_type(header) == FXT_RECORD_EVENT &&
	       fxt_event_bounds_async(fxt_get_event_type(header));
}

void fxt_block_lives_take(struct fxt_block_lives *l, const struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_argument *ptr;
	struct fxt_slot *s;
	bool fresh;

	if (!fxt_text_is(&rec->name, "heap block") || !fxt_text_is(&rec->category, "malloc"))
		return;
	s = fxt_map_put(&l->by_id, rec->extra, rec->provider->index, &fresh);
	if (rec->subtype == FXT_EVENT_ASYNC_END) {
		s->value[1] = fxt_ns(rec->provider, rec->ticks);
		if (s->value[0])
			l->list[s->value[0] - 1].end_ns = s->value[1];
		return;
	}
	ptr = fxt_argument(rec, "ptr");
	/* The copy of a live file may have a begin twice. */
	if (s->value[0] || !ptr || ptr->type != FXT_ARG_POINTER)
		return;
	l->list = fxt_grow(l->list, &l->capacity, l->count + 1, sizeof(*l->list));
	l->list[l->count++] = (struct fxt_block_life){
		.at = {rec->provider->index, r->threads[rec->thread].pid, ptr->u},
		.begin_ns = fxt_ns(rec->provider, rec->ticks),
		.end_ns = s->value[1] ? s->value[1] : UINT64_MAX,
	};
	s->value[0] = l->count;
}

int fxt_where_compare(const struct fxt_where *a, const struct fxt_where *b)
{
	if (a->provider != b->provider)
		return a->provider < b->provider ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->pointer != b->pointer ? (a->pointer < b->pointer ? -1 : 1) : 0;
}

static int by_pointer_and_time(const void *a, const void *b)
{
	const struct fxt_block_life *x = a, *y = b;
	int order = fxt_where_compare(&x->at, &y->at);

	if (order || x->begin_ns == y->begin_ns)
		return order;
	return x->begin_ns < y->begin_ns ? -1 : 1;
}

void fxt_block_lives_finish(struct fxt_block_lives *l)
{
	fxt_map_free(&l->by_id);
	if (l->count)
		qsort(l->list, l->count, sizeof(*l->list), by_pointer_and_time);
}

bool fxt_block_lived(const struct fxt_block_lives *l, const struct fxt_where *at, uint64_t ns)
{
	const struct fxt_block_life then = {.at = *at, .begin_ns = ns};
	size_t low = 0, high = l->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_pointer_and_time(&l->list[middle], &then) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && fxt_where_compare(&l->list[low - 1].at, at) == 0 && l->list[low - 1].end_ns > ns;
}

void fxt_block_lives_free(struct fxt_block_lives *l)
{
	free(l->list);
	fxt_map_free(&l->by_id);
	*l = (struct fxt_block_lives){0};
}
