/* See client.h. Counts what a provider has written and lost, as its memory says at this moment. The provider
 * may change it meanwhile, and nothing in it is believed. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "client_parts.h"
#include "writer/buffer.h"

enum { COUNTER_WORDS = 8, MOST_NAME_BYTES = 64, LAST = FXT_CHUNK_WORDS - 1 };

static const struct fxt_managed_header *header_of(const struct fxt_client *p)
{
	return (const struct fxt_managed_header *)p->memory;
}

static uint64_t load(const uint64_t *at)
{
	return atomic_load_explicit((const _Atomic uint64_t *)at, memory_order_acquire);
}

static uint32_t entry_of(const struct fxt_client *p, uint32_t number)
{
	return atomic_load_explicit(&p->table[number], memory_order_acquire);
}

static const uint64_t *chunk_of(const struct fxt_client *p, uint32_t number)
{
	return (const uint64_t *)(p->memory + p->rolling_offset + (uint64_t)number * FXT_CHUNK_BYTES);
}

/* -- Losses ------------------------------------------------------------------------------------- */

/* Notes a name if it is that of a counter of losses, or of the agent's category. */
static void note_name(void *context, uint16_t index, const char *text, size_t bytes)
{
	static const char dropped[] = "dropped", overwritten[] = "overwritten", agent[] = "agent";
	struct fxt_client_names *names = context;
	bool is_overwritten;

	if (bytes == sizeof(agent) - 1 && memcmp(text, agent, bytes) == 0 && names->agents < 2)
		names->agent[names->agents++] = index;
	if (names->count == sizeof(names->list) / sizeof(names->list[0]))
		return;
	is_overwritten = bytes == sizeof(overwritten) - 1 && memcmp(text, overwritten, bytes) == 0;
	if (is_overwritten ||
	    (bytes >= sizeof(dropped) - 1 && memcmp(text, dropped, sizeof(dropped) - 1) == 0))
		names->list[names->count++] = (struct fxt_client_name){index, is_overwritten};
}

void fxt_client_each_name(const struct fxt_client *p,
			  void (*note)(void *context, uint16_t index, const char *name, size_t bytes),
			  void *context)
{
	char text[MOST_NAME_BYTES];
	const uint64_t *words = (const uint64_t *)(p->memory + p->durable_offset);
	size_t count = p->counters_bytes ? p->counters_offset / FXT_WORD_BYTES : 0, at, size;

	for (at = 0; at < count; at += size) {
		uint64_t header = load(words + at);

		size = fxt_get_record_words(header);
		if (!size || size > count - at)
			return;
		if (fxt_get_record_type(header) == FXT_RECORD_STRING && size > 1 &&
		    fxt_words_of(fxt_get_string_bytes(header)) < size &&
		    fxt_get_string_bytes(header) <= sizeof(text)) {
			memcpy(text, words + at + 1, fxt_get_string_bytes(header));
			note(context, (uint16_t)fxt_get_string_index(header), text,
			     fxt_get_string_bytes(header));
		}
	}
}

static void read_names(struct fxt_client *p)
{
	if (!p->loss_names.is_read)
		fxt_client_each_name(p, note_name, &p->loss_names);
	p->loss_names.is_read = true;
}

static bool is_the_agents(const struct fxt_client_names *names, uint64_t category)
{
	for (unsigned i = 0; i < names->agents; i++)
		if (names->agent[i] == category)
			return true;
	return false;
}

uint32_t fxt_client_events(struct fxt_client *p, const uint64_t *words, size_t count)
{
	uint32_t events = 0;
	size_t at, size;

	read_names(p);
	for (at = 0; at < count; at += size) {
		uint64_t type = fxt_get_event_type(words[at]);

		size = fxt_get_record_words(words[at]);
		if (!size || size > count - at)
			break;
		events += fxt_get_record_type(words[at]) == FXT_RECORD_EVENT &&
			  (type == FXT_EVENT_INSTANT || type == FXT_EVENT_COUNTER ||
			   type == FXT_EVENT_DURATION_COMPLETE) &&
			  !is_the_agents(&p->loss_names, fxt_get_event_category(words[at]));
	}
	return events;
}

