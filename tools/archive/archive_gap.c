/* See archive_gap.h. Takes what is gone, and bounds what is kept of it. archive_told.c writes it. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "archive_gap.h"

#include <stdlib.h>
#include <string.h>

#include "archive_told.h"
#include "archive_walk.h"
#include "tools/common/message.h"

enum {
	MOST_NEEDED = 2,                /* the highest rank */
	FEW_HOLES = 1024,
	MOST_PROGRAMS = 256,            /* of which nothing else is left */
};

/* The kinds of keys. */
enum { LIFETIME = 1, OBJECT, KERNEL_OBJECT };

/* -- Programs and records that are kept --------------------------------------------------------- */

static uint64_t *copy_of(const uint64_t *words, size_t size)
{
	uint64_t *copy = fxt_alloc(size, FXT_WORD_BYTES);

	memcpy(copy, words, size * FXT_WORD_BYTES);
	return copy;
}

static size_t program_of(struct fxt_archive_gap *g, uint32_t id)
{
	bool is_new;
	struct fxt_slot *s = fxt_map_put(&g->ids, id, 0, &is_new);

	if (is_new) {
		s->value[0] = g->program_count + 1;
		g->programs = fxt_grow(g->programs, &g->program_capacity, g->program_count + 1,
				       sizeof(*g->programs));
		g->programs[g->program_count++] = (struct fxt_gap_program){.id = id, .first_ns = UINT64_MAX};
	}
	return s->value[0] - 1;
}

static void forget(struct fxt_archive_gap *g, size_t at)
{
	struct fxt_gap_record *one = &g->records[at];

	if (!one->words)
		return;
	if (one->key[0])
		fxt_map_remove(&g->keys, fxt_map_find(&g->keys, one->key[0], one->key[1]));
	g->bytes -= (uint64_t)one->size * FXT_WORD_BYTES;
	g->holes++;
	free(one->words);
	one->words = NULL;
}

/* Closes the holes that were forgotten. */
static void close_holes(struct fxt_archive_gap *g)
{
	size_t to = 0;

	for (size_t from = 0; from < g->record_count; from++) {
		struct fxt_gap_record one = g->records[from];

		if (!one.words)
			continue;
		if (one.key[0])
			fxt_map_find(&g->keys, one.key[0], one.key[1])->value[0] = to + 1;
		g->records[to++] = one;
	}
	g->record_count = to;
	g->holes = 0;
}

/* Returns how much depends on the record: least on the name of an object, most on a frame, a module, a
 * process or a thread. */
static unsigned rank_of(const struct fxt_gap_record *one)
{
	const uint64_t modules = 0x7fd0, frames = 0x7fe0;       /* agent/emit/call_stack.h */
	uint64_t kind = one->key[0] & 0xff, above = one->key[1] >> 48;

	if (kind == KERNEL_OBJECT || (kind == OBJECT && (above == modules || above == frames)))
		return MOST_NEEDED;
	return kind != OBJECT;
}

/* Forgets records if there are more than so many bytes: those first on which least depends, the oldest
 * first. */
static void bound(struct fxt_archive_gap *g, uint64_t most)
{
	for (unsigned rank = 0; rank <= MOST_NEEDED && g->bytes > most; rank++)
		for (size_t i = 0; i < g->record_count && g->bytes > most / 4 * 3; i++)
			if (rank_of(&g->records[i]) == rank)
				forget(g, i);
	if (g->holes > FEW_HOLES && g->holes > g->record_count / 2)
		close_holes(g);
}

static uint64_t most_bytes(const struct fxt_archive_gap *g)
{
	return g->most_bytes ? g->most_bytes : FXT_GAP_MOST_BYTES;
}

static void keep(struct fxt_archive_gap *g, size_t program, const uint64_t *words, size_t size, uint64_t kind,
		 uint64_t id)
{
	struct fxt_gap_record one = {copy_of(words, size), (uint32_t)size, (uint32_t)program, {kind, id}};
	bool is_new;

	if (kind)
		fxt_map_put(&g->keys, kind, id, &is_new)->value[0] = g->record_count + 1;
	g->records = fxt_grow(g->records, &g->record_capacity, g->record_count + 1, sizeof(*g->records));
	g->records[g->record_count++] = one;
	g->bytes += size * FXT_WORD_BYTES;
	bound(g, 2 * most_bytes(g));
}

static void set(uint64_t **record, const uint64_t *words, size_t size)
{
	free(*record);
	*record = copy_of(words, size);
}

/* -- The file that is taken --------------------------------------------------------------------- */

/* What categories are to a gap. */
enum category { UNKNOWN, ANY, OF_AGENT, OF_PROCESS };

