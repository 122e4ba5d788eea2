/* Keeps the strings that providers register. Programs of a run have mostly the same ones: each program with
 * the agent registers a thousand before its first event. So a text is kept once, and a page of a provider's
 * table is shared with all providers that have the same texts there. A provider that is like another one
 * costs 2 KiB instead of 75. See reader.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "reader_internal.h"
#include "tools/common/hash.h"
#include "tools/common/message.h"

enum {
	PAGE_BITS = 5,
	PAGE = 1 << PAGE_BITS,
	BLOCK = 256,                    /* texts that are allocated at once */
	FEW = 8,                        /* so many strings a provider has in a list, before it gets pages */
};

static_assert(1 << (3 * PAGE_BITS) == FXT_STRING_MAX_INDEX + 1, "three levels have all indices");

/* The string was registered so far behind the first one that the distance has no room. When that was is in
 * the list of meanings. */
#define FAR UINT32_MAX

/* A string of a provider that has few: others' providers may be many. */
struct fxt_few_string {
	struct fxt_string_entry *string;
	uint64_t offset;
	unsigned index;
};

/* The strings at PAGE indices that follow each other. */
struct fxt_string_page {
	struct fxt_string_entry *strings[PAGE];
	/* in words, from the provider's first string on: so they are the same for programs that are alike */
	uint32_t distances[PAGE];
	uint32_t hash;
	uint32_t count;                 /* of the strings */
	uint32_t users;                 /* providers that share the page; 0: one provider has it for itself */
	bool has_changed;               /* an index got another meaning, and others may: it is never shared */
};

/* All texts, and all pages that are shared. Both are found by open addressing; a capacity is a power of two,
 * or 0. */
struct fxt_string_pool {
	struct fxt_string_entry **blocks;
	size_t block_capacity;
	size_t count;                   /* of the texts */
	uint32_t *index;                /* numbers of texts, from 1 up; 0: none */
	size_t index_capacity;
	struct fxt_string_page **pages;
	size_t page_count, page_capacity;
	bool copies;                    /* the texts are copies */
};

/* -- Texts ----------------------------------------------------------------------------------------- */

static struct fxt_string_entry *text_number(const struct fxt_string_pool *pool, size_t number)
{
	return &pool->blocks[number / BLOCK][number % BLOCK];
}

static size_t text_place(const struct fxt_string_pool *pool, const struct fxt_text *text)
{
	size_t i = fxt_hash_bytes(text->text, text->bytes) & (pool->index_capacity - 1);

	for (; pool->index[i]; i = (i + 1) & (pool->index_capacity - 1)) {
		const struct fxt_string_entry *e = text_number(pool, pool->index[i] - 1);

		if (e->bytes == text->bytes && memcmp(e->text, text->text, text->bytes) == 0)
			break;
	}
	return i;
}

static void more_texts(struct fxt_string_pool *pool)
{
	free(pool->index);
	pool->index_capacity = pool->index_capacity ? pool->index_capacity * 2 : 64;
	pool->index = fxt_alloc(pool->index_capacity, sizeof(*pool->index));
	for (size_t i = 0; i < pool->count; i++) {
		const struct fxt_string_entry *e = text_number(pool, i);
		struct fxt_text text = {.text = e->text, .bytes = e->bytes};

		pool->index[text_place(pool, &text)] = (uint32_t)i + 1;
	}
}

/* Returns the only entry with this text. */
static struct fxt_string_entry *entry_of(struct fxt_string_pool *pool, const struct fxt_text *text)
{
	struct fxt_string_entry *e;
	size_t place;

	if (pool->count * 2 >= pool->index_capacity)
		more_texts(pool);
	place = text_place(pool, text);
	if (pool->index[place])
		return text_number(pool, pool->index[place] - 1);
	if (pool->count % BLOCK == 0) {
		pool->blocks = fxt_grow(pool->blocks, &pool->block_capacity, pool->count / BLOCK + 1,
					sizeof(*pool->blocks));
		pool->blocks[pool->count / BLOCK] = fxt_alloc(BLOCK, sizeof(*e));
	}
	e = text_number(pool, pool->count++);
	*e = (struct fxt_string_entry){.text = text->text, .bytes = text->bytes};
	if (pool->copies) {
		char *copy = fxt_alloc(text->bytes + 1, 1);

		memcpy(copy, text->text, text->bytes);
		e->text = copy;
	}
	pool->index[place] = (uint32_t)pool->count;
	return e;
}