/* Adds what a counter says, if the record is one that counts losses. */
static void add_counter(const struct fxt_client *p, struct fxt_client_losses *losses, const uint64_t *record,
			uint64_t header)
{
	const struct fxt_client_names *names = &p->loss_names;
	uint64_t value;

	if (fxt_get_record_type(header) != FXT_RECORD_EVENT ||
	    fxt_get_event_type(header) != FXT_EVENT_COUNTER ||
	    fxt_get_record_words(header) != COUNTER_WORDS)
		return;
	/* The numbers of process and thread are in front of the value unless the thread has an index. */
	value = load(record + (fxt_get_event_thread(header) ? 3 : 5));
	for (unsigned i = 0; i < names->count && load(record) == header; i++) {
		if (names->list[i].index != fxt_get_event_name(header))
			continue;
		if (names->list[i].is_overwritten)
			losses->overwritten += value;
		else
			losses->dropped += value;
	}
}

/* Adds the counters among `count` words. Where the framing is wrong, or changes, what follows is left out as
 * far as `step` words: there is the next place where a record begins. */
static void add_counters(const struct fxt_client *p, struct fxt_client_losses *losses, const uint64_t *words,
			 size_t count, size_t step)
{
	size_t at, size;

	for (at = 0; at < count; at += size) {
		uint64_t header = load(words + at);

		size = fxt_get_record_words(header);
		if (!size || size > count - at)
			size = step - at % step;
		else
			add_counter(p, losses, words + at, header);
	}
}

