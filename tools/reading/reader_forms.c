/* Decodes events of known forms. The form of an event is its header without its time, and the headers of its
 * arguments without their values. What these refer to is looked up when the first event of a form was found
 * sound; the next ones copy it. In a large trace nearly all records are such events. An event that is not as
 * its form says, or has a fault, is left to reader_records.c, which says what is wrong. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <uthash.h>

#include "reader_internal.h"
#include "tools/common/hash.h"
#include "tools/common/message.h"

enum { FORMS = 1024, ARGS = 8, PLACE_SHIFT = 64 - 10 };

static_assert(FORMS == 1 << (64 - PLACE_SHIFT), "as place_of() has it");

struct fxt_event_form {
	uint64_t header;                        /* 0: there is none */
	/* The form holds for events of this provider as long as none of its indices gets another meaning, and
	 * for those that lie behind the registration of all that they refer to. */
	const struct fxt_provider *provider;
	uint64_t since;
	uint32_t generation;
	uint32_t thread;
	uint32_t kind;
	struct fxt_text category, name;
	uint32_t args[ARGS];                    /* lower halves of the headers */
	struct fxt_text names[ARGS];
};

static struct fxt_event_form *place_of(const struct fxt_reader *r, const struct fxt_provider *p,
				       uint64_t header)
{
	return &r->forms[(header + p->index * UINT64_C(0xff51afd7ed558ccd)) *
				 UINT64_C(0x9e3779b97f4a7c15) >> PLACE_SHIFT];
}

/* -- Reading --------------------------------------------------------------------------------------- */

static inline uint64_t word_at(const unsigned char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return le64toh(word);
}

/* Reads a string that is the value of an argument. */
static bool read_string(const struct fxt_reader *r, const struct fxt_provider *p, uint64_t offset,
			const unsigned char *at, uint64_t header, struct fxt_text *text)
{
	uint64_t ref = fxt_get_arg_string(header), value = fxt_get_string_ref_value(ref);

	if (fxt_get_arg_value32(header) >> 16)
		return false;
	if (fxt_arg_has_text(header) && (!r->strict || r->muted)) {
		*text = (struct fxt_text){.text = (const char *)at, .bytes = (uint32_t)value};
		return true;
	}
	if (fxt_get_string_ref_inline(ref) || value == 0 || fxt_get_arg_words(header) != 1)
		return false;
	*text = fxt_registered_string(p, (unsigned)value, offset);
	return text->text;
}

/* Reads the value of an argument, which begins at `at` behind its header. */
static inline bool read_value(const struct fxt_reader *r, const struct fxt_provider *p, uint64_t offset,
			      const unsigned char *at, uint64_t header, struct fxt_argument *a)
{
	uint64_t high = fxt_get_arg_value32(header);

	switch (a->type) {
	case FXT_ARG_INT32: a->i = (int32_t)high; return true;
	case FXT_ARG_UINT32: a->u = high; return true;
	case FXT_ARG_BOOL: a->u = high; return high <= 1;
	case FXT_ARG_NULL: a->u = 0; return high == 0;
	case FXT_ARG_STRING: return read_string(r, p, offset, at, header, &a->string);
	default: a->u = word_at(at); return high == 0;
	}
}

/* Returns the form that an event with this header may have, or NULL. */
static inline const struct fxt_event_form *form_of(const struct fxt_reader *r, uint64_t offset,
						   uint64_t header, const struct fxt_provider *p)
{
	const struct fxt_event_form *form = r->forms ? place_of(r, p, header) : NULL;

	return form && form->header == header && form->provider == p && form->generation == p->generation &&
			       offset >= form->since
		       ? form
		       : NULL;
}

uint32_t fxt_reader_kind_at(const struct fxt_reader *r, uint64_t offset, const struct fxt_provider *p)
{
	const struct fxt_event_form *form = form_of(r, offset, fxt_word(r, offset), p);

	return form ? form->kind : 0;
}

bool fxt_read_known_event(const struct fxt_reader *r, uint64_t offset, uint64_t header,
			  struct fxt_provider *p, struct fxt_record *rec)
{
	const struct fxt_event_form *form = form_of(r, offset, header, p);
	const unsigned char *at = r->data + offset;
	unsigned count;