static void begin(struct fxt_reader *r)
{
	if (r->strings)
		return;
	r->strings = fxt_alloc(1, sizeof(*r->strings));
	r->strings->copies = r->copies;
}

struct fxt_text fxt_lasting_text(struct fxt_reader *r, const struct fxt_text *text)
{
	struct fxt_text lasting = *text;

	if (r->copies && text->bytes) {
		begin(r);
		lasting.text = entry_of(r->strings, text)->text;
	}
	return lasting;
}

/* -- Pages ----------------------------------------------------------------------------------------- */

static bool are_alike(const struct fxt_string_page *a, const struct fxt_string_page *b)
{
	return a->hash == b->hash && memcmp(a->strings, b->strings, sizeof(a->strings)) == 0 &&
	       memcmp(a->distances, b->distances, sizeof(a->distances)) == 0;
}

/* Returns the place of the page, or of one that is like it, or where it would be put. */
static size_t page_place(const struct fxt_string_pool *pool, const struct fxt_string_page *page)
{
	size_t i = page->hash & (pool->page_capacity - 1);

	while (pool->pages[i] && pool->pages[i] != page && !are_alike(pool->pages[i], page))
		i = (i + 1) & (pool->page_capacity - 1);
	return i;
}

static void more_pages(struct fxt_string_pool *pool)
{
	struct fxt_string_page **old = pool->pages;
	size_t capacity = pool->page_capacity;

	pool->page_capacity = capacity ? capacity * 2 : 64;
	pool->pages = fxt_alloc(pool->page_capacity, sizeof(struct fxt_string_page *));
	for (size_t i = 0; i < capacity; i++)
		if (old[i])
			pool->pages[page_place(pool, old[i])] = old[i];
	free(old);
}

/* Takes a shared page out of the table. Pages that were pushed past it move back, so that the table needs no
 * marks. */
static void unlist(struct fxt_string_pool *pool, const struct fxt_string_page *page)
{
	size_t mask = pool->page_capacity - 1, hole = page_place(pool, page);

	for (size_t i = (hole + 1) & mask; pool->pages[i]; i = (i + 1) & mask) {
		size_t home = pool->pages[i]->hash & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			pool->pages[hole] = pool->pages[i];
			hole = i;
		}
	}
	pool->pages[hole] = NULL;
	pool->page_count--;
}

/* Returns a shared page with the strings of this one, which is full. The caller has it instead. */
static struct fxt_string_page *shared(struct fxt_string_pool *pool, struct fxt_string_page *page)
{
	size_t place;

	page->hash = (uint32_t)fxt_hash_bytes(page->strings, sizeof(page->strings));
	if (pool->page_count * 2 >= pool->page_capacity)
		more_pages(pool);
	place = page_place(pool, page);
	if (pool->pages[place]) {
		free(page);
		page = pool->pages[place];
	} else {
		pool->pages[place] = page;
		pool->page_count++;
	}
	page->users++;
	return page;
}

static void let_go(struct fxt_string_pool *pool, struct fxt_string_page *page)
{
	if (page && page->users) {
		if (--page->users)
			return;
		unlist(pool, page);
	}
	free(page);
}

/* Returns the page, or a copy that the provider has for itself. */
static struct fxt_string_page *own(struct fxt_string_pool *pool, struct fxt_string_page *page)
{
	struct fxt_string_page *copy;

	if (!page->users)
		return page;
	copy = fxt_alloc(1, sizeof(*copy));
	*copy = *page;
	copy->users = 0;
	let_go(pool, page);
	return copy;
}

/* -- Providers' tables ----------------------------------------------------------------------------- */

static struct fxt_string_page *page_of(const struct fxt_provider *p, unsigned index)
{
	struct fxt_string_page **pages = p->strings ? p->strings[index >> (2 * PAGE_BITS)] : NULL;

	return pages ? pages[index >> PAGE_BITS & (PAGE - 1)] : NULL;
}

