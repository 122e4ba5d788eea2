/* Saves the memory of a provider into the archive: see client.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "tools/common/message.h"
#include "writer/buffer.h"

enum { LAST = FXT_CHUNK_WORDS - 1, TRIES = 8 };

static const struct fxt_managed_header *header_of(const struct fxt_client *p)
{
	return (const struct fxt_managed_header *)p->memory;
}

/* Appends a part of the durable area. */
static void save_durable_part(struct fxt_client *p, struct fxt_session *session, uint64_t from, uint64_t to)
{
	uint64_t *copy;

	if (from >= to)
		return;
	copy = fxt_alloc(to - from, 1);
	memcpy(copy, p->memory + p->durable_offset + from, to - from);
	fxt_archive_append(session->archive, p->id, copy, (to - from) / FXT_WORD_BYTES, true);
	free(copy);
}

/* Appends what the durable area has in addition, but for the counters in it. */
static void save_durable(struct fxt_client *p, struct fxt_session *session)
{
	uint64_t to = atomic_load_explicit(&header_of(p)->durable_data_end, memory_order_acquire);
	uint64_t counters_end = p->counters_offset + p->counters_bytes, from = p->durable_saved;

	if (!p->is_named)
		fxt_archive_name(session->archive, p->id, p->name, p->name_bytes);
	p->is_named = true;
	if (to > p->durable_bytes || to < from || to % FXT_WORD_BYTES)
		return;
	if (from < counters_end) {
		save_durable_part(p, session, from, to < p->counters_offset ? to : p->counters_offset);
		from = counters_end;
	}
	save_durable_part(p, session, from, to);
	p->durable_saved = to;
}

void fxt_client_new_file(struct fxt_client *p)
{
	p->is_named = false;
	p->durable_saved = 0;
}

static const uint64_t *chunk_of(const struct fxt_client *p, uint32_t number)
{
	return (const uint64_t *)(p->memory + p->rolling_offset + (uint64_t)number * FXT_CHUNK_BYTES);
}

/* Copies the records of a chunk that are committed, from word `from` on, while its thread may append more.
 * Each is copied after its header was read, because the words of a chunk may be seen in another order than
 * they were written in. Returns how many words of the chunk these records and those before them take. */
static size_t copy_committed(uint64_t *to, const uint64_t *chunk, size_t from)
{
	size_t at, words;

	for (at = from; at < LAST; at += words) {
		uint64_t header =
			atomic_load_explicit((const _Atomic uint64_t *)(chunk + at), memory_order_acquire);

		words = fxt_get_record_words(header);
		if (!words || at + words > LAST || (fxt_is_filler(header) && at + words == LAST))
			break;
		to[at] = header;
		memcpy(to + at + 1, chunk + at + 1, (words - 1) * FXT_WORD_BYTES);
	}
	return at;
}

/* Saves what a chunk has in addition to what was saved of it. The provider may empty the chunk meanwhile;
 * then what was copied is of no use, and it is copied again. */
static void save_chunk(struct fxt_client *p, struct fxt_session *session, uint32_t number, bool is_end)
{
	static uint64_t copy[FXT_CHUNK_WORDS];
	struct fxt_client_chunk *saved = &p->saved[number];
	enum fxt_managed_state state;
	uint32_t entry, turn;
	size_t from, to, end;
	unsigned tries = 0;

	do {
		entry = atomic_load_explicit(&p->table[number], memory_order_acquire);
		state = fxt_managed_state_of(entry);
		turn = entry >> 8;
		if (state == FXT_MANAGED_FREE || (state == FXT_MANAGED_PAGES && !is_end))
			return;
		from = saved->turn == turn ? saved->words : 0;
		if (state == FXT_MANAGED_HELD) {
			to = copy_committed(copy, chunk_of(p, number), from);
		} else {
			to = FXT_CHUNK_WORDS;
			memcpy(copy + from, chunk_of(p, number) + from, (to - from) * FXT_WORD_BYTES);
		}
		atomic_thread_fence(memory_order_acquire);
	} while (atomic_load_explicit(&p->table[number], memory_order_relaxed) >> 8 != turn &&
		 ++tries < TRIES);
	if (tries == TRIES)
		return;
	/* After the records were read, so that the strings that they need come first. */
	save_durable(p, session);
	end = fxt_archive_append(session->archive, p->id, copy + from, to - from, state != FXT_MANAGED_HELD);
	*saved = (struct fxt_client_chunk){turn, (uint32_t)(from + end)};
}

void fxt_client_save_half(struct fxt_client *p, struct fxt_session *session, unsigned half)
{
	uint32_t first = half * p->chunks / 2, i;
	uint32_t *full = fxt_alloc(p->chunks / 2, sizeof(*full));

	for (i = 0; i < p->chunks / 2; i++) {
		full[i] = atomic_load_explicit(&p->table[first + i], memory_order_acquire);
		if (fxt_managed_state_of(full[i]) == FXT_MANAGED_FULL)
			save_chunk(p, session, first + i, false);
	}
	/* The provider gets its chunks back once they are in the file, because the manager may be killed. */
	fxt_archive_flush(session->archive);
	for (i = 0; i < p->chunks / 2; i++)
		if (fxt_managed_state_of(full[i]) == FXT_MANAGED_FULL)
			atomic_compare_exchange_strong(&p->table[first + i], &full[i],
						       (full[i] & ~0xffu) | FXT_MANAGED_FREE);
	free(full);
}

void fxt_client_save(struct fxt_client *p, struct fxt_session *session, bool is_end)
{
	uint32_t i;

	if (!p->memory)
		return;
	save_durable(p, session);
	for (i = 0; i < p->chunks; i++)
		save_chunk(p, session, i, is_end);
	if (is_end) {
		save_durable_part(p, session, p->counters_offset, p->counters_offset + p->counters_bytes);
		session->dropped +=
			atomic_load_explicit(&header_of(p)->num_records_dropped, memory_order_relaxed);
	}
	fxt_archive_flush(session->archive);
}
