/* Finds calls that were in progress when their program was over. See cut_calls.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "cut_calls.h"

#include <stdlib.h>

#include "tools/common/message.h"
#include "tools/reading/reader_internal.h"

static struct fxt_thread_in_progress *thread_of(struct fxt_cut_calls *c, uint32_t thread)
{
	struct fxt_slot *slot;
	bool fresh;

	if (c->thread_count && c->threads[0].thread == thread)
		return &c->threads[0];
	if (c->thread_count) {
		slot = fxt_map_put(&c->by_thread, thread, 0, &fresh);
		if (!fresh)
			return &c->threads[slot->value[0]];
		slot->value[0] = c->thread_count;
		c->threads = fxt_grow(c->threads, &c->thread_capacity, c->thread_count + 1,
				      sizeof(*c->threads));
	} else {
		/* Most programs have one thread. */
		c->threads = fxt_alloc(1, sizeof(*c->threads));
		c->thread_capacity = 1;
	}
	c->threads[c->thread_count] = (struct fxt_thread_in_progress){.thread = thread};
	return &c->threads[c->thread_count++];
}

/* -- The part at hand ------------------------------------------------------------------------------ */

void fxt_cut_calls_take(struct fxt_cut_calls *c, const struct fxt_record *rec)
{
	struct fxt_thread_in_progress *thread = thread_of(c, rec->thread);

	if (rec->subtype == FXT_EVENT_DURATION_BEGIN) {
		c->list = fxt_grow(c->list, &c->capacity, c->count + 1, sizeof(*c->list));
		c->list[c->count++] = (struct fxt_begun_call){rec->offset, rec->ticks, thread->innermost};
		thread->innermost = c->count;
	} else if (thread->innermost) {
		thread->innermost = c->list[thread->innermost - 1].around;
	}
}

void fxt_cut_calls_seen(struct fxt_cut_calls *c, uint32_t thread, const struct fxt_times *times)
{
	struct fxt_thread_in_progress *one = thread_of(c, thread);

	if (times->latest > one->latest_ns)
		one->latest_ns = times->latest;
	if (times->last > one->last_ns)
		one->last_ns = times->last;
}

void fxt_cut_calls_executes(struct fxt_cut_calls *c, uint32_t thread, uint64_t at_ns, bool has_failed)
{
	struct fxt_thread_in_progress *one = thread_of(c, thread);
	uint64_t *last = has_failed ? &one->failed_ns : &one->executed_ns;

	if (at_ns > *last)
		*last = at_ns;
}

uint64_t fxt_cut_calls_executed_ns(const struct fxt_cut_calls *c)
{
	uint64_t executed_ns = 0;

	for (size_t i = 0; i < c->thread_count; i++) {
		const struct fxt_thread_in_progress *one = &c->threads[i];

		if (one->executed_ns >= one->latest_ns && one->executed_ns > one->failed_ns &&
		    one->executed_ns > executed_ns)
			executed_ns = one->executed_ns;
	}
	return executed_ns;
}

static bool describe(struct fxt_cut_call *one, struct fxt_reader *r, struct fxt_provider *own,
		     const struct fxt_begun_call *begun, uint64_t last_ns)
{
	struct fxt_record rec;

	if (!fxt_reader_event_at(r, begun->offset, own, &rec) || rec.damaged)
		return false;
	*one = (struct fxt_cut_call){
		.pid = r->threads[rec.thread].pid,
		.tid = r->threads[rec.thread].tid,
		.begin_ns = rec.ticks,
		.last_ns = last_ns,
		.category = fxt_lasting_index(own, fxt_get_event_category(rec.header), &rec.category),
		.name = fxt_lasting_index(own, fxt_get_event_name(rec.header), &rec.name),
	};
	return true;
}

static int innermost_first(const void *a, const void *b)
{
	const struct fxt_cut_call *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->begin_ns != y->begin_ns ? (x->begin_ns > y->begin_ns ? -1 : 1) : 0;
}

