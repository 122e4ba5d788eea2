/* Goes past events of known forms without decoding them, for merge_part.c, which counts and copies them and
 * need not know their contents. See reader.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "reader_internal.h"

/* Returns the bytes of a string that stands in the record, or 0 for one that was registered. For a
 * reference to a string that was not registered, returns more than any record has. */
static uint64_t inline_bytes(const struct fxt_reader *r, uint64_t ref)
{
	uint64_t value = fxt_get_string_ref_value(ref);

	if (fxt_get_string_ref_inline(ref))
		return value <= FXT_STRING_MAX_BYTES ? fxt_words_of(value) * FXT_WORD_BYTES : UINT32_MAX;
	return value == 0 || fxt_registered_string(r->provider, (unsigned)value, r->at).text ? 0 : UINT32_MAX;
}

/* Returns whether fxt_read_arguments() would find no structural fault in the arguments. If this returns
 * false, that function has to say what is wrong. */
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
		else if (type != FXT_ARG_NULL && type != FXT_ARG_INT32 && type != FXT_ARG_UINT32 &&
			 type != FXT_ARG_BOOL)
			needed += FXT_WORD_BYTES;
		if (needed != bytes)
			return false;
		*at += bytes;
	}
	return true;
}

static bool event_adds_up(const struct fxt_reader *r, struct fxt_form *form)
{
	uint64_t header = form->header, type = fxt_get_event_type(header),
		 category = fxt_get_event_category(header), thread = fxt_get_event_thread(header);
	uint64_t end = r->at + fxt_get_record_words(header) * FXT_WORD_BYTES,
		 at = r->at + (uint64_t)2 * FXT_WORD_BYTES;
	struct fxt_text text;

	if (type > FXT_EVENT_FLOW_END || category == 0 || fxt_get_string_ref_inline(category) || thread == 0)
		return false;
	text = fxt_registered_string(r->provider, (unsigned)fxt_get_string_ref_value(category), r->at);
	if (!text.symbol || !*text.symbol ||
	    !fxt_registered_thread(r->provider, (unsigned)thread, r->at, &form->thread))
		return false;
	form->category = *text.symbol;
	at += inline_bytes(r, fxt_get_event_name(header));
	if (at > end || !arguments_add_up(r, &at, end, (unsigned)fxt_get_event_args(header)))
		return false;
	if (type == FXT_EVENT_DURATION_COMPLETE && at < end &&
	    fxt_word(r, at) < fxt_word(r, r->at + FXT_WORD_BYTES))
		return false;
	return at + (fxt_event_has_extra((enum fxt_event_type)type) ? FXT_WORD_BYTES : 0) == end;
}

bool fxt_reader_examine(const struct fxt_reader *r, struct fxt_form *form)
{
	uint64_t words;

	if (r->stop != FXT_STOP_NONE || r->size - r->at < FXT_WORD_BYTES)
		return false;
	form->header = fxt_word(r, r->at);
	form->count = 0;
	form->times = (struct fxt_times){.first = UINT64_MAX};
	words = fxt_get_record_words(form->header);
	return fxt_get_record_type(form->header) == FXT_RECORD_EVENT && words != 0 &&
	       words <= (r->size - r->at) / FXT_WORD_BYTES && event_adds_up(r, form);
}

/* -- Forms ----------------------------------------------------------------------------------------- */

/* Forgets all forms if they are another provider's, or if an index of the provider got another meaning.
 * The same headers stand for other strings and threads then. */
static void forget_others(const struct fxt_reader *r, struct fxt_skims *s)
{
	if (s->provider == r->provider && s->generation == r->provider->generation)
		return;
	fxt_skims_tell(s);
	memset(s->forms, 0, sizeof(s->forms));
	s->provider = r->provider;
	s->generation = r->provider->generation;
}

static struct fxt_form *place_of(struct fxt_skims *s, uint64_t header)
{
	return &s->forms[header * UINT64_C(0x9e3779b97f4a7c15) >> 56];
}

static_assert(FXT_SKIM_FORMS == 1 << (64 - 56), "as place_of() has it");

static void tell(const struct fxt_skims *s, struct fxt_form *form)
{
	if (form->count)
		s->counted(s->context, form);
	form->count = 0;
}

