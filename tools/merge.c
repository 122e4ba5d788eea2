/* Joins the files of several processes into one archive. See merge.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "merge.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "fxt_encode.h"
#include "message.h"
#include "trace_file.h"

/* Linux's largest pid is 2^22: no process has an id from here on. */
enum { FIRST_FREE_ID = (1 << 22) + 1 };

enum { BUFFER_BYTES = 1 << 20 };

static bool flush(struct fxt_merge *m)
{
	size_t bytes = m->buffered;

	m->buffered = 0;
	return fwrite(m->buffer, 1, bytes, m->out) == bytes;
}

static bool put(struct fxt_merge *m, const void *bytes, uint64_t count)
{
	if (m->only_counts)
		return true;
	m->bytes += count;
	if (count > BUFFER_BYTES - m->buffered && !flush(m))
		return false;
	/* A damaged file has records of any size. */
	if (count > BUFFER_BYTES)
		return fwrite(bytes, 1, count, m->out) == count;
	memcpy(m->buffer + m->buffered, bytes, count);
	m->buffered += count;
	return true;
}

static void begin(struct fxt_merge *m, FILE *out)
{
	*m = (struct fxt_merge){.out = out, .next_id = FIRST_FREE_ID, .buffer = fxt_alloc(BUFFER_BYTES, 1)};
}

bool fxt_merge_begin(struct fxt_merge *m, FILE *out)
{
	uint64_t magic = htole64(FXT_MAGIC_RECORD);

	begin(m, out);
	return put(m, &magic, sizeof(magic));
}

bool fxt_merge_end(struct fxt_merge *m)
{
	return flush(m);
}

/* -- Provider ids ---------------------------------------------------------------------------------- */

/* `ids` are those of this part, from what they are in it to what they become. */
static uint32_t unique_id(struct fxt_merge *m, struct fxt_map *ids, uint32_t id)
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

/* The text a string record gets, where it is not its own; NULL otherwise. */
static char *other_text(const struct fxt_record *rec)
{
	char *text = rec->type == FXT_RECORD_STRING ? fxt_demangle(&rec->name) : NULL;

	if (text && strlen(text) > FXT_STRING_MAX_BYTES) {
		free(text);
		return NULL;
	}
	return text;
}

static bool put_string(struct fxt_merge *m, uint64_t index, const char *text)
{
	uint64_t *words = fxt_alloc(FXT_RECORD_MAX_WORDS, FXT_WORD_BYTES);
	size_t count = fxt_encode_string(words, FXT_RECORD_MAX_WORDS, (uint16_t)index, text, strlen(text));
	bool ok;

	/* The encoder writes words of this machine, as the file is that of a little-endian one. */
	for (size_t i = 0; i < count; i++)
		words[i] = htole64(words[i]);
	ok = put(m, words, count * FXT_WORD_BYTES);
	free(words);
	return ok;
}

/* -- Copying --------------------------------------------------------------------------------------- */

/* What of the part at hand goes on as it is: a stretch of records, since most follow one another. */
struct stretch {
	uint64_t from, to;
};

static bool put_stretch(struct fxt_merge *m, const struct fxt_reader *r, struct stretch *s)
{
	bool ok = s->from == s->to || put(m, r->data + s->from, s->to - s->from);

	s->from = s->to = r->at;
	return ok;
}

/* A record that is not simply copied: false when it is. */
static bool put_otherwise(struct fxt_merge *m, struct fxt_map *ids, const struct fxt_reader *r, const struct fxt_record *rec, bool *ok)
{
	char *text;

	/* The part of a process that still runs may change under our eyes. */
	if (rec->damaged || (rec->type == FXT_RECORD_METADATA && !is_provider_record(rec)))
		return true;
	if (is_provider_record(rec)) {
		uint32_t becomes = unique_id(m, ids, (uint32_t)rec->id);
		uint64_t header = htole64(with_provider(rec->header, becomes));

		*ok = put(m, &header, sizeof(header)) &&
		      put(m, r->data + rec->offset + FXT_WORD_BYTES, (rec->words - 1) * FXT_WORD_BYTES);
		m->as_it_is = m->as_it_is && becomes == rec->id;
		return true;
	}
	text = other_text(rec);
	if (!text)
		return false;
	*ok = put_string(m, rec->id, text);
	m->as_it_is = false;
	free(text);
	return true;
}

