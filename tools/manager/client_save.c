/* Saves the memory of a provider into the archive: see client.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client_parts.h"
#include "heir.h"
#include "trace_session.h"
#include "tools/common/message.h"
#include "writer/buffer.h"

/* A provider that gives a chunk up may be kept from it for as long as its thread does not run. */
enum { LAST = FXT_CHUNK_WORDS - 1, TRIES = 8, MOST_WAITS = 20 };

static const struct fxt_managed_header *header_of(const struct fxt_client *p)
{
	return (const struct fxt_managed_header *)p->memory;
}

static_assert((size_t)FXT_DURABLE_MAX_BYTES <= FXT_ARCHIVE_MOST_WORDS * FXT_WORD_BYTES &&
		      (size_t)FXT_CHUNK_WORDS <= FXT_ARCHIVE_MOST_WORDS,
	      "what is appended at once fits in a block");

/* Appends words, and notes if they have a provider event. */
static size_t append(struct fxt_client *p, struct fxt_session *session, const uint64_t *words, size_t count,
		     bool is_whole)
{
	uint64_t before = session->archive.provider_events;
	size_t end = fxt_archive_append(&session->archive, p->id, words, count, is_whole);

	p->has_told_full |= session->archive.provider_events != before;
	return end;
}

/* Appends a part of the durable area. */
static void save_durable_part(struct fxt_client *p, struct fxt_session *session, uint64_t from, uint64_t to)
{
	uint64_t *copy;

	if (from >= to)
		return;
	copy = fxt_alloc(to - from, 1);
	memcpy(copy, p->memory + p->durable_offset + from, to - from);
	append(p, session, copy, (to - from) / FXT_WORD_BYTES, true);
	free(copy);
}

