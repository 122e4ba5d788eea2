/* fxt report: finds what threads did in certain stretches of time, by one more walk through their
 * extents. See
 * report_chains.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "report_chains.h"
#include "tools/common/message.h"
#include "tools/reading/reader_internal.h"

/* The stretches that are looked for, sorted by thread. */
struct search {
	struct fxt_reader *r;
	struct fxt_meanwhile **list;
	size_t count;
	size_t *first; /* by thread: its first place in `list`; `count`: none */
	size_t threads;
	/* the first begin and the last end of those that the extent that is walked may tell of */
	uint64_t from_ns, to_ns;
};

static void add(struct fxt_meanwhile *m, uint32_t category, uint32_t name, uint64_t ns)
{
	bool fresh;

	fxt_map_put(&m->by_name, category, name, &fresh)->value[0] += ns;
}

static void take_back(struct fxt_meanwhile *m, uint32_t category, uint32_t name, uint64_t ns)
{
	struct fxt_slot *s = fxt_map_find(&m->by_name, category, name);

	if (s)
		s->value[0] -= ns < s->value[0] ? ns : s->value[0];
}

/* Takes a slice. Slices within it have come before, and their time is not counted as its own. */
static void take_slice(struct fxt_meanwhile *m, uint32_t category, uint32_t name, uint64_t start_ns,
		       uint64_t end_ns)
{
	struct fxt_nested slice = {.start_ns = start_ns > m->from_ns ? start_ns : m->from_ns,
				   .end_ns = end_ns < m->to_ns ? end_ns : m->to_ns};
	struct fxt_nested inner;
	uint64_t within_ns = 0;

	slice.value[0] = slice.end_ns - slice.start_ns;
	while (fxt_nesting_pop(&m->nesting, slice.start_ns, &inner))
		within_ns += inner.value[0];
	fxt_nesting_push(&m->nesting, &slice);
	add(m, category, name, slice.value[0]);
	take_back(m, category, name, within_ns);
	m->untold_ns -= slice.value[0] - within_ns < m->untold_ns ? slice.value[0] - within_ns : m->untold_ns;
}

static void take(const struct search *search, const struct fxt_record *rec)
{
	uint64_t start_ns = fxt_ns(rec->provider, rec->ticks), end_ns = fxt_ns(rec->provider, rec->extra);
	uint32_t category = fxt_symbol(search->r, &rec->category), name = fxt_symbol(search->r, &rec->name);
	bool is_function = fxt_text_is(&rec->category, "function");

	for (size_t i = search->first[rec->thread]; i < search->count; i++) {
		struct fxt_meanwhile *m = search->list[i];
		uint64_t *innermost_ns = is_function ? &m->function_start_ns : &m->call_start_ns;

		if (m->thread != rec->thread || start_ns > m->to_ns)
			break;
		if (end_ns >= m->to_ns && start_ns >= *innermost_ns) {
			*innermost_ns = start_ns;
			*(is_function ? &m->function : &m->call) = name;
		}
		if (end_ns > m->from_ns && start_ns < m->to_ns)
			take_slice(m, category, name, start_ns, end_ns);
	}
}

static bool is_searched(const struct search *search, uint32_t thread)
{
	return thread < search->threads && search->first[thread] < search->count;
}

/* Returns whether the event may matter, before all of it is decoded. */
static bool may_matter(const struct search *search, uint64_t at, uint64_t header,
		       const struct fxt_provider *p)
{
	unsigned ref = (unsigned)fxt_get_event_thread(header);
	uint64_t start_ns, end_ns;
	uint32_t thread;

	if (!fxt_reader_slice_at(search->r, at, p, &start_ns, &end_ns) || start_ns > search->to_ns ||
	    (end_ns < search->from_ns && end_ns >= start_ns))
		return false;
	if (ref == 0)
		return true;
	return fxt_registered_thread(p, ref, at, &thread) && is_searched(search, thread);
}

