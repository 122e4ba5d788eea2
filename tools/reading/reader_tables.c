/* Keeps what records refer to: providers, each with its strings and threads, and the names of processes. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "reader_internal.h"
#include "tools/common/message.h"

/* -- Providers ------------------------------------------------------------------------------------- */

struct fxt_provider *fxt_provider_new(struct fxt_reader *r, uint32_t id)
{
	struct fxt_provider *p = fxt_alloc(1, sizeof(*p));

	p->id = id;
	p->index = (uint32_t)r->provider_count;
	p->name.text = "";
	p->ticks_per_second = 1000000000;
	r->providers = fxt_grow(r->providers, &r->provider_capacity, r->provider_count + 1,
				sizeof(struct fxt_provider *));
	r->providers[r->provider_count++] = p;
	return p;
}

struct fxt_provider *fxt_provider_of(struct fxt_reader *r, uint32_t id)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&r->provider_by_id, id, 0, &fresh);

	if (fresh) {
		s->value[0] = r->provider_count;
		return fxt_provider_new(r, id);
	}
	return r->providers[s->value[0]];
}

/* -- What an index meant before -------------------------------------------------------------------- */

static struct fxt_meanings *with_older(struct fxt_meanings *older, struct fxt_older meaning)
{
	if (!older)
		older = fxt_alloc(1, sizeof(*older));
	older->list = fxt_grow(older->list, &older->capacity, older->count + 1, sizeof(*older->list));
	older->list[older->count++] = meaning;
	return older;
}

/* Returns the last meaning that was registered at or before `offset`, or NULL. It searches by halves,
 * because a trace may give one index a million meanings. */
static const struct fxt_older *meaning_at(const struct fxt_meanings *older, uint64_t offset)
{
	size_t low = 0, high = older ? older->count : 0;

	while (low < high) {
		size_t between = low + (high - low) / 2;

		if (older->list[between].offset <= offset)
			low = between + 1;
		else
			high = between;
	}
	return low ? &older->list[low - 1] : NULL;
}

static void free_older(struct fxt_meanings *older)
{
	if (older)
		free(older->list);
	free(older);
}

/* -- Strings --------------------------------------------------------------------------------------- */

/* Returns the place of the index. No hash is needed, because indices are below 2^15 and few can share a
 * place. */
static struct fxt_string_entry **string_place(struct fxt_string_entry **strings, size_t capacity,
					      unsigned index)
{
	size_t i = index & (capacity - 1);

	while (strings[i] && strings[i]->index != index)
		i = (i + 1) & (capacity - 1);
	return &strings[i];
}

static void more_strings(struct fxt_provider *p)
{
	size_t capacity = p->string_capacity ? p->string_capacity * 4 : 4;
	struct fxt_string_entry **strings = fxt_alloc(capacity, sizeof(struct fxt_string_entry *));

	for (size_t i = 0; i < p->string_capacity; i++) {
		if (p->strings[i])
			*string_place(strings, capacity, p->strings[i]->index) = p->strings[i];
	}
	free(p->strings);
	p->strings = strings;
	p->string_capacity = capacity;
}

void fxt_register_string(struct fxt_provider *p, unsigned index, struct fxt_text text, uint64_t offset)
{
	struct fxt_string_entry **place, *e;

	if (p->string_count * 2 >= p->string_capacity)
		more_strings(p);
	place = string_place(p->strings, p->string_capacity, index);
	e = *place;
	if (!e) {
		e = *place = fxt_alloc(1, sizeof(*e));
		e->index = index;
		p->string_count++;
	} else if (e->bytes == text.bytes && memcmp(e->text, text.text, text.bytes) == 0) {
		return;
	} else {
		e->older = with_older(e->older, (struct fxt_older){e->offset, e->text, e->bytes});
		p->generation++;
	}
	e->offset = offset;
	e->text = text.text;
	e->bytes = text.bytes;
	e->symbol = 0;
}

struct fxt_text fxt_registered_string(const struct fxt_provider *p, unsigned index, uint64_t offset)
{
	struct fxt_string_entry *e =
		p->string_count ? *string_place(p->strings, p->string_capacity, index) : NULL;
	const struct fxt_older *older;

	if (!e)
		return (struct fxt_text){0};
	if (e->offset <= offset)
		return (struct fxt_text){.text = e->text, .bytes = e->bytes, .symbol = &e->symbol};
	older = meaning_at(e->older, offset);
	return older ? (struct fxt_text){.text = older->text, .bytes = older->value} : (struct fxt_text){0};
}

uint16_t fxt_lasting_index(const struct fxt_provider *p, uint64_t ref, const struct fxt_text *text)
{
	uint64_t index = fxt_get_string_ref_value(ref);

	if (fxt_get_string_ref_inline(ref) ||
	    fxt_registered_string(p, (unsigned)index, UINT64_MAX).text != text->text)
		return 0;
	return (uint16_t)index;
}

