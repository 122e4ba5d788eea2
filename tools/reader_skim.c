/* A quick look at common records, for who counts and copies them (merge.c) and need not know what they say. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "reader_internal.h"

/* The bytes of a string that stands in the record, or 0 for one that was registered; more than any record where it was not. */
static uint64_t inline_bytes(const struct fxt_reader *r, uint64_t ref)
{
	uint64_t value = fxt_get_string_ref_value(ref);

	if (fxt_get_string_ref_inline(ref))
		return value <= FXT_STRING_MAX_BYTES ? fxt_words_of(value) * FXT_WORD_BYTES : UINT32_MAX;
	return value == 0 || fxt_registered_string(r->provider, (unsigned)value, r->at).text ? 0 : UINT32_MAX;
}

/* As fxt_read_arguments() would find them, but for values that are merely odd. False: let that say what is wrong. */
static bool arguments_add_up(const struct fxt_reader *r, uint64_t *at, uint64_t end, unsigned count)
{
	for (; count; count--) {
		uint64_t header, bytes, needed, type;

		if (*at >= end)
			return false;
		header = fxt_word(r, *at);
		bytes = fxt_get_arg_words(header) * FXT_WORD_BYTES;
		type = fxt_get_arg_type(header);
		if (type > FXT_ARG_BOOL || bytes == 0 || bytes > end - *at)
			return false;
		needed = FXT_WORD_BYTES + inline_bytes(r, fxt_get_arg_name(header));
		if (type == FXT_ARG_STRING)
			needed += inline_bytes(r, fxt_get_arg_string(header));
		else if (type != FXT_ARG_NULL && type != FXT_ARG_INT32 && type != FXT_ARG_UINT32 && type != FXT_ARG_BOOL)
			needed += FXT_WORD_BYTES;
		if (needed != bytes)
			return false;
		*at += bytes;
	}
	return true;
}

static bool skim_event(const struct fxt_reader *r, uint64_t header, struct fxt_skimmed *s)
{
	uint64_t type = fxt_get_event_type(header), category = fxt_get_event_category(header), thread = fxt_get_event_thread(header);
	uint64_t end = r->at + s->words * FXT_WORD_BYTES, at = r->at + (uint64_t)2 * FXT_WORD_BYTES;
	struct fxt_text text;

	if (type > FXT_EVENT_FLOW_END || category == 0 || fxt_get_string_ref_inline(category) || thread == 0)
		return false;
	text = fxt_registered_string(r->provider, (unsigned)fxt_get_string_ref_value(category), r->at);
	if (!text.symbol || !*text.symbol || !fxt_registered_thread(r->provider, (unsigned)thread, r->at, &s->thread))
		return false;
	s->category = *text.symbol;
	at += inline_bytes(r, fxt_get_event_name(header));
	if (at > end || !arguments_add_up(r, &at, end, (unsigned)fxt_get_event_args(header)))
		return false;
	if (type == FXT_EVENT_DURATION_COMPLETE && at < end && fxt_word(r, at) < fxt_word(r, r->at + FXT_WORD_BYTES))
		return false;
	return at + (fxt_event_has_extra((enum fxt_event_type)type) ? FXT_WORD_BYTES : 0) == end;
}

bool fxt_reader_skim(const struct fxt_reader *r, struct fxt_skimmed *s)
{
	uint64_t header;

	if (r->stop != FXT_STOP_NONE || r->size - r->at < FXT_WORD_BYTES)
		return false;
	header = fxt_word(r, r->at);
	s->words = fxt_get_record_words(header);
	if (s->words == 0 || s->words > (r->size - r->at) / FXT_WORD_BYTES)
		return false;
	s->filler = fxt_get_record_type(header) == FXT_RECORD_METADATA;
	if (s->filler)
		return fxt_get_metadata_type(header) > FXT_METADATA_TRACE_INFO;
	return fxt_get_record_type(header) == FXT_RECORD_EVENT && skim_event(r, header, s);
}

void fxt_reader_skip(struct fxt_reader *r, const struct fxt_skimmed *s)
{
	r->at += s->words * FXT_WORD_BYTES;
}
