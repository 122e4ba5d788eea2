/* Keeps what records refer to: providers, each with its threads, and the names of processes. The strings are
 * in reader_strings.c. */
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

struct fxt_meanings *fxt_with_older(struct fxt_meanings *older, struct fxt_older meaning)
{
	if (!older)
		older = fxt_alloc(1, sizeof(*older));
	older->list = fxt_grow(older->list, &older->capacity, older->count + 1, sizeof(*older->list));
	older->list[older->count++] = meaning;
	return older;
}

/* It searches by halves, because a trace may give one index a million meanings. */
const struct fxt_older *fxt_meaning_at(const struct fxt_meanings *older, uint64_t offset)
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

void fxt_free_older(struct fxt_meanings *older)
{
	if (older)
		free(older->list);
	free(older);
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
		e->older = fxt_with_older(e->older,
					  (struct fxt_older){.offset = e->offset, .value = e->thread});
		p->generation++;
	}
	e->index = index;
	e->offset = offset;
	e->thread = thread;
}

static const struct fxt_thread_entry *thread_at(const struct fxt_provider *p, unsigned index)
{
	const struct fxt_thread_entry *e =
		p->thread_count ? thread_place(p->threads, p->thread_capacity, index) : NULL;

	return e && e->index ? e : NULL;
}

bool fxt_latest_thread(const struct fxt_provider *p, unsigned index, uint32_t *thread, uint64_t *since)
{
	const struct fxt_thread_entry *e = thread_at(p, index);

	if (!e)
		return false;
	*thread = e->thread;
	*since = e->offset;
	return true;
}

bool fxt_registered_thread(const struct fxt_provider *p, unsigned index, uint64_t offset, uint32_t *thread)
{
	const struct fxt_thread_entry *e = thread_at(p, index);
	const struct fxt_older *older;

	if (!e)
		return false;
	*thread = e->thread;
	if (e->offset <= offset)
		return true;
	older = fxt_meaning_at(e->older, offset);
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

static void set_name(struct fxt_reader *r, struct fxt_map *names, uint64_t id, struct fxt_text name)
{
	bool fresh;
	struct fxt_slot *s;

	if (name.bytes == 0)
		return;
	s = fxt_map_put(names, id, 0, &fresh);
	s->value[0] = (uint64_t)(uintptr_t)fxt_lasting_text(r, &name).text;
	s->value[1] = name.bytes;
}

static struct fxt_text name_of(const struct fxt_map *names, uint64_t id)
{
	const struct fxt_slot *s = fxt_map_find(names, id, 0);

	if (!s)
		return (struct fxt_text){.text = ""};
	return (struct fxt_text){.text = (const char *)(uintptr_t)s->value[0],
				 .bytes = (uint32_t)s->value[1]};
}

void fxt_name_process(struct fxt_reader *r, uint64_t pid, struct fxt_text name)
{
	set_name(r, &r->process_names, pid, name);
}

struct fxt_text fxt_process_name(const struct fxt_reader *r, uint64_t pid)
{
	return name_of(&r->process_names, pid);
}

void fxt_name_thread(struct fxt_reader *r, uint64_t tid, struct fxt_text name)
{
	set_name(r, &r->thread_names, tid, name);
}

struct fxt_text fxt_thread_name(const struct fxt_reader *r, uint32_t thread)
{
	const struct fxt_trace_thread *t = &r->threads[thread];

	return t->name.bytes ? t->name : name_of(&r->thread_names, t->tid);
}

static void free_threads(struct fxt_provider *p)
{
	for (size_t i = 0; i < p->thread_capacity; i++)
		fxt_free_older(p->threads[i].older);
	free(p->threads);
}

void fxt_reader_forget(struct fxt_reader *r, struct fxt_provider *p)
{
	fxt_forget_strings(r, p);
	free_threads(p);
	p->generation++;
	p->threads = NULL;
	p->thread_count = p->thread_capacity = 0;
}

void fxt_tables_free(struct fxt_reader *r)
{
	for (size_t i = 0; i < r->provider_count; i++) {
		fxt_reader_forget(r, r->providers[i]);
		free(r->providers[i]);
	}
	fxt_free_strings(r);
	free(r->providers);
	free(r->threads);
	fxt_map_free(&r->provider_by_id);
	fxt_map_free(&r->thread_by_koids);
	fxt_map_free(&r->process_names);
	fxt_map_free(&r->thread_names);
	fxt_map_free(&r->again);
}

bool fxt_provider_is_kernel(const struct fxt_provider *provider)
{
	return (provider->id == FXT_KERNEL_PROVIDER_ID || provider->id > FXT_NUMBER_MOST) &&
	       fxt_text_is(&provider->name, FXT_KERNEL_PROVIDER);
}
