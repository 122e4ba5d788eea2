/* The forward pass of the reader: it finds where each record begins and ends, and reports faults. See
 * reader.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdarg.h>
#include <stdio.h>

#include "reader_internal.h"

const enum fxt_severity fxt_fault_severity[FXT_FAULT_COUNT] = {
#define FAULT_SEVERITY(name, severity, text) [FXT_FAULT_##name] = FXT_##severity,
	FXT_FAULTS(FAULT_SEVERITY)
};

const char *const fxt_fault_text[FXT_FAULT_COUNT] = {
#define FAULT_TEXT(name, severity, text) [FXT_FAULT_##name] = text,
	FXT_FAULTS(FAULT_TEXT)
};

void fxt_reader_init(struct fxt_reader *r, const void *data, uint64_t size)
{
	*r = (struct fxt_reader){.data = data, .size = size};
	r->symbols = fxt_symbols_new();
	/* Records before any provider info belong to a provider of their own. */
	r->provider = fxt_provider_new(r, 0);
}

void fxt_reader_free(struct fxt_reader *r)
{
	fxt_tables_free(r);
	fxt_symbols_free(r->symbols);
	fxt_free_forms(r);
}

void fxt_reader_go_on(struct fxt_reader *r, const void *data, uint64_t size)
{
	/* Offsets go on, because they say which meaning of a string counts. */
	r->data = (const unsigned char *)((uintptr_t)data - r->at);
	r->size = r->at + size;
	r->stop = FXT_STOP_NONE;
}

void fxt_fault(struct fxt_decoder *d, enum fxt_fault fault, uint64_t offset, const char *format, ...)
{
	struct fxt_reader *r = d->r;
	char detail[160];
	va_list ap;

	r->faults++;
	if (fxt_fault_severity[fault] == FXT_STRUCTURAL)
		d->rec->damaged = true;
	if (r->muted)
		return;
	va_start(ap, format);
	vsnprintf(detail, sizeof(detail), format, ap);
	va_end(ap);
	if (fxt_fault_severity[fault] == FXT_STRUCTURAL && r->damaged_records == 0 &&
	    r->first_fault_offset == 0) {
		r->first_fault = fault;
		r->first_fault_offset = offset;
		snprintf(r->first_fault_detail, sizeof(r->first_fault_detail), "%s", detail);
	}
	if (r->on_fault)
		r->on_fault(r->fault_context, fault, offset, detail);
}

/* Clears all that a decoder may leave unset. The arguments stay as they were, because they are most of
 * the struct. */
static void clear(struct fxt_reader *r, struct fxt_record *rec, uint64_t offset, uint64_t header)
{
	static const struct fxt_text empty = {.text = ""};

	rec->offset = offset;
	rec->header = header;
	rec->words = fxt_record_size_words(header);
	rec->type = (enum fxt_record_type)fxt_get_record_type(header);
	rec->subtype = 0;
	rec->known = true;
	rec->damaged = false;
	rec->provider = r->provider;
	rec->timed = false;
	rec->ticks = 0;
	rec->thread = rec->incoming = 0;
	rec->cpu = rec->state = 0;
	rec->id = 0;
	rec->category = rec->name = empty;
	rec->blob_bytes = 0;
	rec->arg_count = 0;
	rec->has_extra = false;
	rec->extra = 0;
	rec->kind = 0;
	rec->appended_zeros = false;
}

static bool stopped(struct fxt_reader *r, enum fxt_stop why)
{
	r->stop = why;
	r->tail_bytes = r->size - r->at;
	return false;
}

/* Decodes the event at rec->offset, whose form is not known. Remembers the form if the event has no fault. */
static void read_event(struct fxt_decoder *d)
{
	uint64_t faults = d->r->faults;

	fxt_read_event(d);
	if (d->rec->known && d->r->faults == faults)
		fxt_learn_form(d->r, d->rec);
}

