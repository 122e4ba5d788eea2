/* See loss_spans.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "loss_spans.h"

#include <stdlib.h>

#include "tools/common/message.h"

/* -- Counts ---------------------------------------------------------------------------------------- */

static int by_last_loss(const void *a, const void *b)
{
	const struct fxt_slot *x = *(struct fxt_slot *const *)a, *y = *(struct fxt_slot *const *)b;

	return x->value[1] != y->value[1] ? (x->value[1] < y->value[1] ? -1 : 1) : (x > y) - (x < y);
}

void fxt_losses_settle(struct fxt_map *counters, const struct fxt_map *before)
{
	struct fxt_slot **list = NULL;
	size_t capacity = 0;

	for (const struct fxt_slot *b = fxt_map_next(before, NULL); b; b = fxt_map_next(before, b)) {
		uint64_t lost = b->value[0];
		size_t count = 0;

		for (struct fxt_slot *s = fxt_map_next(counters, NULL); s; s = fxt_map_next(counters, s)) {
			if (s->a != b->a)
				continue;
			list = fxt_grow(list, &capacity, count + 1, sizeof(*list));
			list[count++] = s;
		}
		if (count)
			qsort(list, count, sizeof(*list), by_last_loss);
		for (size_t i = 0; i < count; i++) {
			uint64_t part = list[i]->value[0] < lost ? list[i]->value[0] : lost;

			list[i]->value[0] -= part;
			lost -= part;
		}
	}
	free(list);
}

static int by_pid(const void *a, const void *b)
{
	const struct fxt_loser *x = a, *y = b;

	return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : 0;
}

static int by_dropped(const void *a, const void *b)
{
	const struct fxt_loser *x = a, *y = b;

	if (x->dropped != y->dropped)
		return x->dropped > y->dropped ? -1 : 1;
	return by_pid(a, b);
}

/* Adds the losses of one program of a process to those of the process. */
static void join_loser(struct fxt_loser *to, struct fxt_loser *from)
{
	to->dropped += from->dropped;
	for (unsigned i = 0; i < FXT_DROP_COUNT; i++)
		to->lost[i] += from->lost[i];
	if (!to->first_ns || (from->first_ns && from->first_ns < to->first_ns))
		to->first_ns = from->first_ns;
	if (from->last_ns > to->last_ns)
		to->last_ns = from->last_ns;
	if (to->reason)
		free(from->reason);
	else
		to->reason = from->reason;
	from->reason = NULL;
}

size_t fxt_losers_join(struct fxt_loser *list, size_t count)
{
	size_t kept = 0, i;

	if (!count)
		return 0;
	qsort(list, count, sizeof(*list), by_pid);
	for (i = 0; i < count; i++) {
		if (kept && list[kept - 1].pid == list[i].pid)
			join_loser(&list[kept - 1], &list[i]);
		else if (kept++ != i)
			list[kept - 1] = list[i];
	}
	qsort(list, kept, sizeof(*list), by_dropped);
	while (kept && !list[kept - 1].dropped)
		free(list[--kept].reason);
	return kept;
}

/* -- Windows --------------------------------------------------------------------------------------- */

enum { MOST = 4096 };

/* A manager that is behind lets a program write a little now and then: that is one window still. */
static const uint64_t FIRST_GAP_NS = 10 * 1000 * 1000;

static int by_process_and_time(const void *a, const void *b)
{
	const struct fxt_loss_span *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->from_ns != y->from_ns ? (x->from_ns < y->from_ns ? -1 : 1) : 0;
}

/* Joins windows that are sorted, and lie closer together than the gap. */
static void join(struct fxt_loss_spans *s)
{
	size_t kept = 0;

	for (size_t i = 1; i < s->count; i++) {
		struct fxt_loss_span *last = &s->list[kept];
		const struct fxt_loss_span *next = &s->list[i];

		if (last->pid != next->pid || next->from_ns > last->to_ns + s->gap_ns) {
			s->list[++kept] = *next;
			continue;
		}
		last->records += next->records;
		if (next->to_ns > last->to_ns)
			last->to_ns = next->to_ns;
	}
	s->count = kept + 1;
}

void fxt_loss_spans_sort(struct fxt_loss_spans *s)
{
	if (!s->count)
		return;
	if (!s->gap_ns)
		s->gap_ns = FIRST_GAP_NS;
	qsort(s->list, s->count, sizeof(*s->list), by_process_and_time);
	join(s);
}

void fxt_loss_spans_add(struct fxt_loss_spans *s, const struct fxt_loss_span *span)
{
	if (s->count >= MOST && s->count == s->capacity) {
		fxt_loss_spans_sort(s);
		/* Each process has one window in the end. */
		for (unsigned i = 0; s->count > MOST / 2 && i < 40; i++) {
			s->gap_ns *= 2;
			join(s);
		}
	}
	s->list = fxt_grow(s->list, &s->capacity, s->count + 1, sizeof(*s->list));
	s->list[s->count++] = *span;
}

const struct fxt_loss_span *fxt_loss_spans_of(const struct fxt_loss_spans *s, uint64_t pid, size_t *count)
{
	size_t first = 0;

	while (first < s->count && s->list[first].pid != pid)
		first++;
	for (*count = 0; first + *count < s->count && s->list[first + *count].pid == pid; ++*count)
		;
	return s->count ? s->list + first : NULL;
}

void fxt_loss_spans_free(struct fxt_loss_spans *s)
{
	free(s->list);
	*s = (struct fxt_loss_spans){0};
}