	if (!form || r->size - offset < fxt_get_record_words(header) * FXT_WORD_BYTES)
		return false;
	rec->subtype = (unsigned)fxt_get_event_type(header);
	rec->words = fxt_get_record_words(header);
	rec->ticks = word_at(at + FXT_WORD_BYTES);
	rec->has_extra = fxt_event_has_extra((enum fxt_event_type)rec->subtype);
	rec->extra = rec->has_extra ? word_at(at + (rec->words - 1) * FXT_WORD_BYTES) : 0;
	if (rec->subtype == FXT_EVENT_DURATION_COMPLETE && rec->extra < rec->ticks)
		return false;
	at += (size_t)2 * FXT_WORD_BYTES;
	count = (unsigned)fxt_get_event_args(header);
	for (unsigned i = 0; i < count; i++) {
		struct fxt_argument *a = &rec->args[i];
		uint64_t arg = word_at(at);

		if ((uint32_t)arg != form->args[i])
			return false;
		a->type = (enum fxt_arg_type)fxt_get_arg_type(arg);
		a->name = form->names[i];
		if (!read_value(r, p, offset, at + FXT_WORD_BYTES, arg, a))
			return false;
		at += fxt_get_arg_words(arg) * FXT_WORD_BYTES;
	}
	rec->offset = offset;
	rec->header = header;
	rec->type = FXT_RECORD_EVENT;
	rec->known = true;
	rec->damaged = false;
	rec->provider = p;
	rec->timed = true;
	rec->thread = form->thread;
	rec->incoming = 0;
	rec->cpu = rec->state = 0;
	rec->id = 0;
	rec->category = form->category;
	rec->name = form->name;
	rec->blob_bytes = 0;
	rec->arg_count = count;
	rec->kind = form->kind;
	rec->appended_zeros = false;
	return true;
}

/* -- Kinds ----------------------------------------------------------------------------------------- */

/* Traces have some hundreds. In a trace that is made to have more, the rest has none. */
enum { KINDS = 4096 };

/* Strings that were registered and are equal have one symbol, so its address stands for them. */
struct fxt_event_kind {
	struct {
		uint64_t type, arg_count;
		const uint32_t *category, *name, *args[ARGS];
		uint64_t arg_types[ARGS];
	} key;
	uint32_t number;
	UT_hash_handle hh;
};

static uint32_t kind_of(struct fxt_reader *r, const struct fxt_event_form *form, unsigned arg_count)
{
	struct fxt_event_kind kind = {.key = {.type = fxt_get_event_type(form->header),
					      .arg_count = arg_count,
					      .category = form->category.symbol,
					      .name = form->name.symbol}};
	struct fxt_event_kind *found;

	for (unsigned i = 0; i < arg_count; i++) {
		kind.key.args[i] = form->names[i].symbol;
		kind.key.arg_types[i] = fxt_get_arg_type(form->args[i]);
	}
	HASH_FIND(hh, r->kinds, &kind.key, sizeof(kind.key), found);
	if (found || HASH_COUNT(r->kinds) == KINDS)
		return found ? found->number : 0;
	found = fxt_alloc(1, sizeof(*found));
	found->key = kind.key;
	found->number = HASH_COUNT(r->kinds) + 1;
	HASH_ADD(hh, r->kinds, key, sizeof(found->key), found);
	return found->number;
}

/* -- Learning -------------------------------------------------------------------------------------- */

/* Looks a string up that is not the value of an argument. Returns false if it stands in the record. */
static bool learn_string(struct fxt_event_form *form, uint64_t ref, struct fxt_text *text)
{
	uint64_t since = 0;

	*text = (struct fxt_text){.text = ""};
	if (fxt_get_string_ref_inline(ref))
		return false;
	if (ref)
		*text = fxt_latest_string(form->provider, (unsigned)fxt_get_string_ref_value(ref), &since);
	form->since = since > form->since ? since : form->since;
	return text->text;
}

static bool learn_thread(struct fxt_event_form *form, unsigned index)
{
	uint64_t since;

	if (!index || !fxt_latest_thread(form->provider, index, &form->thread, &since))
		return false;
	form->since = since > form->since ? since : form->since;
	return true;
}

void fxt_learn_form(struct fxt_reader *r, const struct fxt_record *rec)
{
	uint64_t header = rec->header, words = 2 + rec->has_extra, at = rec->offset + 2 * FXT_WORD_BYTES;
	struct fxt_event_form form = {
		.header = header, .provider = rec->provider, .generation = rec->provider->generation};

	/* Arguments of unknown types are skipped, so that there are fewer than the header says. */
	if (rec->arg_count > ARGS || rec->arg_count != fxt_get_event_args(header) ||
	    !learn_thread(&form, (unsigned)fxt_get_event_thread(header)) ||
	    !learn_string(&form, fxt_get_event_category(header), &form.category) ||
	    !learn_string(&form, fxt_get_event_name(header), &form.name))
		return;
	for (unsigned i = 0; i < rec->arg_count; i++) {
		uint64_t arg = fxt_word(r, at);

		if (!learn_string(&form, fxt_get_arg_name(arg), &form.names[i]))
			return;
		form.args[i] = (uint32_t)arg;
		words += fxt_get_arg_words(arg);
		at += fxt_get_arg_words(arg) * FXT_WORD_BYTES;
	}
	if (words != rec->words || form.since > rec->offset)
		return;
	if (!r->forms)
		r->forms = fxt_alloc(FORMS, sizeof(*r->forms));
	form.kind = kind_of(r, &form, rec->arg_count);
	*place_of(r, rec->provider, header) = form;
}

void fxt_free_forms(struct fxt_reader *r)
{
	struct fxt_event_kind *kind, *next;

	free(r->forms);
	HASH_ITER(hh, r->kinds, kind, next) {
		HASH_DELETE(hh, r->kinds, kind);
		free(kind);
	}
}
