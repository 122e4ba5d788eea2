/* What records refer to: providers, each with its strings and threads, and the names of processes. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "message.h"
#include "reader_internal.h"

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

/* -- Strings --------------------------------------------------------------------------------------- */

void fxt_register_string(struct fxt_provider *p, unsigned index, struct fxt_text text, uint64_t offset)
{
	size_t page = index / FXT_STRING_PAGE;
	size_t had = p->page_capacity;
	struct fxt_string_entry *e;

	p->pages = fxt_grow(p->pages, &p->page_capacity, page + 1, sizeof(struct fxt_string_entry *));
	if (p->page_capacity > had)
		memset(p->pages + had, 0, (p->page_capacity - had) * sizeof(struct fxt_string_entry *));
	if (!p->pages[page])
		p->pages[page] = fxt_alloc(FXT_STRING_PAGE, sizeof(*e));
	e = &p->pages[page][index % FXT_STRING_PAGE];
	if (e->text) {
		if (e->bytes == text.bytes && memcmp(e->text, text.text, text.bytes) == 0)
			return;
		struct fxt_string_entry *older = fxt_alloc(1, sizeof(*older));

		*older = *e;
		e->older = older;
	}
	e->offset = offset;
	e->text = text.text;
	e->bytes = text.bytes;
	e->symbol = 0;
}

struct fxt_string_entry *fxt_registered_string(struct fxt_provider *p, unsigned index, uint64_t offset)
{
	size_t page = index / FXT_STRING_PAGE;
	struct fxt_string_entry *e;

	if (page >= p->page_capacity || !p->pages[page])
		return NULL;
	e = &p->pages[page][index % FXT_STRING_PAGE];
	while (e && e->offset > offset)
		e = e->older;
	return e && e->text ? e : NULL;
}

/* -- Threads --------------------------------------------------------------------------------------- */

void fxt_register_thread(struct fxt_provider *p, unsigned index, uint32_t thread, uint64_t offset)
{
	struct fxt_thread_entry *e;
	size_t had = p->thread_capacity;

	p->threads = fxt_grow(p->threads, &p->thread_capacity, index + 1, sizeof(*p->threads));
	if (p->thread_capacity > had)
		memset(p->threads + had, 0, (p->thread_capacity - had) * sizeof(*p->threads));
	e = &p->threads[index];
	if (e->registered) {
		if (e->thread == thread)
			return;
		struct fxt_thread_entry *older = fxt_alloc(1, sizeof(*older));

		*older = *e;
		e->older = older;
	}
	e->offset = offset;
	e->thread = thread;
	e->registered = true;
}

const struct fxt_thread_entry *fxt_registered_thread(const struct fxt_provider *p, unsigned index,
						     uint64_t offset)
{
	const struct fxt_thread_entry *e;

	if (index >= p->thread_capacity)
		return NULL;
	e = &p->threads[index];
	while (e && e->offset > offset)
		e = e->older;
	return e && e->registered ? e : NULL;
}

uint32_t fxt_thread_of(struct fxt_reader *r, uint64_t pid, uint64_t tid)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&r->thread_by_koids, pid, tid, &fresh);
	struct fxt_thread *t;

	if (!fresh)
		return (uint32_t)s->value[0];
	s->value[0] = r->thread_count;
	r->threads = fxt_grow(r->threads, &r->thread_capacity, r->thread_count + 1, sizeof(*r->threads));
	t = &r->threads[r->thread_count];
	*t = (struct fxt_thread){.pid = pid, .tid = tid, .name.text = ""};
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
	for (size_t i = 0; i < p->page_capacity * FXT_STRING_PAGE; i++) {
		struct fxt_string_entry *page = p->pages[i / FXT_STRING_PAGE];

		if (!page)
			continue;
		for (struct fxt_string_entry *e = page[i % FXT_STRING_PAGE].older, *older; e; e = older) {
			older = e->older;
			free(e);
		}
	}
	for (size_t i = 0; i < p->page_capacity; i++)
		free(p->pages[i]);
	free(p->pages);
}

static void free_threads(struct fxt_provider *p)
{
	for (size_t i = 0; i < p->thread_capacity; i++) {
		for (struct fxt_thread_entry *e = p->threads[i].older, *older; e; e = older) {
			older = e->older;
			free(e);
		}
	}
	free(p->threads);
}

void fxt_tables_free(struct fxt_reader *r)
{
	for (size_t i = 0; i < r->provider_count; i++) {
		free_strings(r->providers[i]);
		free_threads(r->providers[i]);
		free(r->providers[i]);
	}
	free(r->providers);
	free(r->threads);
	fxt_map_free(&r->provider_by_id);
	fxt_map_free(&r->thread_by_koids);
	fxt_map_free(&r->process_names);
}