void fxt_skims_tell(struct fxt_skims *s)
{
	for (size_t i = 0; i < FXT_SKIM_FORMS; i++)
		tell(s, &s->forms[i]);
}

bool fxt_reader_remember(const struct fxt_reader *r, struct fxt_skims *s, const struct fxt_form *form)
{
	unsigned count = (unsigned)fxt_get_event_args(form->header);
	uint64_t at = r->at + (uint64_t)2 * FXT_WORD_BYTES;
	struct fxt_form found = *form, *place;

	if (count > FXT_SKIM_ARGS || fxt_get_string_ref_inline(fxt_get_event_name(form->header)))
		return false;
	for (unsigned i = 0; i < count; i++) {
		uint64_t arg = fxt_word(r, at);

		if (fxt_get_string_ref_inline(fxt_get_arg_name(arg)) ||
		    (fxt_get_arg_type(arg) == FXT_ARG_STRING && !fxt_arg_has_text(arg)))
			return false;
		found.args[i] = (uint32_t)arg;
		at += fxt_get_arg_words(arg) * FXT_WORD_BYTES;
	}
	forget_others(r, s);
	place = place_of(s, form->header);
	tell(s, place);
	*place = found;
	return true;
}

/* -- The walk -------------------------------------------------------------------------------------- */

static inline uint64_t word_of(const unsigned char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return le64toh(word);
}

/* Returns whether the event, which has the form's header and so its length, is of the form. In all forms
 * names are by index and string values stand in their arguments, so the arguments' headers say all. That
 * the arguments add up was found when the form was remembered. */
static inline bool is_of_form(const struct fxt_form *form, const unsigned char *event)
{
	const unsigned char *at = event + (size_t)2 * FXT_WORD_BYTES;
	unsigned count = (unsigned)fxt_get_event_args(form->header);

	for (unsigned i = 0; i < count; i++) {
		uint64_t arg = word_of(at);

		if ((uint32_t)arg != form->args[i] ||
		    (fxt_get_arg_type(arg) == FXT_ARG_STRING && !fxt_arg_has_text(arg)))
			return false;
		at += fxt_get_arg_words(form->args[i]) * FXT_WORD_BYTES;
	}
	return true;
}

/* Copies a record. Most have 4 to 8 words, which is too few to call memcpy() for. */
static inline void copy_words(unsigned char *to, const unsigned char *from, uint64_t words)
{
	for (; words; words--, to += FXT_WORD_BYTES, from += FXT_WORD_BYTES)
		memcpy(to, from, FXT_WORD_BYTES);
}

size_t fxt_reader_skim(struct fxt_reader *r, struct fxt_skims *s, unsigned char *to, size_t room)
{
	uint64_t at = r->at, size = r->stop == FXT_STOP_NONE ? r->size : r->at;
	size_t copied = 0;

	forget_others(r, s);
	while (size - at >= FXT_WORD_BYTES) {
		const unsigned char *record = r->data + at;
		uint64_t header = word_of(record), words = fxt_get_record_words(header),
			 bytes = words * FXT_WORD_BYTES;

		if (words == 0 || bytes > size - at)
			break;
		if (!fxt_is_filler(header)) {
			struct fxt_form *form = place_of(s, header);
			uint64_t type = fxt_get_event_type(header), last, from, to_ticks;

			if (form->header != header || !is_of_form(form, record) ||
			    (to && bytes > room - copied))
				break;
			/* A record of a form has these words; others may be too short. */
			last = word_of(record + bytes - FXT_WORD_BYTES);
			to_ticks = from = word_of(record + FXT_WORD_BYTES);
			if (type == FXT_EVENT_DURATION_COMPLETE) {
				if (last < from)
					break;
				to_ticks = last;
			} else if (fxt_event_bounds_async(type)) {
				s->linked(s->context, (enum fxt_event_type)type, last, at);
			}
			if (to)
				copy_words(to + copied, record, words);
			copied += to ? bytes : 0;
			form->count++;
			form->times.first = from < form->times.first ? from : form->times.first;
			form->times.latest = from > form->times.latest ? from : form->times.latest;
			form->times.last = to_ticks > form->times.last ? to_ticks : form->times.last;
		}
		at += bytes;
	}
	r->at = at;
	return copied;
}
