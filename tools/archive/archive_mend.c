/* See archive_mend.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "archive_mend.h"

#include "archive_walk.h"

/* Which halves of a lifetime or an arrow have been found. Those of which both were found are in no map. */
enum { BEGIN = 1, END = 2 };

void fxt_mend_gap(struct fxt_archive_mend *m)
{
	m->is_behind = true;
	fxt_map_free(&m->threads);
}

/* Notes a half. The other one may stand before it or behind it. */
static void note_half(struct fxt_map *halves, uint64_t id, unsigned half)
{
	bool is_new;
	struct fxt_slot *s = fxt_map_put(halves, id, 0, &is_new);

	if (is_new)
		s->value[0] = half;
	else if (s->value[0] != half)
		fxt_map_remove(halves, s);
}

static bool is_flow(unsigned type)
{
	return type >= FXT_EVENT_FLOW_BEGIN && type <= FXT_EVENT_FLOW_END;
}

/* Returns whether the arrow has lost its slice. An arrow stands right behind the slice that it belongs to
 * in the chunk of its thread. The first arrows behind the gap may have none, and then the last slice of the
 * thread is another one, which was over or had not begun. */
static bool has_no_slice(struct fxt_archive_mend *m, const struct fxt_archive_walk *w, unsigned type)
{
	const uint64_t *record = w->words + w->at;
	uint64_t thread = fxt_get_event_thread(record[0]), ns = w->size > 1 ? record[1] : 0;
	struct fxt_slot *slice;
	bool is_new;

	if (!m->is_behind || type == FXT_EVENT_COUNTER ||
	    (type >= FXT_EVENT_ASYNC_BEGIN && type <= FXT_EVENT_ASYNC_END))
		return false;
	if (!thread && w->size > 3)
		thread = record[3] << 8;
	if (is_flow(type)) {
		slice = fxt_map_find(&m->threads, w->provider, thread);
		return !slice || ns < slice->value[0] || ns > slice->value[1];
	}
	if (type != FXT_EVENT_DURATION_BEGIN && type != FXT_EVENT_DURATION_COMPLETE)
		return false;
	slice = fxt_map_put(&m->threads, w->provider, thread, &is_new);
	slice->value[0] = ns;
	slice->value[1] = type == FXT_EVENT_DURATION_BEGIN ? UINT64_MAX : record[w->size - 1];
	return false;
}

/* Returns whether the record is older than what is wanted. */
static bool is_old(const struct fxt_archive_mend *m, const uint64_t *record, size_t size)
{
	unsigned type = (unsigned)fxt_get_record_type(record[0]);

	if (!m->from_ns || size < 2)
		return false;
	if (type == FXT_RECORD_EVENT)
		return fxt_archive_event_ns(record, size) < m->from_ns;
	return (type == FXT_RECORD_SCHEDULING || type == FXT_RECORD_LOG) && record[1] < m->from_ns;
}

void fxt_mend_look(struct fxt_archive_mend *m, const struct fxt_archive_file *file)
{
	struct fxt_archive_walk w = fxt_archive_walk(file);

	while (fxt_archive_next(&w)) {
		const uint64_t *record = w.words + w.at;
		unsigned type = (unsigned)fxt_get_event_type(record[0]);

		if (fxt_get_record_type(record[0]) != FXT_RECORD_EVENT || is_old(m, record, w.size) ||
		    has_no_slice(m, &w, type))
			continue;
		if (type == FXT_EVENT_ASYNC_BEGIN || type == FXT_EVENT_ASYNC_END)
			note_half(&m->asyncs, fxt_archive_event_id(record, w.size),
				  type == FXT_EVENT_ASYNC_BEGIN ? BEGIN : END);
		else if (type == FXT_EVENT_FLOW_BEGIN || type == FXT_EVENT_FLOW_END)
			note_half(&m->flows, fxt_archive_event_id(record, w.size),
				  type == FXT_EVENT_FLOW_BEGIN ? BEGIN : END);
	}
}

void fxt_mend_looked(struct fxt_archive_mend *m)
{
	m->is_behind = false;
	fxt_map_free(&m->threads);
}

/* Returns whether the record needs another one that is gone. */
static bool is_left_out(struct fxt_archive_mend *m, const struct fxt_archive_walk *w)
{
	const uint64_t *record = w->words + w->at;
	unsigned type = (unsigned)fxt_get_event_type(record[0]);
	const struct fxt_map *halves = is_flow(type) ? &m->flows : &m->asyncs;
	const struct fxt_slot *half;

	if (w->at == 0 || is_old(m, record, w->size))
		return true;
	if (fxt_get_record_type(record[0]) != FXT_RECORD_EVENT)
		return false;
	if (has_no_slice(m, w, type))
		return true;
	if (type != FXT_EVENT_ASYNC_END && type != FXT_EVENT_FLOW_END && type != FXT_EVENT_FLOW_STEP)
		return false;
	half = fxt_map_find(halves, fxt_archive_event_id(record, w->size), 0);
	return half && half->value[0] == END;
}

static bool write_words(FILE *out, const uint64_t *words, size_t count)
{
	return fwrite(words, FXT_WORD_BYTES, count, out) == count;
}

bool fxt_mend_copy(struct fxt_archive_mend *m, const struct fxt_archive_file *file, FILE *out)
{
	struct fxt_archive_walk w = fxt_archive_walk(file);
	size_t from = 0;

	while (fxt_archive_next(&w)) {
		bool is_left = !is_left_out(m, &w);

		/* What is written at once is in memory at once. */
		if (is_left && w.at - from < FXT_ARCHIVE_WALK_WORDS)
			continue;
		m->left_out += !is_left && w.at != 0;
		if (!write_words(out, w.words + from, w.at - from))
			return false;
		from = is_left ? w.at : w.at + w.size;
	}
	return write_words(out, w.words + from, w.at - from);
}

void fxt_mend_free(struct fxt_archive_mend *m)
{
	fxt_map_free(&m->asyncs);
	fxt_map_free(&m->flows);
	fxt_map_free(&m->threads);
}