bool fxt_reader_next(struct fxt_reader *r, struct fxt_record *rec)
{
	uint64_t header, words;
	struct fxt_decoder d;

	if (r->stop != FXT_STOP_NONE)
		return false;
	if (r->at == r->size)
		return stopped(r, FXT_STOP_END);
	if (r->size - r->at < FXT_WORD_BYTES)
		return stopped(r, FXT_STOP_TORN);
	header = fxt_word(r, r->at);
	words = fxt_record_size_words(header);
	if (words == 0)
		return stopped(r, FXT_STOP_SIZE_ZERO);
	if (words > (r->size - r->at) / FXT_WORD_BYTES)
		return stopped(r, FXT_STOP_TORN);
	if (!fxt_read_known_event(r, r->at, header, r->provider, rec)) {
		clear(r, rec, r->at, header);
		d = (struct fxt_decoder){r, rec, r->at + FXT_WORD_BYTES, r->at + words * FXT_WORD_BYTES};
		if (rec->type == FXT_RECORD_EVENT)
			read_event(&d);
		else
			fxt_read_record(&d);
		r->damaged_records += rec->damaged;
	}
	r->at += words * FXT_WORD_BYTES;
	return true;
}

void fxt_reader_skip_to(struct fxt_reader *r, fxt_reader_wanted *wanted)
{
	while (r->size - r->at >= FXT_WORD_BYTES) {
		uint64_t header = fxt_word(r, r->at), words = fxt_record_size_words(header);

		/* A record with a wrong size is left to fxt_reader_next(), which reports it. */
		if (wanted(header) || words == 0 || words > (r->size - r->at) / FXT_WORD_BYTES)
			return;
		r->at += words * FXT_WORD_BYTES;
	}
}

bool fxt_reader_event_at(struct fxt_reader *r, uint64_t offset, struct fxt_provider *p,
			 struct fxt_record *rec)
{
	uint64_t header = fxt_word(r, offset);
	struct fxt_provider *current = r->provider;
	struct fxt_decoder d = {r, rec, offset + FXT_WORD_BYTES, 0};

	if (fxt_read_known_event(r, offset, header, p, rec))
		return true;
	clear(r, rec, offset, header);
	d.end = offset + rec->words * FXT_WORD_BYTES;
	if (rec->type != FXT_RECORD_EVENT)
		return false;
	r->provider = rec->provider = p;
	r->muted = true;
	read_event(&d);
	r->muted = false;
	r->provider = current;
	return true;
}

bool fxt_reader_slice_at(const struct fxt_reader *r, uint64_t offset, const struct fxt_provider *p,
			 uint64_t *start_ns, uint64_t *end_ns)
{
	uint64_t header = fxt_word(r, offset);

	if (fxt_get_record_type(header) != FXT_RECORD_EVENT ||
	    fxt_get_event_type(header) != FXT_EVENT_DURATION_COMPLETE)
		return false;
	*start_ns = fxt_ns(p, fxt_word(r, offset + FXT_WORD_BYTES));
	*end_ns = fxt_ns(p, fxt_word(r, offset + (fxt_record_size_words(header) - 1) * FXT_WORD_BYTES));
	return true;
}

struct fxt_provider *fxt_reader_provider_at(struct fxt_reader *r, uint64_t offset, struct fxt_provider *p)
{
	uint64_t header = fxt_word(r, offset);
	uint64_t type = fxt_get_metadata_type(header);

	if (fxt_get_record_type(header) != FXT_RECORD_METADATA ||
	    (type != FXT_METADATA_PROVIDER_INFO && type != FXT_METADATA_PROVIDER_SECTION))
		return p;
	return fxt_provider_of(r, (uint32_t)fxt_get_provider_id(header));
}

bool fxt_is_made_end(const struct fxt_record *rec)
{
	return (rec->subtype == FXT_EVENT_ASYNC_END || rec->subtype == FXT_EVENT_DURATION_END) &&
	       fxt_argument(rec, "ended_by");
}

bool fxt_is_cut_by_exec(const struct fxt_record *rec)
{
	const struct fxt_text *by =
		rec->subtype == FXT_EVENT_DURATION_END ? fxt_argument_text(rec, "ended_by") : NULL;

	return by && fxt_text_is(by, "exec");
}

struct fxt_text fxt_text_of(const char *text)
{
	return (struct fxt_text){.text = text, .bytes = (uint32_t)strlen(text)};
}
