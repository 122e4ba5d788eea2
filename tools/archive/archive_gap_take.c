/* See archive_gap.h. Reads a file that goes, and decides what is kept of it. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "archive_gap.h"
#include "archive_gap_kept.h"
#include "archive_gap_texts.h"
#include "archive_lost.h"
#include "archive_told.h"
#include "archive_walk.h"
#include "tools/reading/reader.h"
#include "writer/fxt_encode.h"

/* -- The file that is taken --------------------------------------------------------------------- */

/* A gap treats events by these kinds of categories. */
enum category { UNKNOWN, ANY, OF_AGENT, OF_PROCESS, OF_KERNEL };

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
		s->value[0] = fxt_gap_program_of(t->g, t->provider) + 1;
	t->program = s->value[0];
	return t->program - 1;
}

static bool is_text(const uint64_t *record, enum fxt_gap_text text)
{
	size_t bytes = strlen(fxt_gap_texts[text]);

	return fxt_get_string_bytes(record[0]) == bytes &&
	       memcmp(record + 1, fxt_gap_texts[text], bytes) == 0;
}

static const uint64_t *string_of(const struct taking *t, uint64_t reference)
{
	const struct fxt_slot *s = fxt_map_find(&t->strings, t->walk.provider, reference);

	if (!s && t->g->lost)
		return fxt_lost_text(t->g->lost, t->walk.provider, reference);
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
	/* Only a gap has its category in its records. */
	if (fxt_get_string_ref_inline(reference))
		return fxt_told_is_kernel(t->walk.words + t->walk.at, t->walk.size) ? OF_KERNEL : OF_AGENT;
	s = fxt_map_put(&t->categories, t->provider, reference, &is_new);
	record = is_new ? string_of(t, reference) : NULL;
	if (is_new)
		s->value[0] = record && is_text(record, FXT_GAP_TEXT_AGENT)	? OF_AGENT
			      : record && is_text(record, FXT_GAP_TEXT_PROCESS) ? OF_PROCESS
			      : record && is_text(record, FXT_GAP_TEXT_KERNEL)	? OF_KERNEL
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
	s->value[0] = (uint64_t)(uintptr_t)fxt_gap_copy(record, fxt_archive_words(record[0]));
}

/* Keeps the present record, and what it refers to. */
static void keep_present(struct taking *t, uint64_t kind, uint64_t id)
{
	const uint64_t *record = t->walk.words + t->walk.at;
	size_t number = present_program(t);
	struct fxt_gap_program *program = &t->g->programs[number];
	struct fxt_archive_refs refs;

	/* What the disk had no room for is only counted. */
	if (t->g->lost)
		return;
	fxt_archive_refs(&refs, record, t->walk.size);
	for (size_t i = 0; i < refs.count; i++)
		keep_referred(&program->strings, refs.strings[i], &t->walk, &t->strings, t->provider);
	if (refs.thread)
		keep_referred(&program->threads, refs.thread, &t->walk, &t->threads, t->provider);
	fxt_gap_keep(t->g, number, record, t->walk.size, kind, id);
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
	struct fxt_slot *half = kept_about(t, FXT_GAP_LIFETIME, id);
	struct fxt_slot *first = fxt_map_find(&t->g->first, id, 0);
	unsigned type = (unsigned)fxt_get_event_type(record[0]);

	if (first && type == FXT_EVENT_ASYNC_BEGIN)
		return;
	if (first)
		fxt_map_remove(&t->g->first, first);
	else if (is_other_half(t, half, type))
		fxt_gap_forget(t->g, half->value[0] - 1);
	if (!half)
		keep_present(t, FXT_GAP_LIFETIME, id);
}

/* Takes an object: the last record about it counts. */
static void take_object(struct taking *t, const uint64_t *record, unsigned type)
{
	bool is_kernel = type == FXT_RECORD_KERNEL_OBJECT;
	uint64_t kind = is_kernel ? FXT_GAP_KERNEL_OBJECT | fxt_get_object_type(record[0]) << 8
				  : FXT_GAP_OBJECT;
	size_t number = present_program(t);
	struct fxt_gap_program *program = &t->g->programs[number];
	struct fxt_slot *before;

	if (t->walk.size < 2)
		return;
	if (is_kernel && fxt_get_object_type(record[0]) == FXT_OBJECT_PROCESS && !program->process)
		program->process = record[1];
	/* What stays of a file has its own names, and each gap names its track. */
	if (t->until_ns != UINT64_MAX || (is_kernel && record[1] == fxt_told_track(program->process)))
		return;
	kind |= (uint64_t)t->provider << 16;
	before = kept_about(t, kind, record[1]);
	if (before)
		fxt_gap_forget(t->g, before->value[0] - 1);
	keep_present(t, kind, record[1]);
}