struct taking {
	struct fxt_archive_gap *g;
	struct fxt_archive_walk walk;
	uint64_t until_ns;
	/* provider and index -> place of the record; provider -> its program plus 1 */
	struct fxt_map strings, threads, programs;
	struct fxt_map categories;      /* provider and reference -> enum category */
	uint32_t provider;              /* whose program and category were looked up last */
	size_t program;                 /* plus 1 */
	uint64_t reference;
	enum category category;         /* UNKNOWN: none was looked up */
};

/* Returns the program of the present record. */
static size_t present_program(struct taking *t)
{
	bool is_new;
	struct fxt_slot *s;

	if (t->program && t->provider == t->walk.provider)
		return t->program - 1;
	t->provider = t->walk.provider;
	t->category = UNKNOWN;
	s = fxt_map_put(&t->programs, t->provider, 0, &is_new);
	if (is_new)
		s->value[0] = program_of(t->g, t->provider) + 1;
	t->program = s->value[0];
	return t->program - 1;
}

static bool is_text(const uint64_t *record, const char *text)
{
	size_t bytes = strlen(text);

	return fxt_get_string_bytes(record[0]) == bytes && memcmp(record + 1, text, bytes) == 0;
}

static const uint64_t *string_of(const struct taking *t, uint64_t reference)
{
	const struct fxt_slot *s = fxt_map_find(&t->strings, t->walk.provider, reference);

	return s ? t->walk.words + s->value[0] : NULL;
}

/* Returns what the category is. Two indices may have the same text. */
static enum category category_of(struct taking *t, uint64_t reference)
{
	const uint64_t *record;
	struct fxt_slot *s;
	bool is_new;

	present_program(t);
	if (t->category && t->reference == reference)
		return t->category;
	/* Only a gap has the agent's category in its records. */
	if (fxt_get_string_ref_inline(reference))
		return OF_AGENT;
	s = fxt_map_put(&t->categories, t->provider, reference, &is_new);
	record = is_new ? string_of(t, reference) : NULL;
	if (is_new)
		s->value[0] = record && is_text(record, "agent")     ? OF_AGENT
			      : record && is_text(record, "process") ? OF_PROCESS
								     : ANY;
	t->reference = reference;
	t->category = (enum category)s->value[0];
	return t->category;
}

/* Keeps a copy of a record that another one refers to. */
static void keep_referred(struct fxt_map *kept, uint64_t index, const struct fxt_archive_walk *walk,
			  const struct fxt_map *places, uint32_t provider)
{
	const struct fxt_slot *place = fxt_map_find(places, provider, index);
	const uint64_t *record;
	struct fxt_slot *s;
	bool is_new;

	if (!place)
		return;
	record = walk->words + place->value[0];
	s = fxt_map_put(kept, index, 0, &is_new);
	if (!is_new)
		free((uint64_t *)(uintptr_t)s->value[0]);
	s->value[0] = (uint64_t)(uintptr_t)copy_of(record, fxt_archive_words(record[0]));
}

/* Keeps the present record, and what it refers to. */
static void keep_present(struct taking *t, uint64_t kind, uint64_t id)
{
	const uint64_t *record = t->walk.words + t->walk.at;
	size_t number = present_program(t);
	struct fxt_gap_program *program = &t->g->programs[number];
	struct fxt_archive_refs refs;

	fxt_archive_refs(&refs, record, t->walk.size);
	for (size_t i = 0; i < refs.count; i++)
		keep_referred(&program->strings, refs.strings[i], &t->walk, &t->strings, t->provider);
	if (refs.thread)
		keep_referred(&program->threads, refs.thread, &t->walk, &t->threads, t->provider);
	keep(t->g, number, record, t->walk.size, kind, id);
}

static struct fxt_slot *kept_about(const struct taking *t, uint64_t kind, uint64_t id)
{
	return fxt_map_find(&t->g->keys, kind, id);
}

static bool is_other_half(const struct taking *t, const struct fxt_slot *half, unsigned type)
{
	return half && fxt_get_event_type(t->g->records[half->value[0] - 1].words[0]) != type;
}

/* Takes the begin or the end of a lifetime. Its other half may stand before it or behind it, because
 * threads write them into chunks of their own. The begin may be there twice: where a thread has moved it in
 * front of the end (docs/storage.md), the manager may have saved it already. */
static void take_lifetime(struct taking *t, const uint64_t *record)
{
	uint64_t id = fxt_archive_event_id(record, t->walk.size);
	struct fxt_slot *half = kept_about(t, LIFETIME, id), *first = fxt_map_find(&t->g->first, id, 0);
	unsigned type = (unsigned)fxt_get_event_type(record[0]);

	if (first && type == FXT_EVENT_ASYNC_BEGIN)
		return;
	if (first)
		fxt_map_remove(&t->g->first, first);
	else if (is_other_half(t, half, type))
		forget(t->g, half->value[0] - 1);
	if (!half)
		keep_present(t, LIFETIME, id);
}