static void walk_extent(const struct search *search, const struct fxt_extent *extent)
{
	struct fxt_reader *r = search->r;
	struct fxt_provider *p = extent->provider;
	struct fxt_record rec;

	for (uint64_t at = extent->at, words; at < extent->end; at += words * FXT_WORD_BYTES) {
		uint64_t header = fxt_word(r, at);

		words = fxt_record_size_words(header);
		p = fxt_reader_provider_at(r, at, p);
		if (!may_matter(search, at, header, p) || !fxt_reader_event_at(r, at, p, &rec) ||
		    rec.damaged || rec.extra < rec.ticks || !is_searched(search, rec.thread) ||
		    fxt_text_is(&rec.category, "agent"))
			continue;
		take(search, &rec);
	}
}

/* Sets the times in which the extent has to be walked. Returns false if nothing that is looked for lies in
 * it: the stretches are few and short, and most extents of their threads lie between them. */
static bool narrow(struct search *search, const struct fxt_extent *extent)
{
	size_t first = extent->is_mixed ? 0
		       : is_searched(search, extent->thread) ? search->first[extent->thread]
							     : search->count;

	search->from_ns = UINT64_MAX;
	search->to_ns = 0;
	for (size_t i = first; i < search->count; i++) {
		const struct fxt_meanwhile *m = search->list[i];

		if (!extent->is_mixed && m->thread != extent->thread)
			break;
		if (!fxt_extent_may_have(extent, m->from_ns, m->to_ns))
			continue;
		search->from_ns = m->from_ns < search->from_ns ? m->from_ns : search->from_ns;
		search->to_ns = m->to_ns > search->to_ns ? m->to_ns : search->to_ns;
	}
	return search->from_ns <= search->to_ns;
}

static void walk(struct search *search, const struct fxt_extents *extents)
{
	for (size_t i = 0; i < extents->count; i++) {
		if (narrow(search, &extents->list[i]))
			walk_extent(search, &extents->list[i]);
	}
}

/* -- Before and after ----------------------------------------------------------------------------------- */

/* Sorts by thread, and puts the stretch of a thread that ends last first: an event that begins after its end
 * is in none of the thread's others either. */
static int by_thread(const void *a, const void *b)
{
	const struct fxt_meanwhile *x = *(struct fxt_meanwhile *const *)a,
				   *y = *(struct fxt_meanwhile *const *)b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->to_ns > y->to_ns ? -1 : x->to_ns < y->to_ns;
}

static int longest_first(const void *a, const void *b)
{
	const struct fxt_doing *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->name != y->name ? (x->name < y->name ? -1 : 1) : x->category < y->category ? -1 : 1;
}

static void finish(struct fxt_meanwhile *m)
{
	for (const struct fxt_slot *s = fxt_map_next(&m->by_name, NULL); s;
	     s = fxt_map_next(&m->by_name, s)) {
		m->list = fxt_grow(m->list, &m->capacity, m->count + 1, sizeof(*m->list));
		m->list[m->count++] = (struct fxt_doing){(uint32_t)s->a, (uint32_t)s->b, s->value[0]};
	}
	if (m->count)
		qsort(m->list, m->count, sizeof(*m->list), longest_first);
	fxt_map_free(&m->by_name);
	fxt_nesting_free(&m->nesting);
}

void fxt_meanwhile_find(struct fxt_reader *r, const struct fxt_extents *extents,
			struct fxt_meanwhile *const *list, size_t count)
{
	struct search search = {.r = r, .count = count, .threads = r->thread_count};

	search.list = fxt_alloc(count, sizeof(struct fxt_meanwhile *));
	search.first = fxt_alloc(search.threads, sizeof(*search.first));
	for (size_t i = 0; i < search.threads; i++)
		search.first[i] = count;
	for (size_t i = 0; i < count; i++) {
		struct fxt_meanwhile *m = search.list[i] = list[i];

		m->from_ns = m->from_ns < m->to_ns ? m->from_ns : m->to_ns;
		m->untold_ns = m->to_ns - m->from_ns;
	}
	qsort(search.list, count, sizeof(struct fxt_meanwhile *), by_thread);
	for (size_t i = count; i > 0; i--)
		search.first[search.list[i - 1]->thread] = i - 1;
	walk(&search, extents);
	for (size_t i = 0; i < count; i++)
		finish(search.list[i]);
	free(search.list);
	free(search.first);
}

void fxt_meanwhile_free(struct fxt_meanwhile *m)
{
	free(m->list);
	fxt_map_free(&m->by_name);
	fxt_nesting_free(&m->nesting);
	*m = (struct fxt_meanwhile){0};
}