/* Removes from `begun`, which is by time and thread, the calls that are complete as well. */
static void find_complete(struct fxt_map *begun, struct fxt_reader *r, struct fxt_provider *own)
{
	struct fxt_provider *p = NULL;
	struct fxt_record rec;
	uint64_t start_ns, end_ns;

	for (uint64_t at = 0; at < r->at; at += fxt_record_size_words(fxt_word(r, at)) * FXT_WORD_BYTES) {
		struct fxt_slot *s;

		p = fxt_reader_provider_at(r, at, p);
		if (p != own || !fxt_reader_slice_at(r, at, p, &start_ns, &end_ns) ||
		    !fxt_map_find(begun, start_ns, 0) || !fxt_reader_event_at(r, at, p, &rec))
			continue;
		s = fxt_map_find(begun, rec.ticks, r->threads[rec.thread].tid);
		if (s)
			fxt_map_remove(begun, s);
	}
}

static size_t leave_out_complete(struct fxt_cut_call *list, size_t count, struct fxt_reader *r,
				 struct fxt_provider *own)
{
	struct fxt_map begun = {0};
	size_t kept = 0;
	bool fresh;

	for (size_t i = 0; i < count; i++) {
		fxt_map_put(&begun, list[i].begin_ns, 0, &fresh);
		fxt_map_put(&begun, list[i].begin_ns, list[i].tid, &fresh);
	}
	find_complete(&begun, r, own);
	for (size_t i = 0; i < count; i++)
		if (fxt_map_find(&begun, list[i].begin_ns, list[i].tid))
			list[kept++] = list[i];
	fxt_map_free(&begun);
	return kept;
}

struct fxt_cut_call *fxt_cut_calls_keep(struct fxt_cut_calls *c, struct fxt_reader *r,
					struct fxt_provider *own, uint64_t pid, bool is_copy, size_t *count)
{
	struct fxt_cut_call *list = c->count ? fxt_alloc(c->count, sizeof(*list)) : NULL;

	*count = 0;
	for (size_t i = 0; i < c->thread_count; i++)
		for (size_t n = c->threads[i].innermost; n; n = c->list[n - 1].around)
			*count += describe(&list[*count], r, own, &c->list[n - 1], c->threads[i].last_ns) &&
				  list[*count].pid == pid;
	if (*count)
		qsort(list, *count, sizeof(*list), innermost_first);
	if (*count && is_copy)
		*count = leave_out_complete(list, *count, r, own);
	fxt_cut_calls_free(c);
	return list;
}

void fxt_cut_calls_free(struct fxt_cut_calls *c)
{
	free(c->threads);
	fxt_map_free(&c->by_thread);
	free(c->list);
	*c = (struct fxt_cut_calls){0};
}

/* -- Ends ------------------------------------------------------------------------------------------ */

void fxt_thread_moments_add(struct fxt_thread_moments *m, uint64_t pid, uint64_t tid, uint64_t at_ns)
{
	m->list = fxt_grow(m->list, &m->capacity, m->count + 1, sizeof(*m->list));
	m->list[m->count++] = (struct fxt_thread_moment){pid, tid, at_ns};
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct fxt_thread_moment *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->at_ns != y->at_ns ? (x->at_ns < y->at_ns ? -1 : 1) : 0;
}

void fxt_thread_moments_sort(struct fxt_thread_moments *m)
{
	if (m->count)
		qsort(m->list, m->count, sizeof(*m->list), by_thread_and_time);
}

/* Returns the last moment of the thread before that time; 0: there is none. */
static uint64_t last_before(const struct fxt_thread_moments *m, const struct fxt_thread_moment *then)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_thread_and_time(&m->list[middle], then) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low && m->list[low - 1].pid == then->pid && m->list[low - 1].tid == then->tid
		       ? m->list[low - 1].at_ns
		       : 0;
}

uint64_t fxt_cut_calls_end_ns(const struct fxt_cut_call *list, size_t count,
			      const struct fxt_thread_moments *others, uint64_t at_ns, uint64_t before_ns,
			      size_t *same)
{
	const struct fxt_thread_moment then = {list->pid, list->tid, before_ns};
	uint64_t later[] = {list->begin_ns, list->last_ns, last_before(others, &then)};

	for (*same = 1; *same < count && list[*same].tid == list->tid;)
		++*same;
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		at_ns = later[i] > at_ns ? later[i] : at_ns;
	return at_ns;
}