/* Returns where the provider has the page with the index. */
static struct fxt_string_page **reach_page(struct fxt_provider *p, unsigned index)
{
	struct fxt_string_page ***pages;

	if (!p->strings)
		p->strings = fxt_alloc(PAGE, sizeof(struct fxt_string_page **));
	pages = &p->strings[index >> (2 * PAGE_BITS)];
	if (!*pages)
		*pages = fxt_alloc(PAGE, sizeof(struct fxt_string_page *));
	return &(*pages)[index >> PAGE_BITS & (PAGE - 1)];
}

static void note_first(struct fxt_provider *p, uint64_t offset)
{
	if (!p->has_strings)
		p->first_string = offset;
	p->has_strings = true;
}

static void add_meaning(struct fxt_provider *p, unsigned index, struct fxt_older meaning)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&p->older_strings, index, 0, &fresh);
	struct fxt_meanings *older = (struct fxt_meanings *)(uintptr_t)slot->value[0];

	older = fxt_with_older(older, meaning);
	slot->value[0] = (uintptr_t)older;
}

/* Puts a string at an index that had none, or another one. */
static void put(struct fxt_provider *p, unsigned index, struct fxt_string_page *page,
		struct fxt_string_entry *string, uint64_t offset)
{
	unsigned at = index & (PAGE - 1);
	uint64_t distance;

	note_first(p, offset);
	distance = (offset - p->first_string) / FXT_WORD_BYTES;
	page->count += !page->strings[at];
	page->strings[at] = string;
	page->distances[at] = distance < FAR ? (uint32_t)distance : FAR;
	if (distance >= FAR)
		add_meaning(p, index, (struct fxt_older){offset, string->text, string->bytes});
}

static uint64_t offset_of(const struct fxt_provider *p, const struct fxt_string_page *page, unsigned at)
{
	return p->first_string + (uint64_t)page->distances[at] * FXT_WORD_BYTES;
}

static bool is_same(const struct fxt_string_entry *e, const struct fxt_text *text)
{
	return e->bytes == text->bytes && memcmp(e->text, text->text, text->bytes) == 0;
}

static struct fxt_few_string *few_at(const struct fxt_provider *p, unsigned index)
{
	for (unsigned i = 0; i < p->few_count; i++)
		if (p->few[i].index == index)
			return &p->few[i];
	return NULL;
}

/* Returns room for one more in the list, which takes no more memory than it needs: of a trace that was made
 * to cost much, each event may have a provider of its own. */
static struct fxt_few_string *more_few(struct fxt_provider *p)
{
	struct fxt_few_string *more;

	if (!(p->few_count & (p->few_count - 1))) {
		more = fxt_alloc(p->few_count ? 2 * p->few_count : 1, sizeof(*more));
		if (p->few_count)
			memcpy(more, p->few, p->few_count * sizeof(*more));
		free(p->few);
		p->few = more;
	}
	return &p->few[p->few_count++];
}

/* Registers a string in the list of a provider. Returns false, with nothing changed, if the list is full. */
static bool register_few(struct fxt_reader *r, struct fxt_provider *p, unsigned index,
			 const struct fxt_text *text, uint64_t offset)
{
	struct fxt_few_string *few = few_at(p, index);

	if (few && is_same(few->string, text))
		return true;
	if (few) {
		p->generation++;
		add_meaning(p, index,
			    (struct fxt_older){few->offset, few->string->text, few->string->bytes});
	} else {
		if (p->few_count == FEW)
			return false;
		few = more_few(p);
	}
	*few = (struct fxt_few_string){entry_of(r->strings, text), offset, index};
	note_first(p, offset);
	return true;
}

/* Puts what the list has into pages. */
static void leave_list(struct fxt_provider *p)
{
	/* Distances are from the first one on. */
	for (unsigned i = 0; i < p->few_count; i++)
		if (p->few[i].offset < p->first_string)
			p->first_string = p->few[i].offset;
	for (unsigned i = 0; i < p->few_count; i++) {
		struct fxt_string_page **place = reach_page(p, p->few[i].index);

		if (!*place)
			*place = fxt_alloc(1, sizeof(**place));
		put(p, p->few[i].index, *place, p->few[i].string, p->few[i].offset);
	}
	free(p->few);
	p->few = NULL;
	p->few_count = 0;
}