/* -- Threads --------------------------------------------------------------------------------------- */

/* Returns the place of the index. No hash is needed, because indices are below 2^8. */
static struct fxt_thread_entry *thread_place(struct fxt_thread_entry *threads, size_t capacity,
					     unsigned index)
{
	size_t i = index & (capacity - 1);

	while (threads[i].index && threads[i].index != index)
		i = (i + 1) & (capacity - 1);
	return &threads[i];
}

static void more_threads(struct fxt_provider *p)
{
	size_t capacity = p->thread_capacity ? p->thread_capacity * 4 : 4;
	struct fxt_thread_entry *threads = fxt_alloc(capacity, sizeof(*threads));

	for (size_t i = 0; i < p->thread_capacity; i++) {
		if (p->threads[i].index)
			*thread_place(threads, capacity, p->threads[i].index) = p->threads[i];
	}
	free(p->threads);
	p->threads = threads;
	p->thread_capacity = capacity;
}

void fxt_register_thread(struct fxt_provider *p, unsigned index, uint32_t thread, uint64_t offset)
{
	struct fxt_thread_entry *e;

	if (p->thread_count * 2 >= p->thread_capacity)
		more_threads(p);
	e = thread_place(p->threads, p->thread_capacity, index);
	if (!e->index)
		p->thread_count++;
	else if (e->thread == thread)
		return;
	else {
		e->older = with_older(e->older, (struct fxt_older){.offset = e->offset, .value = e->thread});
		p->generation++;
	}
	e->index = index;
	e->offset = offset;
	e->thread = thread;
}

bool fxt_registered_thread(const struct fxt_provider *p, unsigned index, uint64_t offset, uint32_t *thread)
{
	const struct fxt_thread_entry *e =
		p->thread_count ? thread_place(p->threads, p->thread_capacity, index) : NULL;
	const struct fxt_older *older;

	if (!e || !e->index)
		return false;
	*thread = e->thread;
	if (e->offset <= offset)
		return true;
	older = meaning_at(e->older, offset);
	if (older)
		*thread = older->value;
	return older;
}

uint32_t fxt_thread_of(struct fxt_reader *r, uint64_t pid, uint64_t tid)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&r->thread_by_koids, pid, tid, &fresh);
	struct fxt_trace_thread *t;

	if (!fresh)
		return (uint32_t)s->value[0];
	s->value[0] = r->thread_count;
	r->threads = fxt_grow(r->threads, &r->thread_capacity, r->thread_count + 1, sizeof(*r->threads));
	t = &r->threads[r->thread_count];
	*t = (struct fxt_trace_thread){.pid = pid, .tid = tid, .name.text = ""};
	return (uint32_t)r->thread_count++;
}

void fxt_name_process(struct fxt_reader *r, uint64_t pid, struct fxt_text name)
{
	bool fresh;
	struct fxt_slot *s;

	if (name.bytes == 0)
		return;
	s = fxt_map_put(&r->process_names, pid, 0, &fresh);
	s->value[0] = (uint64_t)((const unsigned char *)name.text - r->data);
	s->value[1] = name.bytes;
}

struct fxt_text fxt_process_name(const struct fxt_reader *r, uint64_t pid)
{
	const struct fxt_slot *s = fxt_map_find(&r->process_names, pid, 0);

	if (!s)
		return (struct fxt_text){.text = ""};
	return (struct fxt_text){.text = (const char *)r->data + s->value[0], .bytes = (uint32_t)s->value[1]};
}

static void free_strings(struct fxt_provider *p)
{
	for (size_t i = 0; i < p->string_capacity; i++) {
		if (p->strings[i])
			free_older(p->strings[i]->older);
		free(p->strings[i]);
	}
	free(p->strings);
}

static void free_threads(struct fxt_provider *p)
{
	for (size_t i = 0; i < p->thread_capacity; i++)
		free_older(p->threads[i].older);
	free(p->threads);
}

void fxt_reader_forget(struct fxt_provider *p)
{
	free_strings(p);
	free_threads(p);
	p->strings = NULL;
	p->threads = NULL;
	p->string_count = p->string_capacity = p->thread_count = p->thread_capacity = 0;
}

void fxt_tables_free(struct fxt_reader *r)
{
	for (size_t i = 0; i < r->provider_count; i++) {
		fxt_reader_forget(r->providers[i]);
		free(r->providers[i]);
	}
	free(r->providers);
	free(r->threads);
	fxt_map_free(&r->provider_by_id);
	fxt_map_free(&r->thread_by_koids);
	fxt_map_free(&r->process_names);
}

bool fxt_provider_is_kernel(const struct fxt_provider *provider)
{
	return provider->id == FXT_KERNEL_PROVIDER_ID && fxt_text_is(&provider->name, FXT_KERNEL_PROVIDER);
}
