/* Goes through the events of a file in the order of time. See order.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "order.h"

#include <stdlib.h>

#include "reader_internal.h"
#include "tools/common/message.h"

void fxt_order_add(struct fxt_order *o, const struct fxt_record *rec, uint64_t key_ns)
{
	struct fxt_run_of_events *run = o->count ? &o->runs[o->count - 1] : NULL;
	uint64_t at = rec->offset;

	if (run && run->provider == rec->provider && key_ns == FXT_ORDER_WITH_LAST) {
		o->tail = o->tail ? o->tail : at;
	} else if (!run || run->provider != rec->provider || key_ns < o->last_key_ns) {
		/* Events without a time of their own go with the event before or after them, whichever
		 * is earlier. */
		if (run && run->provider == rec->provider && o->tail)
			run->end = at = o->tail;
		o->runs = fxt_grow(o->runs, &o->capacity, o->count + 1, sizeof(*o->runs));
		run = &o->runs[o->count++];
		*run = (struct fxt_run_of_events){.at = at, .key_ns = key_ns, .provider = rec->provider};
		o->tail = 0;
		o->last_key_ns = key_ns;
	} else {
		o->tail = 0;
		o->last_key_ns = key_ns;
	}
	run->end = rec->offset + rec->words * FXT_WORD_BYTES;
}

/* Compares two runs by their next events. Equal times go by the place in the file, so that the order is
 * the same every time. */
static bool earlier(const struct fxt_run_of_events *a, const struct fxt_run_of_events *b)
{
	return a->key_ns != b->key_ns ? a->key_ns < b->key_ns : a->at < b->at;
}

static int by_start(const void *a, const void *b)
{
	return earlier(a, b) ? -1 : 1;
}

void fxt_order_begin(struct fxt_order *o, struct fxt_reader *r, fxt_order_key *key, void *context)
{
	o->reader = r;
	o->key = key;
	o->context = context;
	if (!o->count)
		return;
	qsort(o->runs, o->count, sizeof(*o->runs), by_start);
	o->decoded = fxt_alloc(FXT_ORDER_DECODED, sizeof(*o->decoded));
}

void fxt_order_gather(struct fxt_order *o, struct fxt_reader *r, fxt_order_key *key, void *context)
{
	struct fxt_provider *p = r->providers[0];
	struct fxt_record rec;
	uint64_t key_ns;

	for (uint64_t at = 0; at < r->at; at += fxt_record_size_words(fxt_word(r, at)) * FXT_WORD_BYTES) {
		p = fxt_reader_provider_at(r, at, p);
		if ((!o->glance || o->glance(context, r, at, p)) && fxt_reader_event_at(r, at, p, &rec) &&
		    key(context, &rec, &key_ns))
			fxt_order_add(o, &rec, key_ns);
	}
	fxt_order_begin(o, r, key, context);
}

static void sift_up(struct fxt_order *o, size_t i)
{
	while (i && earlier(&o->runs[o->heap[i]], &o->runs[o->heap[(i - 1) / 2]])) {
		size_t swap = o->heap[i];

		o->heap[i] = o->heap[(i - 1) / 2];
		o->heap[(i - 1) / 2] = swap;
		i = (i - 1) / 2;
	}
}

static void sift_down(struct fxt_order *o)
{
	for (size_t i = 0;;) {
		size_t child = 2 * i + 1, swap;

		if (child >= o->heap_count)
			return;
		if (child + 1 < o->heap_count &&
		    earlier(&o->runs[o->heap[child + 1]], &o->runs[o->heap[child]]))
			child++;
		if (!earlier(&o->runs[o->heap[child]], &o->runs[o->heap[i]]))
			return;
		swap = o->heap[i];
		o->heap[i] = o->heap[child];
		o->heap[child] = swap;
		i = child;
	}
}

/* Moves the first run of the heap to its next event, or takes the run out if it has no more. */
static void advance(struct fxt_order *o, struct fxt_run_of_events *run, uint64_t at)
{
	struct fxt_record *rec = &o->decoded[o->heap[0] % FXT_ORDER_DECODED];
	uint64_t key_ns;

	for (uint64_t header; at < run->end; at += fxt_record_size_words(header) * FXT_WORD_BYTES) {
		header = fxt_word(o->reader, at);
		if (fxt_get_record_type(header) != FXT_RECORD_EVENT) {
			/* Records of other providers may lie between two events of a run. */
			run->provider = fxt_reader_provider_at(o->reader, at, run->provider);
			continue;
		}
		if (o->glance && !o->glance(o->context, o->reader, at, run->provider))
			continue;
		if (!fxt_reader_event_at(o->reader, at, run->provider, rec) ||
		    !o->key(o->context, rec, &key_ns))
			continue;
		if (key_ns != FXT_ORDER_WITH_LAST)
			run->key_ns = key_ns;
		run->at = at;
		sift_down(o);
		return;
	}
	o->heap[0] = o->heap[--o->heap_count];
	sift_down(o);
}

bool fxt_order_next(struct fxt_order *o, struct fxt_record *rec)
{
	const struct fxt_record *decoded;
	struct fxt_run_of_events *run;

	while (o->next < o->count &&
	       (o->heap_count == 0 || earlier(&o->runs[o->next], &o->runs[o->heap[0]]))) {
		o->heap = fxt_grow(o->heap, &o->heap_capacity, o->heap_count + 1, sizeof(*o->heap));
		o->heap[o->heap_count++] = o->next++;
		sift_up(o, o->heap_count - 1);
	}
	if (o->heap_count == 0)
		return false;
	run = &o->runs[o->heap[0]];
	decoded = &o->decoded[o->heap[0] % FXT_ORDER_DECODED];
	/* No event is at the offset 0. */
	if (decoded->offset == run->at)
		fxt_record_copy(rec, decoded);
	else
		fxt_reader_event_at(o->reader, run->at, run->provider, rec);
	advance(o, run, run->at + rec->words * FXT_WORD_BYTES);
	return true;
}

void fxt_order_free(struct fxt_order *o)
{
	free(o->runs);
	free(o->heap);
	free(o->decoded);
	*o = (struct fxt_order){0};
}