void fxt_register_string(struct fxt_reader *r, struct fxt_provider *p, unsigned index, struct fxt_text text,
			 uint64_t offset)
{
	struct fxt_string_page **place, *page;
	const struct fxt_string_entry *e;
	unsigned at = index & (PAGE - 1);

	begin(r);
	if (!p->strings && register_few(r, p, index, &text, offset))
		return;
	leave_list(p);
	place = reach_page(p, index);
	page = *place;
	e = page ? page->strings[at] : NULL;
	if (e && is_same(e, &text))
		return;
	page = page ? own(r->strings, page) : fxt_alloc(1, sizeof(*page));
	if (e) {
		page->has_changed = true;
		p->generation++;
		if (page->distances[at] != FAR)
			add_meaning(p, index,
				    (struct fxt_older){offset_of(p, page, at), e->text, e->bytes});
	}
	put(p, index, page, entry_of(r->strings, &text), offset);
	*place = page->count == PAGE && !page->has_changed ? shared(r->strings, page) : page;
}

struct fxt_text fxt_latest_string(const struct fxt_provider *p, unsigned index, uint64_t *since)
{
	const struct fxt_string_page *page = page_of(p, index);
	unsigned at = index & (PAGE - 1);
	struct fxt_string_entry *e = page ? page->strings[at] : NULL;
	const struct fxt_few_string *few = few_at(p, index);

	e = few ? few->string : e;
	if (!e)
		return (struct fxt_text){0};
	*since = few ? few->offset : page->distances[at] != FAR ? offset_of(p, page, at) : UINT64_MAX;
	return (struct fxt_text){.text = e->text, .bytes = e->bytes, .symbol = &e->symbol};
}

struct fxt_text fxt_registered_string(const struct fxt_provider *p, unsigned index, uint64_t offset)
{
	uint64_t since = 0;
	struct fxt_text latest = fxt_latest_string(p, index, &since);
	const struct fxt_slot *slot;
	const struct fxt_older *older;

	if (since <= offset)
		return latest;
	slot = fxt_map_find(&p->older_strings, index, 0);
	older = slot ? fxt_meaning_at((struct fxt_meanings *)(uintptr_t)slot->value[0], offset) : NULL;
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

void fxt_mark_strings(const struct fxt_provider *p, unsigned char *is_used)
{
	for (unsigned i = 0; i < p->few_count; i++)
		is_used[p->few[i].index] = true;
	for (unsigned index = 0; index <= FXT_STRING_MAX_INDEX; index++) {
		const struct fxt_string_page *page = page_of(p, index);

		if (page)
			is_used[index] = page->strings[index & (PAGE - 1)] != NULL;
		else
			index |= PAGE - 1;
	}
}

void fxt_forget_strings(struct fxt_reader *r, struct fxt_provider *p)
{
	for (unsigned i = 0; p->strings && i < PAGE; i++) {
		for (unsigned k = 0; p->strings[i] && k < PAGE; k++)
			let_go(r->strings, p->strings[i][k]);
		free(p->strings[i]);
	}
	free(p->strings);
	free(p->few);
	p->strings = NULL;
	p->few = NULL;
	p->few_count = 0;
	p->has_strings = false;
	for (const struct fxt_slot *s = fxt_map_next(&p->older_strings, NULL); s;
	     s = fxt_map_next(&p->older_strings, s))
		fxt_free_older((struct fxt_meanings *)(uintptr_t)s->value[0]);
	fxt_map_free(&p->older_strings);
}

void fxt_free_strings(struct fxt_reader *r)
{
	struct fxt_string_pool *pool = r->strings;

	if (!pool)
		return;
	for (size_t i = 0; pool->copies && i < pool->count; i++)
		free((char *)(uintptr_t)text_number(pool, i)->text);
	for (size_t i = 0; i * BLOCK < pool->count; i++)
		free(pool->blocks[i]);
	free(pool->blocks);
	free(pool->index);
	free(pool->pages);
	free(pool);
	r->strings = NULL;
}