/* Returns whether the instant tells of a call that has a record of its own, as the report counts them
 * (analysis/stack_instants.h). */
static bool tells_of_call(const struct taking *t, uint64_t header)
{
	const uint64_t *name = string_of(t, fxt_get_event_name(header));

	return name && (is_text(name, FXT_GAP_TEXT_BLOCKED) || is_text(name, FXT_GAP_TEXT_CONTENDED) ||
			is_text(name, FXT_GAP_TEXT_UNLOCKED));
}

static void note_times(struct fxt_gap_program *program, uint64_t from_ns, uint64_t to_ns)
{
	program->first_ns = from_ns < program->first_ns ? from_ns : program->first_ns;
	program->last_ns = to_ns > program->last_ns ? to_ns : program->last_ns;
}

/* Takes a context switch. The kernel's count; those that a program records of itself are no calls. */
static void take_switch(struct taking *t, const uint64_t *record)
{
	struct fxt_gap_program *program = &t->g->programs[present_program(t)];

	if (t->walk.size < 2 || record[1] >= t->until_ns || program->id != FXT_KERNEL_PROVIDER_ID)
		return;
	program->calls++;
	note_times(program, record[1], record[1]);
}

/* Takes a fact that the kernel told, which is none of the samples and switches that are counted. What a gap
 * or the witness says of losses counts as what was lost. Ends and programs stay, because processes have no
 * others that are as true. */
static void take_fact(struct taking *t, const uint64_t *record, struct fxt_gap_program *program)
{
	const uint64_t *name = string_of(t, fxt_get_event_name(record[0]));

	if (fxt_told_is_kernel(record, t->walk.size))
		program->calls += fxt_told_records(record, t->walk.size);
	else if (name && is_text(name, FXT_GAP_TEXT_LOST))
		program->calls += fxt_told_records(record, t->walk.size);
	else if (name && (is_text(name, FXT_GAP_TEXT_ENDED) || is_text(name, FXT_GAP_TEXT_EXECUTED) ||
			  is_text(name, FXT_GAP_TEXT_SAMPLING) || is_text(name, FXT_GAP_TEXT_IO_URING)))
		keep_present(t, 0, 0);
}

/* Keeps the last running total of what the disk had no room for. */
static void take_lost(struct taking *t)
{
	uint64_t kind = FXT_GAP_LOST | (uint64_t)t->provider << 16;
	struct fxt_slot *before = kept_about(t, kind, 1);

	if (before)
		fxt_gap_forget(t->g, before->value[0] - 1);
	keep_present(t, kind, 1);
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
	else if (fxt_told_is_lost(record, t->walk.size))
		take_lost(t);
	program->calls += category != OF_AGENT && category != OF_KERNEL &&
			  (type == FXT_EVENT_DURATION_COMPLETE ||
			   (type == FXT_EVENT_INSTANT && !tells_of_call(t, record[0])));
	note_times(program, record[1], at_ns);
	if (category == OF_KERNEL)
		take_fact(t, record, program);
	else if (type == FXT_EVENT_ASYNC_BEGIN || type == FXT_EVENT_ASYNC_END)
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
		fxt_gap_set(&t->g->programs[number].name, record, t->walk.size);
	} else if (type == FXT_METADATA_PROVIDER_EVENT) {
		number = fxt_gap_program_of(t->g, (uint32_t)fxt_get_provider_id(record[0]));
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
		fxt_gap_set(&t->g->programs[number].clock, record, t->walk.size);
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
	case FXT_RECORD_SCHEDULING: take_switch(t, record); break;
	case FXT_RECORD_USERSPACE_OBJECT:
	case FXT_RECORD_KERNEL_OBJECT: take_object(t, record, type); break;
	default: break;
	}
}

void fxt_gap_take_first(struct fxt_archive_gap *g, const struct fxt_archive_file *file)
{
	struct fxt_archive_walk w = fxt_archive_walk(file);
	bool is_new;

	while (fxt_archive_next(&w)) {
		const uint64_t *record = w.words + w.at;
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

void fxt_gap_take(struct fxt_archive_gap *g, const struct fxt_archive_file *file, uint64_t until_ns)
{
	struct taking t = {.g = g, .walk = fxt_archive_walk(file), .until_ns = until_ns};

	t.walk.provider = g->lost ? g->lost->provider : 0;
	while (fxt_archive_next(&t.walk))
		take(&t);
	fxt_map_free(&t.strings);
	fxt_map_free(&t.threads);
	fxt_map_free(&t.programs);
	fxt_map_free(&t.categories);
	fxt_gap_taken(g);
}
