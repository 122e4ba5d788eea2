/* See archive_gap.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "archive_gap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "writer/fxt_encode.h"

enum { COUNTER = 0x676170 };            /* an id that no counter of the agent has */

static struct fxt_archive_span *span_of(struct fxt_archive_sums *sums, uint32_t id)
{
	bool is_new;
	struct fxt_slot *s = fxt_map_put(&sums->providers, id, 0, &is_new);

	if (is_new) {
		s->value[0] = sums->count;
		sums->spans = fxt_grow(sums->spans, &sums->capacity, sums->count + 1, sizeof(*sums->spans));
		sums->spans[sums->count++] = (struct fxt_archive_span){.first_ns = UINT64_MAX};
	}
	return &sums->spans[s->value[0]];
}

void fxt_archive_gap_count(struct fxt_archive_span *span, uint64_t header, uint64_t at_ns, uint64_t agent)
{
	unsigned type = (unsigned)fxt_get_event_type(header);

	span->calls += (type == FXT_EVENT_DURATION_COMPLETE || type == FXT_EVENT_INSTANT) &&
		       fxt_get_event_category(header) != agent;
	span->first_ns = at_ns < span->first_ns ? at_ns : span->first_ns;
	span->last_ns = at_ns > span->last_ns ? at_ns : span->last_ns;
}

uint64_t fxt_archive_gap_agent(struct fxt_archive_gap *g, uint32_t id, const uint64_t *record, uint64_t known)
{
	static const char agent[] = "agent";
	const size_t bytes = sizeof(agent) - 1;
	bool is_new;

	if (!record || (fxt_get_string_bytes(record[0]) == bytes && memcmp(record + 1, agent, bytes) == 0)) {
		struct fxt_slot *s = fxt_map_put(&g->names, id, 0, &is_new);

		if (record)
			s->value[1] = fxt_get_string_index(record[0]);
		return s->value[1];
	}
	return known;
}

static void free_sums(struct fxt_archive_sums *sums)
{
	fxt_map_free(&sums->providers);
	free(sums->spans);
	*sums = (struct fxt_archive_sums){0};
}

/* Adds a file that is gone to the gap. */
static void add_to_gap(struct fxt_archive_gap *g, struct fxt_archive_sums *sums)
{
	for (const struct fxt_slot *s = fxt_map_next(&sums->providers, NULL); s;
	     s = fxt_map_next(&sums->providers, s)) {
		const struct fxt_archive_span *gone = &sums->spans[s->value[0]];
		struct fxt_archive_span *gap = span_of(&g->gone, (uint32_t)s->a);

		gap->calls += gone->calls;
		gap->first_ns = gone->first_ns < gap->first_ns ? gone->first_ns : gap->first_ns;
		gap->last_ns = gone->last_ns > gap->last_ns ? gone->last_ns : gap->last_ns;
	}
	free_sums(sums);
}

/* Encodes an event of category agent of the process's first thread. */
static size_t put_agent(uint64_t *words, size_t capacity, enum fxt_event_type type, uint32_t id,
			uint64_t at_ns, const char *name, struct fxt_args args, uint64_t extra)
{
	return fxt_encode_event(words, capacity, type, at_ns,
				(struct fxt_thread_ref){.process = id, .thread = id}, FXT_INLINE("agent", 5),
				FXT_INLINE(name, strlen(name)), args, extra);
}

/* Encodes what is told of the gap of one provider. Returns how many words that takes. */
static size_t encode(uint64_t *words, size_t room, const struct fxt_archive_gap *g, uint32_t id,
		     const struct fxt_archive_span *gap)
{
	static const char why[] = "the run has outgrown its size: its beginning and its end are kept";
	const struct fxt_slot *slot = fxt_map_find(&g->names, id, 0);
	const char *name = slot && slot->value[0] ? (const char *)(uintptr_t)slot->value[0] : "";
	struct fxt_arg calls = {.type = FXT_ARG_UINT64, .name = FXT_INLINE("records", 7), .u64 = gap->calls};
	struct fxt_arg reason = {.type = FXT_ARG_STRING,
				 .name = FXT_INLINE("reason", 6),
				 .string = FXT_INLINE(why, sizeof(why) - 1)};
	const struct fxt_args none = {0, NULL}, with_calls = {1, &calls}, with_reason = {1, &reason};
	char clean[FXT_PROVIDER_NAME_MAX_BYTES];
	size_t bytes = fxt_utf8_clean(clean, name, strlen(name), sizeof(clean)), used;

	used = fxt_encode_provider_info(words, room, id, clean, bytes);
	used += put_agent(words + used, room - used, FXT_EVENT_INSTANT, id, gap->first_ns,
			  "recording stopped", none, 0);
	used += put_agent(words + used, room - used, FXT_EVENT_INSTANT, id, gap->first_ns, "dropped",
			  with_reason, 0);
	used += put_agent(words + used, room - used, FXT_EVENT_COUNTER, id, gap->last_ns, "dropped",
			  with_calls, COUNTER);
	used += put_agent(words + used, room - used, FXT_EVENT_INSTANT, id, gap->last_ns, "recording started",
			  none, 0);
	return used;
}

void fxt_archive_gap_put(const struct fxt_archive_gap *g,
			 void (*put)(void *context, const uint64_t *words, size_t count), void *context)
{
	uint64_t words[FXT_PROVIDER_NAME_MAX_BYTES / FXT_WORD_BYTES + 128];

	for (const struct fxt_slot *s = fxt_map_next(&g->gone.providers, NULL); s;
	     s = fxt_map_next(&g->gone.providers, s))
		put(context, words,
		    encode(words, sizeof(words) / sizeof(words[0]), g, (uint32_t)s->a,
			   &g->gone.spans[s->value[0]]));
}

void fxt_archive_gap_name(struct fxt_archive_gap *g, uint32_t id, const char *name, size_t bytes)
{
	bool is_new;
	struct fxt_slot *s = fxt_map_put(&g->names, id, 0, &is_new);

	if (!s->value[0])
		s->value[0] = (uint64_t)(uintptr_t)fxt_format("%.*s", (int)bytes, name);
}

struct fxt_archive_span *fxt_archive_gap_span(struct fxt_archive_gap *g, uint32_t id)
{
	return span_of(&g->files[0], id);
}

void fxt_archive_gap_keep(struct fxt_archive_gap *g)
{
	free_sums(&g->files[0]);
}

void fxt_archive_gap_shift(struct fxt_archive_gap *g, unsigned count)
{
	add_to_gap(g, &g->files[count]);
	memmove(&g->files[1], &g->files[0], count * sizeof(g->files[0]));
	g->files[0] = (struct fxt_archive_sums){0};
}

void fxt_archive_gap_free(struct fxt_archive_gap *g)
{
	for (size_t i = 0; i <= FXT_ARCHIVE_MOST_KEPT; i++)
		free_sums(&g->files[i]);
	free_sums(&g->gone);
	for (const struct fxt_slot *s = fxt_map_next(&g->names, NULL); s; s = fxt_map_next(&g->names, s))
		free((char *)(uintptr_t)s->value[0]);
	fxt_map_free(&g->names);
}
