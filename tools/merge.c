/* Joins the files of several processes into one archive. See merge.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "merge.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "trace_file.h"

/* Linux's largest pid is 2^22: no process has an id from here on. */
enum { FIRST_FREE_ID = (1 << 22) + 1 };

static bool put(struct fxt_merge *m, const void *bytes, uint64_t count)
{
	m->bytes += count;
	return fwrite(bytes, 1, count, m->out) == count;
}

bool fxt_merge_begin(struct fxt_merge *m, FILE *out)
{
	uint64_t magic = htole64(FXT_MAGIC_RECORD);

	*m = (struct fxt_merge){.out = out, .next_id = FIRST_FREE_ID};
	return put(m, &magic, sizeof(magic));
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

static bool put_record(struct fxt_merge *m, struct fxt_map *ids, const struct fxt_reader *r,
		       const struct fxt_record *rec)
{
	uint64_t header = rec->header;

	if (rec->type == FXT_RECORD_METADATA && !is_provider_record(rec))
		return true;    /* filler, magic number */
	if (is_provider_record(rec))
		header = with_provider(header, unique_id(m, ids, (uint32_t)rec->id));
	header = htole64(header);
	return put(m, &header, sizeof(header)) &&
	       put(m, r->data + rec->offset + FXT_WORD_BYTES, (rec->words - 1) * FXT_WORD_BYTES);
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

bool fxt_merge_trace(struct fxt_merge *m, struct fxt_reader *r)
{
	struct fxt_record rec;
	struct fxt_overview o = {0};
	struct fxt_map ids = {0};
	bool ok = true;

	while (ok && fxt_reader_next(r, &rec)) {
		/* The part of a process that still runs may change under our eyes. */
		if (rec.damaged)
			continue;
		fxt_overview_take(&o, r, &rec);
		ok = put_record(m, &ids, r, &rec);
	}
	m->parts++;
	add_overview(m, &o, r);
	fxt_map_free(&ids);
	fxt_overview_free(&o);
	return ok;
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
	fxt_map_free(&m->provider_ids);
	fxt_map_free(&m->pids);
	fxt_map_free(&m->tids);
}
