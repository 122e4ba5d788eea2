/* See archive_gap.h and archive_gap_kept.h. Bounds what is kept of a gap. archive_told.c writes it. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "archive_gap.h"

#include <stdlib.h>
#include <string.h>

#include "archive_gap_kept.h"
#include "archive_walk.h"
#include "tools/common/message.h"

enum {
	MOST_NEEDED = 2,                /* the highest rank */
	FEW_HOLES = 1024,
	MOST_PROGRAMS = 256,            /* of which nothing else is left */
};

/* -- Programs and records that are kept --------------------------------------------------------- */

uint64_t *fxt_gap_copy(const uint64_t *words, size_t size)
{
	uint64_t *copy = fxt_alloc(size, FXT_WORD_BYTES);

	memcpy(copy, words, size * FXT_WORD_BYTES);
	return copy;
}

size_t fxt_gap_program_of(struct fxt_archive_gap *g, uint32_t id)
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

void fxt_gap_forget(struct fxt_archive_gap *g, size_t at)
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
	/* Of the agent (agent/emit/call_stack.h) and of the kernel's part (witness_stacks.c). */
	const uint64_t modules = 0x7fd0, frames = 0x7fe0, kernel_frames = 0x7ff0;
	uint64_t kind = one->key[0] & 0xff, above = one->key[1] >> 48;

	if (kind == FXT_GAP_KERNEL_OBJECT || kind == FXT_GAP_LOST ||
	    (kind == FXT_GAP_OBJECT && (above == modules || above == frames || above == kernel_frames)))
		return MOST_NEEDED;
	return kind != FXT_GAP_OBJECT;
}

/* Forgets records if there are more than so many bytes: those first on which least depends, the oldest
 * first. */
static void bound(struct fxt_archive_gap *g, uint64_t most)
{
	for (unsigned rank = 0; rank <= MOST_NEEDED && g->bytes > most; rank++)
		for (size_t i = 0; i < g->record_count && g->bytes > most / 4 * 3; i++)
			if (rank_of(&g->records[i]) == rank)
				fxt_gap_forget(g, i);
	if (g->holes > FEW_HOLES && g->holes > g->record_count / 2)
		close_holes(g);
}

static uint64_t most_bytes(const struct fxt_archive_gap *g)
{
	return g->most_bytes ? g->most_bytes : FXT_GAP_MOST_BYTES;
}

void fxt_gap_keep(struct fxt_archive_gap *g, size_t program, const uint64_t *words, size_t size,
		  uint64_t kind, uint64_t id)
{
	struct fxt_gap_record one = {.words = fxt_gap_copy(words, size),
				     .size = (uint32_t)size,
				     .program = (uint32_t)program,
				     .key = {kind, id}};
	bool is_new;

	if (kind)
		fxt_map_put(&g->keys, kind, id, &is_new)->value[0] = g->record_count + 1;
	g->records = fxt_grow(g->records, &g->record_capacity, g->record_count + 1, sizeof(*g->records));
	g->records[g->record_count++] = one;
	g->bytes += size * FXT_WORD_BYTES;
	bound(g, 2 * most_bytes(g));
}

void fxt_gap_set(uint64_t **record, const uint64_t *words, size_t size)
{
	free(*record);
	*record = fxt_gap_copy(words, size);
}

void fxt_gap_taken(struct fxt_archive_gap *g)
{
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
			fxt_gap_forget(g, i);
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
