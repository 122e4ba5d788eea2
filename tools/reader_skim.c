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

/* Whether the arguments are those of the form, each a header with a value in it or in the next word; *at goes past them. A form has
 * no strings in it but by index, so its headers say all. */
static bool are_alike(const struct fxt_reader *r, const uint32_t *args, unsigned count, uint64_t *at)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t header = fxt_word(r, *at);

		if ((uint32_t)header != args[i])
			return false;
		*at += fxt_get_arg_words(header) * FXT_WORD_BYTES;
	}
	return true;
}

/* Names stand in the record, or values do in words that depend on them. */
static bool has_inline(uint64_t ref)
{
	return fxt_get_string_ref_inline(ref) != 0;
}

static void remember(const struct fxt_reader *r, struct fxt_skims *cache, size_t form, uint64_t header, const struct fxt_skimmed *s)
{
	unsigned count = (unsigned)fxt_get_event_args(header);
	uint64_t at = r->at + (uint64_t)2 * FXT_WORD_BYTES;
	uint32_t args[FXT_SKIM_ARGS];

	if (count > FXT_SKIM_ARGS || has_inline(fxt_get_event_name(header)))
		return;
	for (unsigned i = 0; i < count; i++) {
		uint64_t arg = fxt_word(r, at);

		if (has_inline(fxt_get_arg_name(arg)) || fxt_get_arg_type(arg) == FXT_ARG_STRING)
			return;
		args[i] = (uint32_t)arg;
		at += fxt_get_arg_words(arg) * FXT_WORD_BYTES;
	}
	cache->forms[form].header = header;
	memcpy(cache->forms[form].args, args, count * sizeof(*args));
	cache->forms[form].category = s->category;
	cache->forms[form].thread = s->thread;
}

static bool is_known(const struct fxt_reader *r, const struct fxt_skims *cache, size_t form, uint64_t header, struct fxt_skimmed *s)
{
	uint64_t at = r->at + (uint64_t)2 * FXT_WORD_BYTES;

	if (cache->forms[form].header != header ||
	    !are_alike(r, cache->forms[form].args, (unsigned)fxt_get_event_args(header), &at))
		return false;
	if (fxt_get_event_type(header) == FXT_EVENT_DURATION_COMPLETE && fxt_word(r, at) < fxt_word(r, r->at + FXT_WORD_BYTES))
		return false;
	s->category = cache->forms[form].category;
	s->thread = cache->forms[form].thread;
	return true;
}

static bool skim_known(const struct fxt_reader *r, struct fxt_skims *cache, uint64_t header, struct fxt_skimmed *s)
{
	size_t form = (size_t)(header * UINT64_C(0x9e3779b97f4a7c15) >> 58);

	if (cache->provider != r->provider || cache->generation != r->provider->generation)
		*cache = (struct fxt_skims){.provider = r->provider, .generation = r->provider->generation};
	if (is_known(r, cache, form, header, s))
		return true;
	if (!skim_event(r, header, s))
		return false;
	remember(r, cache, form, header, s);
	return true;
}

bool fxt_reader_skim(const struct fxt_reader *r, struct fxt_skims *cache, struct fxt_skimmed *s)
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
	return fxt_get_record_type(header) == FXT_RECORD_EVENT && skim_known(r, cache, header, s);
}

void fxt_reader_skip(struct fxt_reader *r, const struct fxt_skimmed *s)
{
	r->at += s->words * FXT_WORD_BYTES;
}
