/* Writes an archive: records as they are to be in it, with ids of providers of its own. See
 * merge_internal.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "merge_internal.h"

#include <endian.h>
#include <string.h>

#include "tools/analysis/demangle.h"
#include "tools/perfetto/perfetto_blob.h"
#include "tools/reading/reader_internal.h"
#include "writer/fxt_encode.h"

/* About WRITE_BYTES are written by one call, while the processor's caches still have them: with writes of a
 * megabyte the kernel took up to six times as long. */
enum { WRITE_BYTES = FXT_MERGE_BUFFER_BYTES - FXT_RECORD_MAX_WORDS * FXT_WORD_BYTES };

static bool next_buffer(struct fxt_merge *m)
{
	unsigned char *next = fxt_write_behind_next(&m->output, m->buffered);

	m->buffered = 0;
	if (!next)
		return false;
	m->buffer = next;
	return true;
}

bool fxt_merge_make_room(struct fxt_merge *m)
{
	return m->buffered < WRITE_BYTES || next_buffer(m);
}

bool fxt_merge_put(struct fxt_merge *m, const void *bytes, uint64_t count)
{
	const unsigned char *from = bytes;
	uint64_t part;

	if (m->only_counts)
		return true;
	m->bytes += count;
	/* A large record is copied in pieces. */
	for (; count; count -= part, from += part) {
		if (!fxt_merge_make_room(m))
			return false;
		part = FXT_MERGE_BUFFER_BYTES - m->buffered;
		part = count < part ? count : part;
		memcpy(m->buffer + m->buffered, from, part);
		m->buffered += part;
	}
	return true;
}

bool fxt_merge_put_words(struct fxt_merge *m, uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		words[i] = htole64(words[i]);
	return fxt_merge_put(m, words, count * FXT_WORD_BYTES);
}

/* -- Provider ids ---------------------------------------------------------------------------------- */

uint32_t fxt_merge_unique_id(struct fxt_merge *m, struct fxt_map *ids, uint32_t id)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(ids, id, 0, &fresh);

	if (fresh) {
		uint32_t becomes = id;

		fxt_map_put(&m->provider_ids, becomes, 0, &fresh);
		while (!fresh) {
			becomes = m->next_id++;
			fxt_map_put(&m->provider_ids, becomes, 0, &fresh);
		}
		s->value[0] = becomes;
		if (id != m->named)
			fxt_map_put(&m->last_ids, id, 0, &fresh)->value[0] = becomes;
	}
	return (uint32_t)s->value[0];
}

static bool is_provider_record(const struct fxt_record *rec)
{
	return rec->type == FXT_RECORD_METADATA && rec->known && rec->subtype != FXT_METADATA_TRACE_INFO;
}

static uint64_t with_provider(uint64_t header, uint32_t id)
{
	return (header & ~fxt_provider_id(UINT32_MAX)) | fxt_provider_id(id);
}

/* Returns whether the record names a process, or its first thread, of which a later name is in the
 * archive already. */
static bool is_older_name(const struct fxt_merge *m, const struct fxt_record *rec)
{
	return m->named && rec->type == FXT_RECORD_KERNEL_OBJECT && rec->id == m->named &&
	       (rec->subtype == FXT_OBJECT_PROCESS || rec->subtype == FXT_OBJECT_THREAD);
}

/* Returns whether the record is what an earlier join has written for Perfetto: it is made again for the
 * whole, or is not wanted. */
static bool is_replaced(const struct fxt_merge *m, const struct fxt_record *rec)
{
	return (m->profile.is_on || m->lacks_perfetto) && fxt_perfetto_is_own(rec);
}

/* In `ids` this stands for the provider of records before any provider's. No provider has this id. */
static const uint32_t UNNAMED = UINT32_MAX;

/* Another tracer may leave records of a provider that is not named: no part before must lend it its rate. */
static bool put_unnamed(struct fxt_merge *m, struct fxt_map *ids)
{
	uint64_t words[FXT_WORD_BYTES];
	bool fresh;
	struct fxt_slot *s = fxt_map_put(ids, UNNAMED, 0, &fresh);

	m->as_it_is = false;
	s->value[0] = m->next_id++;
	fxt_map_put(&m->provider_ids, s->value[0], 0, &fresh);
	return fxt_merge_put_words(m, words, fxt_encode_provider_info(words, FXT_WORD_BYTES,
								      (uint32_t)s->value[0], "unnamed", 7));
}

/* -- Copying --------------------------------------------------------------------------------------- */

bool fxt_merge_copy(struct fxt_merge *m, struct fxt_map *ids, const struct fxt_reader *r,
		       const struct fxt_record *rec)
{
	const unsigned char *bytes = r->data + rec->offset;
	uint64_t words[FXT_DEMANGLED_WORDS];
	size_t count = 0;

	m->as_it_is = m->as_it_is && !rec->damaged && !is_replaced(m, rec);
	/* A damaged record is left out. The part of a process that still runs may change while it is read. */
	if (rec->damaged || is_older_name(m, rec) || is_replaced(m, rec) ||
	    (rec->type == FXT_RECORD_METADATA && !is_provider_record(rec)))
		return true;
	if (!rec->provider->announced && !is_provider_record(rec) && !fxt_map_find(ids, UNNAMED, 0) &&
	    !put_unnamed(m, ids))
		return false;
	if (is_provider_record(rec)) {
		uint32_t becomes = fxt_merge_unique_id(m, ids, (uint32_t)rec->id);
		uint64_t header = htole64(with_provider(rec->header, becomes));

		m->as_it_is = m->as_it_is && becomes == rec->id;
		return fxt_merge_put(m, &header, sizeof(header)) &&
		       fxt_merge_put(m, bytes + FXT_WORD_BYTES, (rec->words - 1) * FXT_WORD_BYTES);
	}
	if (rec->type == FXT_RECORD_STRING)
		count = fxt_demangled_string(words, (uint16_t)rec->id, &rec->name);
	if (!count)
		return fxt_merge_put(m, bytes, rec->words * FXT_WORD_BYTES);
	m->as_it_is = false;
	return fxt_merge_put_words(m, words, count);
}