/* Takes an object: the last record about it counts. */
static void take_object(struct taking *t, const uint64_t *record, unsigned type)
{
	bool is_kernel = type == FXT_RECORD_KERNEL_OBJECT;
	uint64_t kind = is_kernel ? KERNEL_OBJECT | fxt_get_object_type(record[0]) << 8 : OBJECT;
	size_t number = present_program(t);
	struct fxt_gap_program *program = &t->g->programs[number];
	struct fxt_slot *before;

	if (t->walk.size < 2)
		return;
	if (is_kernel && fxt_get_object_type(record[0]) == FXT_OBJECT_PROCESS && !program->process)
		program->process = record[1];
	/* What stays of a file has its own names. */
	if (t->until_ns != UINT64_MAX)
		return;
	kind |= (uint64_t)t->provider << 16;
	before = kept_about(t, kind, record[1]);
	if (before)
		forget(t->g, before->value[0] - 1);
	keep_present(t, kind, record[1]);
}

/* Returns whether the instant tells of a call that has a record of its own, as the report counts them
 * (analysis/stack_instants.h). */
static bool tells_of_call(const struct taking *t, uint64_t header)
{
	const uint64_t *name = string_of(t, fxt_get_event_name(header));

	return name && (is_text(name, "blocked") || is_text(name, "contended") || is_text(name, "unlocked"));
}

static void take_event(struct taking *t, const uint64_t *record)
{
	size_t number = present_program(t);
	struct fxt_gap_program *program = &t->g->programs[number];
	unsigned type = (unsigned)fxt_get_event_type(record[0]);
	enum category category = category_of(t, fxt_get_event_category(record[0]));
	uint64_t at_ns = fxt_archive_event_ns(record, t->walk.size);

	if (at_ns >= t->until_ns || t->walk.size < 2)
		return;
	if (fxt_told_is_counter(record, t->walk.size))
		program->calls += fxt_told_calls(record, t->walk.size);
	program->calls += category != OF_AGENT &&
			  (type == FXT_EVENT_DURATION_COMPLETE ||
			   (type == FXT_EVENT_INSTANT && !tells_of_call(t, record[0])));
	program->first_ns = record[1] < program->first_ns ? record[1] : program->first_ns;
	program->last_ns = at_ns > program->last_ns ? at_ns : program->last_ns;
	if (type == FXT_EVENT_ASYNC_BEGIN || type == FXT_EVENT_ASYNC_END)
		take_lifetime(t, record);
	else if (type == FXT_EVENT_INSTANT && category == OF_PROCESS)
		keep_present(t, 0, 0);
}

static void take_metadata(struct taking *t, const uint64_t *record)
{
	unsigned type = (unsigned)fxt_get_metadata_type(record[0]);
	size_t number;

	if (type == FXT_METADATA_PROVIDER_INFO) {
		number = present_program(t);
		set(&t->g->programs[number].name, record, t->walk.size);
	} else if (type == FXT_METADATA_PROVIDER_EVENT) {
		number = program_of(t->g, (uint32_t)fxt_get_provider_id(record[0]));
		t->g->programs[number].was_full = true;
	}
}

static void take(struct taking *t)
{
	const uint64_t *record = t->walk.words + t->walk.at;
	unsigned type = (unsigned)fxt_get_record_type(record[0]);
	size_t number;
	bool is_new;

	switch (type) {
	case FXT_RECORD_METADATA: take_metadata(t, record); break;
	case FXT_RECORD_INITIALIZATION:
		number = present_program(t);
		set(&t->g->programs[number].clock, record, t->walk.size);
		break;
	case FXT_RECORD_STRING:
		fxt_map_put(&t->strings, t->walk.provider, fxt_get_string_index(record[0]), &is_new)
			->value[0] = t->walk.at;
		break;
	case FXT_RECORD_THREAD:
		fxt_map_put(&t->threads, t->walk.provider, fxt_get_thread_index(record[0]), &is_new)
			->value[0] = t->walk.at;
		break;
	case FXT_RECORD_EVENT: take_event(t, record); break;
	case FXT_RECORD_USERSPACE_OBJECT:
	case FXT_RECORD_KERNEL_OBJECT: take_object(t, record, type); break;
	default: break;
	}
}