/* -- What was in it -------------------------------------------------------------------------------- */

static void add_category(struct fxt_merge *m, const struct fxt_text *name, const struct fxt_usage *u)
{
	struct fxt_merged_category *c;

	for (size_t i = 0; i < m->category_count; i++) {
		c = &m->categories[i];
		if (!fxt_text_is(name, c->name))
			continue;
		c->events += u->events;
		c->bytes += u->bytes;
		return;
	}
	m->categories = fxt_grow(m->categories, &m->category_capacity, m->category_count + 1, sizeof(*c));
	c = &m->categories[m->category_count++];
	*c = (struct fxt_merged_category){.events = u->events, .bytes = u->bytes};
	c->name = fxt_format("%.*s", (int)name->bytes, name->text);
}

static void add_overview(struct fxt_merge *m, struct fxt_overview *o, const struct fxt_reader *r)
{
	bool fresh;

	for (size_t i = 0; i < o->thread_count; i++) {
		if (!o->thread_events[i])
			continue;
		fxt_map_put(&m->tids, r->threads[i].pid, r->threads[i].tid, &fresh);
		m->threads += fresh;
		fxt_map_put(&m->pids, r->threads[i].pid, 0, &fresh);
		m->processes += fresh;
	}
	for (const struct fxt_slot *s = fxt_map_next(&r->process_names, NULL); s;
	     s = fxt_map_next(&r->process_names, s)) {
		fxt_map_put(&m->pids, s->a, 0, &fresh);
		m->processes += fresh;
	}
	m->events += o->events;
	for (int loss = 0; loss < FXT_LOSS_COUNT; loss++)
		m->lost[loss] += fxt_overview_lost(o, (enum fxt_loss)loss);
	m->buffer_full += o->buffer_full;
	m->damaged += r->damaged_records;
	if (!m->reason && o->reason)
		m->reason = fxt_strdup(o->reason);
	for (size_t i = 0; i < o->category_count; i++) {
		struct fxt_text name;

		if (o->categories[i].events == 0)
			continue;
		name = fxt_symbol_text(r, o->categories[i].category);
		add_category(m, &name, &o->categories[i]);
	}
}

/* What is known while a part is read. */
struct part {
	struct fxt_overview overview;
	struct fxt_map ids, kinds;      /* kinds: category -> is_plain() */
	uint32_t plain;                 /* the last category that was, or 0 */
	struct stretch same;
	struct fxt_skims skims;
	struct fxt_record rec;
};

/* An instant `exit` of category process, with how it was: the agent's last word on its process. */
static void take_exit(struct fxt_merge *m, const struct fxt_reader *r, const struct fxt_record *rec)
{
	bool fresh;

	if (rec->subtype == FXT_EVENT_INSTANT && fxt_text_is(&rec->name, "exit") && fxt_text_is(&rec->category, "process") &&
	    (fxt_argument(rec, "status") || fxt_argument(rec, "signal")))
		fxt_map_put(&m->exits, r->threads[rec->thread].pid, 0, &fresh);
}

/* Whether events of the category are only counted: what the agent and what processes say of themselves is read. */
static bool is_plain(const struct fxt_reader *r, uint32_t category, struct fxt_map *kinds)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(kinds, category, 0, &fresh);
	struct fxt_text name;

	if (fresh) {
		name = fxt_symbol_text(r, category);
		s->value[0] = !fxt_text_is(&name, "agent") && !fxt_text_is(&name, "process");
	}
	return s->value[0];
}