static uint64_t more_than(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Adds what a chunk that is given up has counted, and the count itself does not have yet. The largest sum of
 * a count is its sum. */
static void add_given_up(const struct fxt_client *p, struct fxt_client_losses *losses,
			 const uint64_t *chunk)
{
	enum { NUMBER = FXT_COUNTER_SUM + 1 };
	const uint64_t *copy = chunk + FXT_GIVEN_UP_AT;
	const uint64_t *count = (const uint64_t *)(p->memory + p->durable_offset + p->counters_offset);
	const uint64_t *end = count + p->counters_bytes / FXT_WORD_BYTES / COUNTER_WORDS * COUNTER_WORDS;
	uint64_t header = load(copy) ^ fxt_record_words(COUNTER_WORDS - 1) ^ fxt_record_words(COUNTER_WORDS);

	if (load(chunk) != fxt_filler(FXT_GIVEN_UP_AT) || fxt_get_record_words(header) != COUNTER_WORDS)
		return;
	while (count < end && (load(count) != header || load(count + NUMBER) != load(copy + NUMBER)))
		count += COUNTER_WORDS;
	losses->overwritten += more_than(load(copy + FXT_COUNTER_SUM),
					 count < end ? load(count + FXT_COUNTER_SUM) : 0);
}

/* Returns what the memory says was lost since it was made. */
static struct fxt_client_losses count(struct fxt_client *p)
{
	struct fxt_client_losses losses = {0};
	uint64_t told;

	if (!p->memory)
		return losses;
	read_names(p);
	add_counters(p, &losses, (const uint64_t *)(p->memory + p->durable_offset + p->counters_offset),
		     p->counters_bytes / FXT_WORD_BYTES, SIZE_MAX);
	for (uint32_t i = 0; i < p->chunks && p->loss_names.count; i++)
		if (fxt_managed_state_of(entry_of(p, i)) == FXT_MANAGED_PAGES)
			add_counters(p, &losses, chunk_of(p, i), FXT_CHUNK_WORDS, FXT_SMALL_PAGE_WORDS);
		else if (fxt_managed_state_of(entry_of(p, i)) == FXT_MANAGED_OLDEST)
			add_given_up(p, &losses, chunk_of(p, i));
	/* Other providers have no such counters, and keep the header's count up to date. */
	told = atomic_load_explicit(&header_of(p)->num_records_dropped, memory_order_relaxed);
	if (told > losses.dropped)
		losses.dropped = told;
	return losses;
}

struct fxt_client_losses fxt_client_lost(struct fxt_client *p)
{
	struct fxt_client_losses now = count(p);

	return (struct fxt_client_losses){more_than(now.dropped, p->before.dropped),
					  more_than(now.overwritten, p->before.overwritten)};
}

void fxt_client_account(struct fxt_client *p, struct fxt_session *session)
{
	struct fxt_client_losses lost = fxt_client_lost(p);

	session->dropped += lost.dropped;
	session->overwritten += lost.overwritten;
	if (lost.dropped && !p->has_told_full)
		fxt_archive_tell_full(&session->archive, p->id);
	p->has_told_full |= lost.dropped > 0;
}

/* -- What was written --------------------------------------------------------------------------- */

void fxt_client_note_turn(struct fxt_client *p, uint32_t number, uint32_t turn)
{
	struct fxt_client_chunk *saved = &p->saved[number];
	uint32_t turns = (turn - saved->seen_turn) & 0xffffff;

	if (!turns)
		return;
	p->taken_chunks += turns;
	/* What was saved of the last turn is not overwritten. */
	if (saved->is_unsaved)
		p->overwritten_bytes += FXT_CHUNK_BYTES;
	if (saved->is_unsaved && saved->turn == saved->seen_turn)
		p->overwritten_bytes -= saved->words * FXT_WORD_BYTES;
	p->overwritten_bytes += (uint64_t)(turns - 1) * FXT_CHUNK_BYTES;
	saved->seen_turn = turn;
	saved->is_unsaved = true;
}

void fxt_client_count_anew(struct fxt_client *p)
{
	p->before = (struct fxt_client_losses){0};
	p->before = fxt_client_lost(p);
	p->wraps_before = atomic_load_explicit(&header_of(p)->wrapped_count, memory_order_relaxed);
	p->written = p->taken_chunks = p->overwritten_bytes = 0;
	p->has_told_full = false;
	for (uint32_t i = 0; i < p->chunks; i++) {
		p->saved[i].seen_turn = entry_of(p, i) >> 8;
		p->saved[i].is_unsaved = false;
	}
}

/* Notes the turns of all chunks that have records. Pages are taken once, for good, and hold none. */
static void note_turns(struct fxt_client *p)
{
	for (uint32_t i = 0; i < p->chunks; i++)
		if (fxt_managed_state_of(entry_of(p, i)) != FXT_MANAGED_PAGES)
			fxt_client_note_turn(p, i, entry_of(p, i) >> 8);
}

uint32_t fxt_client_wraps(struct fxt_client *p, const struct fxt_session *session)
{
	uint32_t told = atomic_load_explicit(&header_of(p)->wrapped_count, memory_order_relaxed) -
			p->wraps_before;
	uint32_t half = p->grant.chunks && p->grant.chunks < p->chunks / 2 ? p->grant.chunks : p->chunks / 2;

	if (told || session->config.mode != FXT_BUFFERING_CIRCULAR)
		return told;
	/* Our agent does not count in a ring, which it uses chunk by chunk. */
	note_turns(p);
	return p->taken_chunks ? (uint32_t)((p->taken_chunks - 1) / half) : 0;
}

/* Returns how many words of a chunk are taken by records. */
static size_t used_words(const uint64_t *chunk)
{
	size_t at, size;

	for (at = 0; at < LAST; at += size) {
		uint64_t header = load(chunk + at);

		size = fxt_get_record_words(header);
		if (!size || at + size > LAST || (fxt_is_filler(header) && at + size == LAST))
			break;
	}
	return at;
}

uint64_t fxt_client_written(struct fxt_client *p)
{
	uint64_t words = 0;

	note_turns(p);
	for (uint32_t i = 0; i < p->chunks; i++) {
		const struct fxt_client_chunk *saved = &p->saved[i];
		uint32_t entry = entry_of(p, i), turn = entry >> 8;
		enum fxt_managed_state state = fxt_managed_state_of(entry);
		size_t before = saved->turn == turn ? saved->words : 0, used;

		if (state != FXT_MANAGED_HELD && !fxt_managed_is_full(state))
			continue;
		used = used_words(chunk_of(p, i));
		words += used > before ? used - before : 0;
	}
	return p->written + p->overwritten_bytes + words * FXT_WORD_BYTES;
}