void fxt_gap_take_first(struct fxt_archive_gap *g, const uint64_t *words, size_t count)
{
	struct fxt_archive_walk w = {.words = words, .count = count};
	bool is_new;

	while (fxt_archive_next(&w)) {
		const uint64_t *record = words + w.at;
		unsigned type = (unsigned)fxt_get_event_type(record[0]);
		struct fxt_slot *s;

		if (fxt_get_record_type(record[0]) != FXT_RECORD_EVENT ||
		    (type != FXT_EVENT_ASYNC_BEGIN && type != FXT_EVENT_ASYNC_END))
			continue;
		s = fxt_map_put(&g->first, fxt_archive_event_id(record, w.size), 0, &is_new);
		if (type == FXT_EVENT_ASYNC_END)
			fxt_map_remove(&g->first, s);
	}
}

void fxt_gap_take(struct fxt_archive_gap *g, const uint64_t *words, size_t count, uint64_t until_ns)
{
	struct taking t = {.g = g, .walk = {.words = words, .count = count}, .until_ns = until_ns};

	while (fxt_archive_next(&t.walk))
		take(&t);
	fxt_map_free(&t.strings);
	fxt_map_free(&t.threads);
	fxt_map_free(&t.programs);
	fxt_map_free(&t.categories);
	bound(g, most_bytes(g));
	close_holes(g);
}

/* -- Programs of which nothing is left ---------------------------------------------------------- */

static void free_copies(struct fxt_map *copies)
{
	for (const struct fxt_slot *s = fxt_map_next(copies, NULL); s; s = fxt_map_next(copies, s))
		free((uint64_t *)(uintptr_t)s->value[0]);
	fxt_map_free(copies);
}

static void free_program(struct fxt_gap_program *program)
{
	free(program->name);
	free(program->clock);
	free_copies(&program->strings);
	free_copies(&program->threads);
}

static void count_with_others(struct fxt_archive_gap *g, const struct fxt_gap_program *program)
{
	struct fxt_gap_program *others = &g->others;

	if (!g->other_count++)
		*others = (struct fxt_gap_program){.first_ns = UINT64_MAX};
	others->calls += program->calls;
	others->first_ns = program->first_ns < others->first_ns ? program->first_ns : others->first_ns;
	others->last_ns = program->last_ns > others->last_ns ? program->last_ns : others->last_ns;
}

static int by_last(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : 0;
}

/* Removes the marked programs, and what is kept of them. */
static void remove_programs(struct fxt_archive_gap *g, const bool *marked)
{
	size_t *becomes = fxt_alloc(g->program_count + 1, sizeof(*becomes)), to = 0;

	for (size_t i = 0; i < g->record_count; i++)
		if (marked[g->records[i].program])
			forget(g, i);
	for (size_t i = 0; i < g->program_count; i++) {
		struct fxt_gap_program one = g->programs[i];
		struct fxt_slot *s = fxt_map_find(&g->ids, one.id, 0);

		if (marked[i]) {
			count_with_others(g, &one);
			free_program(&g->programs[i]);
			fxt_map_remove(&g->ids, s);
			continue;
		}
		s->value[0] = to + 1;
		becomes[i] = to;
		g->programs[to++] = one;
	}
	g->program_count = to;
	close_holes(g);
	for (size_t i = 0; i < g->record_count; i++)
		g->records[i].program = (uint32_t)becomes[g->records[i].program];
	free(becomes);
}

void fxt_gap_fold(struct fxt_archive_gap *g, bool (*is_left)(void *context, uint32_t id), void *context)
{
	uint64_t (*gone)[2] = fxt_alloc(g->program_count + 1, sizeof(*gone));
	bool *marked = fxt_alloc(g->program_count + 1, sizeof(*marked));
	size_t count = 0;

	for (size_t i = 0; i < g->program_count; i++) {
		if (is_left(context, g->programs[i].id))
			continue;
		gone[count][0] = g->programs[i].last_ns;
		gone[count++][1] = i;
	}
	if (count > MOST_PROGRAMS) {
		qsort(gone, count, sizeof(*gone), by_last);
		for (size_t i = 0; i < count - MOST_PROGRAMS / 2; i++)
			marked[gone[i][1]] = true;
		remove_programs(g, marked);
	}
	free(gone);
	free(marked);
}

void fxt_gap_free(struct fxt_archive_gap *g)
{
	const char *reason = g->reason;

	for (size_t i = 0; i < g->record_count; i++)
		free(g->records[i].words);
	for (size_t i = 0; i < g->program_count; i++)
		free_program(&g->programs[i]);
	free(g->records);
	free(g->programs);
	fxt_map_free(&g->ids);
	fxt_map_free(&g->keys);
	fxt_map_free(&g->first);
	*g = (struct fxt_archive_gap){.reason = reason};
}
