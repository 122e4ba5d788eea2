/* See archive_lost.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "archive_lost.h"

#include <stdlib.h>
#include <string.h>

#include "archive_gap_texts.h"
#include "archive_walk.h"
#include "tools/common/message.h"
#include "tools/reading/reader.h"
#include "writer/fxt_encode.h"

enum { TEXTS = FXT_GAP_TEXT_COUNT, TEXT_WORDS = 3 };

const char *const fxt_gap_texts[TEXTS] = {
#define LITERAL(name, text) text,
	FXT_GAP_TEXTS(LITERAL)};

/* A text may stand at two indices: that of a category is registered for its events and for arguments. */
enum { INDICES = 2 };

/* This is all that is known of a program, because there may be many. */
struct fxt_lost_program {
	uint64_t process;               /* 0: not known */
	uint16_t indices[TEXTS][INDICES];       /* of the texts; 0: none */
};

static struct fxt_lost_program *program_of(struct fxt_archive_lost *l, uint32_t id)
{
	bool is_new;
	struct fxt_slot *s = fxt_map_put(&l->programs, id, 0, &is_new);

	if (is_new)
		s->value[0] = (uint64_t)(uintptr_t)fxt_alloc(1, sizeof(struct fxt_lost_program));
	return (struct fxt_lost_program *)(uintptr_t)s->value[0];
}

static void note_text(struct fxt_lost_program *program, const uint64_t *record)
{
	uint16_t index = (uint16_t)fxt_get_string_index(record[0]);
	size_t bytes = fxt_get_string_bytes(record[0]);

	for (size_t i = 0; i < TEXTS; i++) {
		uint16_t *of = program->indices[i];

		/* The index may have had another meaning. */
		for (size_t n = 0; n < INDICES; n++)
			of[n] = of[n] == index ? 0 : of[n];
		if (bytes != strlen(fxt_gap_texts[i]) || memcmp(record + 1, fxt_gap_texts[i], bytes) != 0)
			continue;
		if (of[0])
			of[1] = of[0];
		of[0] = index;
	}
}

void fxt_lost_note(struct fxt_archive_lost *l, uint32_t id, const uint64_t *record)
{
	struct fxt_lost_program *program = program_of(l, id);

	if (fxt_get_record_type(record[0]) == FXT_RECORD_STRING)
		note_text(program, record);
	else if (fxt_get_object_type(record[0]) == FXT_OBJECT_PROCESS && !program->process)
		/* The first process that a provider names is its own. */
		program->process = record[1];
}

const uint64_t *fxt_lost_text(const struct fxt_archive_lost *l, uint32_t id, uint64_t index)
{
	static uint64_t records[TEXTS][TEXT_WORDS];
	const struct fxt_slot *s = fxt_map_find(&l->programs, id, 0);
	const struct fxt_lost_program *program = s ? (void *)(uintptr_t)s->value[0] : NULL;

	for (size_t i = 0; program && index && i < TEXTS; i++) {
		if (program->indices[i][0] != index && program->indices[i][1] != index)
			continue;
		fxt_encode_string(records[i], TEXT_WORDS, 1, fxt_gap_texts[i], strlen(fxt_gap_texts[i]));
		return records[i];
	}
	return NULL;
}

void fxt_lost_take(struct fxt_archive_lost *l, const uint64_t *words, size_t count, uint32_t provider)
{
	struct fxt_archive_file block = {words, count, false};

	l->provider = provider;
	l->gap.lost = l;
	l->gap.reason = "the file system was full";
	fxt_gap_take(&l->gap, &block, UINT64_MAX);
	l->calls = l->kernel_told;
	for (size_t i = 0; i < l->gap.program_count; i++)
		l->calls += l->gap.programs[i].calls;
}

void fxt_lost_tell(struct fxt_archive_lost *l,
		   void (*put)(void *context, const uint64_t *words, size_t count), void *context)
{
	for (size_t i = 0; i < l->gap.program_count; i++) {
		l->gap.programs[i].process = program_of(l, l->gap.programs[i].id)->process;
	}
	fxt_gap_put(&l->gap, put, context);
	/* The next time is a window of its own. The counts go on. */
	for (size_t i = 0; i < l->gap.program_count; i++) {
		l->gap.programs[i].first_ns = UINT64_MAX;
		l->gap.programs[i].last_ns = 0;
		if (l->gap.programs[i].id != FXT_KERNEL_PROVIDER_ID)
			continue;
		l->kernel_told += l->gap.programs[i].calls;
		l->gap.programs[i].calls = 0;
	}
	l->told = l->calls;
}

void fxt_lost_free(struct fxt_archive_lost *l)
{
	for (const struct fxt_slot *s = fxt_map_next(&l->programs, NULL); s;
	     s = fxt_map_next(&l->programs, s))
		free((void *)(uintptr_t)s->value[0]);
	fxt_map_free(&l->programs);
	fxt_gap_free(&l->gap);
}