/* The next record, decoded or not; false at the end, or when nothing can be written. */
static bool take_next(struct fxt_merge *m, struct fxt_reader *r, struct part *part, bool *ok)
{
	struct fxt_skimmed skimmed;
	struct fxt_record *rec = &part->rec;

	if (fxt_reader_skim(r, &part->skims, &skimmed)) {
		if (skimmed.filler) {
			*ok = put_stretch(m, r, &part->same);
			fxt_reader_skip(r, &skimmed);
			part->same.from = part->same.to = r->at;
			return *ok;
		}
		if (skimmed.category != part->plain && is_plain(r, skimmed.category, &part->kinds))
			part->plain = skimmed.category;
		if (skimmed.category == part->plain) {
			fxt_overview_count(&part->overview, skimmed.category, skimmed.thread, skimmed.words * FXT_WORD_BYTES);
			fxt_reader_skip(r, &skimmed);
			part->same.to = r->at;
			return true;
		}
	}
	if (!fxt_reader_next(r, rec))
		return false;
	if (!rec->damaged) {
		fxt_overview_take(&part->overview, r, rec);
		if (rec->type == FXT_RECORD_EVENT)
			take_exit(m, r, rec);
	}
	/* What comes before has to be written before. */
	if (rec->type != FXT_RECORD_EVENT || rec->damaged) {
		uint64_t after = r->at;

		r->at = rec->offset;
		*ok = put_stretch(m, r, &part->same);
		r->at = after;
		if (*ok && put_otherwise(m, &part->ids, r, rec, ok)) {
			part->same.from = part->same.to = r->at;
			return *ok;
		}
	}
	part->same.to = r->at;
	return *ok;
}

bool fxt_merge_trace(struct fxt_merge *m, struct fxt_reader *r)
{
	struct part part = {.same = {r->at, r->at}};
	bool ok = true;

	m->as_it_is = true;
	while (take_next(m, r, &part, &ok))
		;
	ok = ok && put_stretch(m, r, &part.same);
	m->parts++;
	add_overview(m, &part.overview, r);
	fxt_map_free(&part.ids);
	fxt_map_free(&part.kinds);
	fxt_overview_free(&part.overview);
	return ok;
}

bool fxt_merge_begin_with(struct fxt_merge *m, FILE *out, struct fxt_reader *r)
{
	begin(m, out);
	m->only_counts = true;
	fxt_merge_trace(m, r);
	m->only_counts = false;
	m->bytes = r->size;
	if (m->as_it_is && !m->damaged && r->stop == FXT_STOP_END && m->parts == 1)
		return true;
	fxt_merge_free(m);
	return false;
}

bool fxt_merge_exit(struct fxt_merge *m, uint64_t pid, uint64_t at_ns, int status, int signal)
{
	const char *name = signal ? "signal" : "status";
	struct fxt_arg how = {.type = FXT_ARG_INT32, .name = FXT_INLINE(name, strlen(name)), .i32 = signal ? signal : status};
	const struct fxt_slot *id = fxt_map_find(&m->last_ids, pid, 0);
	uint64_t words[32];
	size_t count;

	if (!id || fxt_map_find(&m->exits, pid, 0) || !fxt_map_find(&m->tids, pid, pid))
		return true;
	count = fxt_encode_provider_section(words, 32, (uint32_t)id->value[0]);
	count += fxt_encode_event(words + count, 32 - count, FXT_EVENT_INSTANT, at_ns,
				  (struct fxt_thread_ref){.process = pid, .thread = pid}, FXT_INLINE("process", 7), FXT_INLINE("exit", 4),
				  (struct fxt_args){1, &how}, 0);
	for (size_t i = 0; i < count; i++)
		words[i] = htole64(words[i]);
	m->events++;
	return put(m, words, count * FXT_WORD_BYTES);
}

bool fxt_merge_part(struct fxt_merge *m, const char *path)
{
	struct fxt_trace_file file;
	struct fxt_reader r;
	bool ok;

	if (!fxt_trace_open(&file, path))
		return true;
	fxt_reader_init(&r, file.data, file.size);
	ok = fxt_merge_trace(m, &r);
	fxt_reader_free(&r);
	fxt_trace_close(&file);
	return ok;
}

const struct fxt_merged_category *fxt_merge_largest(const struct fxt_merge *m)
{
	const struct fxt_merged_category *largest = NULL;

	for (size_t i = 0; i < m->category_count; i++) {
		if (!largest || m->categories[i].bytes > largest->bytes)
			largest = &m->categories[i];
	}
	return largest;
}

void fxt_merge_free(struct fxt_merge *m)
{
	for (size_t i = 0; i < m->category_count; i++)
		free(m->categories[i].name);
	free(m->categories);
	free(m->reason);
	free(m->buffer);
	fxt_map_free(&m->provider_ids);
	fxt_map_free(&m->last_ids);
	fxt_map_free(&m->exits);
	fxt_map_free(&m->pids);
	fxt_map_free(&m->tids);
	*m = (struct fxt_merge){0};
}