/* Appends what the durable area has in addition, but for the counters in it. */
static void save_durable(struct fxt_client *p, struct fxt_session *session)
{
	uint64_t to = atomic_load_explicit(&header_of(p)->durable_data_end, memory_order_acquire);
	uint64_t counters_end = p->counters_offset + p->counters_bytes, from = p->durable_saved;

	if (!p->is_named)
		fxt_archive_name(&session->archive, p->id, p->name, p->name_bytes);
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

static uint64_t load(const uint64_t *at, memory_order order)
{
	return atomic_load_explicit((const _Atomic uint64_t *)at, order);
}

/* Copies the records of a chunk that are committed, from word `from` on, while its thread may append more.
 * Each is copied after its header was read, because the words of a chunk may be seen in another order than
 * they were written in. Returns how many words of the chunk these records and those before them take. What is
 * behind them is the filler that reaches to the chunk's last word, unless the framing is wrong. */
static size_t copy_committed(uint64_t *to, const uint64_t *chunk, size_t from, bool *is_damaged)
{
	size_t at, words;

	for (at = from; at < LAST; at += words) {
		uint64_t header = load(chunk + at, memory_order_acquire);

		words = fxt_get_record_words(header);
		*is_damaged = !words || at + words > LAST;
		if (*is_damaged || (fxt_is_filler(header) && at + words == LAST))
			break;
		to[at] = header;
		memcpy(to + at + 1, chunk + at + 1, (words - 1) * FXT_WORD_BYTES);
	}
	return at;
}

/* Appends what the first `count` words of a chunk define, for the records behind them, which go to another
 * file: the thread's record, and strings. */
static void append_definitions(struct fxt_client *p, struct fxt_session *session, const uint64_t *words,
			       size_t count)
{
	size_t at, size;

	for (at = 0; at < count; at += size) {
		unsigned type = (unsigned)fxt_get_record_type(words[at]);

		size = fxt_get_record_words(words[at]);
		if (!size || size > count - at)
			return;
		if (type == FXT_RECORD_THREAD || type == FXT_RECORD_STRING)
			fxt_archive_append(&session->archive, p->id, words + at, size, true);
	}
}

/* Tells the provider that records of a chunk are taken: the `count` words from word `from` on. Returns false
 * if a ring's provider has emptied the chunk: it counts them as overwritten then, so they may not be saved.
 * `word` is what was said of the chunk before they were copied. */
static bool take(struct fxt_client *p, uint32_t number, uint32_t turn, uint64_t word, const uint64_t *records,
		 size_t from, size_t count)
{
	struct fxt_taken taken;

	if (!p->taken)
		return true;
	taken = fxt_taken_unpack(word);
	if (taken.turn != (turn & FXT_TAKEN_TURN_MASK))
		taken = (struct fxt_taken){.turn = turn};
	taken.events += fxt_client_events(p, records, count);
	taken.before = (uint32_t)from;
	taken.words = (uint32_t)(from + count);
	taken.pass = atomic_load_explicit(&header_of(p)->saved_pass, memory_order_relaxed) + 1;
	return atomic_compare_exchange_strong(&p->taken[number], &word, fxt_taken_pack(taken));
}

/* Writes to the archive what was saved, and says so. */
static void end_pass(struct fxt_client *p, struct fxt_session *session, bool is_end)
{
	fxt_archive_flush(&session->archive);
	fxt_heir_saved(session, p, is_end);
}

/* Returns whether nobody stores to the memory any more. */
static bool is_over(const struct fxt_client *p)
{
	struct pollfd process = {p->process, POLLIN, 0};

	return p->is_over || (p->process >= 0 && poll(&process, 1, 0) == 1);
}

/* Returns the state of a chunk that has records, or else FXT_MANAGED_FREE. A provider that is giving a chunk
 * up counts what it has in a moment, unless it was killed: then what is there is all that there will be. */
static enum fxt_managed_state state_of(const struct fxt_client *p, uint32_t number, uint32_t *entry,
				       unsigned *waits)
{
	enum fxt_managed_state state;

	for (;;) {
		*entry = atomic_load_explicit(&p->table[number], memory_order_acquire);
		state = fxt_managed_state_of(*entry);
		if (state == FXT_MANAGED_HELD || fxt_managed_is_full(state))
			return state;
		if (state != FXT_MANAGED_OLDEST)
			return FXT_MANAGED_FREE;
		if (is_over(p))
			return state;
		if (!*waits)
			return FXT_MANAGED_FREE;
		--*waits;
		poll(NULL, 0, 1);
	}
}

/* Returns how far the records of a chunk are in the archive. */
static size_t saved_words(const struct fxt_client *p, uint32_t number, enum fxt_managed_state state,
			  uint32_t turn)
{
	const struct fxt_client_chunk *saved = &p->saved[number];
	uint64_t first = load(chunk_of(p, number), memory_order_acquire);

	/* What the chunk had was given up already, and in the place of that is a count. */
	if (state == FXT_MANAGED_OLDEST && fxt_is_filler(first))
		return 0;
	return saved->turn == turn ? saved->words : 0;
}

/* Saves what a chunk has in addition to what was saved of it. The provider may empty the chunk meanwhile;
 * then what was copied is of no use, and it is copied again. Waits `*waits` times at most for a provider that
 * is doing so. */
static void save_chunk(struct fxt_client *p, struct fxt_session *session, uint32_t number, unsigned *waits)
{
	static uint64_t copy[FXT_CHUNK_WORDS];
	struct fxt_client_chunk *saved = &p->saved[number];
	enum fxt_managed_state state;
	uint32_t entry, turn;
	uint64_t word;
	size_t from, to, end;
	unsigned tries = 0;
	bool is_damaged, is_whole;

	do {
		state = state_of(p, number, &entry, waits);
		if (tries++ == TRIES || state == FXT_MANAGED_FREE)
			return;
		turn = fxt_client_turn(entry);
		from = saved_words(p, number, state, turn);
		word = p->taken ? atomic_load(&p->taken[number]) : 0;
		is_damaged = false;
		if (state == FXT_MANAGED_HELD) {
			to = copy_committed(copy, chunk_of(p, number), from, &is_damaged);
		} else {
			to = FXT_CHUNK_WORDS;
			memcpy(copy + from, chunk_of(p, number) + from, (to - from) * FXT_WORD_BYTES);
		}
		atomic_thread_fence(memory_order_acquire);
	} while (atomic_load_explicit(&p->table[number], memory_order_relaxed) >> 8 != entry >> 8 ||
		 (from < to && !take(p, number, turn, word, copy + from, from, to - from)));
	session->archive.damaged += is_damaged;
	/* This comes after the records were read, so that the strings that they need come first. */
	save_durable(p, session);
	if (from && from < to && saved->file != session->files) {
		memcpy(copy, chunk_of(p, number), from * FXT_WORD_BYTES);
		append_definitions(p, session, copy, from);
	}
	is_whole = state != FXT_MANAGED_HELD;
	end = append(p, session, copy + from, to - from, is_whole);
	p->written += end * FXT_WORD_BYTES;
	if (session->config.budget)
		fxt_budget_count(&p->budget, copy + from, end);
	if (state != FXT_MANAGED_OLDEST)
		fxt_client_note_turn(p, number, turn);
	saved->turn = turn;
	saved->words = (uint32_t)(from + end);
	saved->is_whole = is_whole;
	saved->file = session->files;
	saved->is_unsaved &= !is_whole;
}

/* Marks the full chunks of a ring that were saved: the archive has them. */
static void mark_saved(struct fxt_client *p)
{
	for (uint32_t i = 0; i < p->chunks; i++) {
		uint32_t entry = atomic_load_explicit(&p->table[i], memory_order_acquire);

		/* One that was filled after it was looked at has more. */
		if (fxt_managed_state_of(entry) == FXT_MANAGED_FULL && p->saved[i].turn == entry >> 8 &&
		    p->saved[i].is_whole)
			atomic_compare_exchange_strong(&p->table[i], &entry,
						       (entry & ~0xffu) | FXT_MANAGED_SAVED);
	}
}

/* -- Pages ------------------------------------------------------------------------------------- */

/* Copies a record that may be rewritten in place. Its second word is a time that is never used twice. It is
 * read before the others, so it tells afterwards whether these are still of the same record. Puts a filler
 * where the record keeps changing. */
static void copy_slot(uint64_t *to, const uint64_t *slot, size_t words)
{
	unsigned tries;

	for (tries = 0; tries < TRIES; tries++) {
		uint64_t header = load(slot, memory_order_acquire);

		if (fxt_is_filler(header) || fxt_get_record_words(header) != words)
			break;
		to[0] = header;
		if (words > 1)
			to[1] = load(slot + 1, memory_order_acquire);
		for (size_t i = 2; i < words; i++)
			to[i] = load(slot + i, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		if (load(slot, memory_order_acquire) == header &&
		    (words == 1 || load(slot + 1, memory_order_relaxed) == to[1]))
			return;
	}
	to[0] = fxt_filler(words);
}

/* Returns whether `count` words begin with records of the same sizes as those in `copy`. */
static bool is_divided_alike(const uint64_t *copy, const uint64_t *words, size_t count)
{
	size_t at, size;

	for (at = 0; at < count; at += size) {
		size = fxt_get_record_words(copy[at]);
		if (fxt_get_record_words(load(words + at, memory_order_acquire)) != size)
			return false;
	}
	return true;
}

/* A page's holder may give it back meanwhile, and the next one divides it anew. */
size_t fxt_client_copy_pages(uint64_t *to, const uint64_t *pages, size_t left)
{
	size_t at, words;
	unsigned tries;

	for (tries = 0; tries < TRIES; tries++) {
		at = 0;
		do {
			words = fxt_get_record_words(load(pages + at, memory_order_acquire));
			if (!words || words > left - at)
				break;
			copy_slot(to + at, pages + at, words);
			at += words;
		} while (at % FXT_SMALL_PAGE_WORDS);
		if (at && at % FXT_SMALL_PAGE_WORDS == 0 && is_divided_alike(to, pages, at))
			return at;
	}
	return 0;
}

const uint64_t *fxt_client_pages(const struct fxt_client *p, uint32_t number)
{
	uint32_t entry = atomic_load_explicit(&p->table[number], memory_order_acquire);

	return fxt_managed_state_of(entry) == FXT_MANAGED_PAGES ? chunk_of(p, number) : NULL;
}

/* Appends records of pages. Calls in progress have their texts, as far as these are known. */
static void append_slots(struct fxt_client *p, struct fxt_session *session, const uint64_t *copy,
			 size_t count)
{
	static uint64_t record[FXT_CLIENT_TEXT_WORDS];
	size_t at, from = 0, words;

	for (at = 0; at < count; at += fxt_get_record_words(copy[at])) {
		words = fxt_client_texts_put(p, record, copy + at);
		if (!words)
			continue;
		fxt_archive_append(&session->archive, p->id, copy + from, at - from, true);
		fxt_archive_append(&session->archive, p->id, record, words, true);
		from = at + fxt_get_record_words(copy[at]);
	}
	fxt_archive_append(&session->archive, p->id, copy + from, count - from, true);
}

/* Saves the pages of a chunk that consists of them. The program may go on and rewrite them meanwhile. */
static void save_pages(struct fxt_client *p, struct fxt_session *session, uint32_t number)
{
	static uint64_t copy[FXT_CHUNK_WORDS];
	const uint64_t *pages = fxt_client_pages(p, number);
	size_t at, words;

	for (at = 0; pages && at < FXT_CHUNK_WORDS; at += words ? words : FXT_SMALL_PAGE_WORDS) {
		words = fxt_client_copy_pages(copy, pages + at, FXT_CHUNK_WORDS - at);
		session->archive.damaged += !words;
		save_durable(p, session);
		append_slots(p, session, copy, words);
	}
}

/* Tells threads that wait for room that some has been given back. */
static void tell_saved(struct fxt_client *p)
{
	struct fxt_managed_header *header = (struct fxt_managed_header *)p->memory;

	atomic_fetch_add(&header->saves, 1);
	if (atomic_load(&header->sleepers))
		syscall(SYS_futex, &header->saves, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Goes on in another file if the present one is large enough, so that none is much larger than it should
 * be. A file of a rotation has all that was saved at once. */
static void turn(struct fxt_client *p, struct fxt_session *session)
{
	if (!session->archive.keep || !fxt_archive_keep_is_due(&session->archive, fxt_now_ns()))
		return;
	/* What was written to a file that is closed cannot be taken back. */
	end_pass(p, session, false);
	fxt_session_rotate(session);
}

void fxt_client_save_half(struct fxt_client *p, struct fxt_session *session, unsigned half)
{
	uint32_t first = half * p->chunks / 2, i;
	uint32_t *full = fxt_alloc(p->chunks / 2, sizeof(*full));
	unsigned waits = 0;

	for (i = 0; i < p->chunks / 2; i++) {
		full[i] = atomic_load_explicit(&p->table[first + i], memory_order_acquire);
		if (fxt_managed_state_of(full[i]) == FXT_MANAGED_FULL && p->id) {
			save_chunk(p, session, first + i, &waits);
			turn(p, session);
		}
	}
	/* The provider gets its chunks back once they are in the file, because the manager may be killed. */
	if (p->id)
		end_pass(p, session, false);
	for (i = 0; i < p->chunks / 2; i++)
		if (fxt_managed_state_of(full[i]) == FXT_MANAGED_FULL)
			atomic_compare_exchange_strong(&p->table[first + i], &full[i],
						       (full[i] & ~0xffu) | FXT_MANAGED_FREE);
	free(full);
	fxt_memory_grant(p, session);
	tell_saved(p);
}

bool fxt_client_has_begun(const struct fxt_client *p)
{
	if (p->is_known || p->state != FXT_CLIENT_STARTING)
		return true;
	for (uint32_t i = 0; i < p->chunks; i++)
		if (fxt_client_turn(atomic_load_explicit(&p->table[i], memory_order_acquire)))
			return true;
	return false;
}

void fxt_client_save(struct fxt_client *p, struct fxt_session *session, bool is_end)
{
	unsigned waits = MOST_WAITS;
	uint32_t i;

	if (!p->memory || !p->id || !fxt_client_has_begun(p))
		return;
	save_durable(p, session);
	for (i = 0; i < p->chunks; i++) {
		save_chunk(p, session, i, &waits);
		turn(p, session);
	}
	if (is_end) {
		save_durable(p, session);
		/* Pages come last: a call that returns meanwhile is in none of what was saved then. In the
		 * other order it would be there twice, as a call in progress and with its end. */
		for (i = 0; i < p->chunks; i++)
			save_pages(p, session, i);
		save_durable_part(p, session, p->counters_offset, p->counters_offset + p->counters_bytes);
	}
	end_pass(p, session, is_end);
	if (session->config.mode == FXT_BUFFERING_CIRCULAR)
		mark_saved(p);
}

void fxt_client_clear(struct fxt_client *p, const struct fxt_session *session, bool is_new)
{
	bool is_ring = session->config.mode == FXT_BUFFERING_CIRCULAR && !is_new;
	uint32_t i, entry;

	for (i = 0; i < p->chunks; i++) {
		enum fxt_managed_state state;

		entry = atomic_load_explicit(&p->table[i], memory_order_acquire);
		state = fxt_managed_state_of(entry);
		if (state != FXT_MANAGED_HELD && state != FXT_MANAGED_FULL && state != FXT_MANAGED_SAVED)
			continue;
		/* What a thread appends to the chunk that it has is cleared too. */
		fxt_client_note_turn(p, i, entry >> 8);
		p->saved[i].turn = entry >> 8;
		p->saved[i].words = FXT_CHUNK_WORDS;
		/* A ring counts none of that as overwritten. */
		if (p->taken)
			atomic_store(&p->taken[i],
				     fxt_taken_pack((struct fxt_taken){
					     .turn = entry >> 8, .words = FXT_CHUNK_WORDS,
					     .before = FXT_CHUNK_WORDS, .events = FXT_TAKEN_EVENTS_MOST}));
		p->saved[i].is_unsaved = false;
		if (state == FXT_MANAGED_FULL || (state == FXT_MANAGED_SAVED && is_new))
			atomic_compare_exchange_strong(&p->table[i], &entry,
						       (entry & ~0xffu) | (is_ring ? FXT_MANAGED_SAVED
										   : FXT_MANAGED_FREE));
	}
}
