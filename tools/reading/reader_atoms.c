/* Decodes what records are made of: streams, string and thread references, arguments.
 *
 * Each part is read as far as it goes and its fault is reported once, so that one fault does not hide
 * the next. `at` may end up past `end`, which the caller's check of the record's size then finds.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>

#include "reader_internal.h"
#include "writer/fxt_encode.h"

static bool all_zero(const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i])
			return false;
	}
	return true;
}

struct fxt_text fxt_read_stream(struct fxt_decoder *d, uint64_t bytes, bool is_text)
{
	struct fxt_text out = {.text = ""};
	uint64_t from = d->at;
	uint64_t left = d->at <= d->end ? d->end - d->at : 0;

	/* Both are whole words, so what fits unpadded fits padded; but d->at may be past d->end. */
	if (bytes > left || d->at > d->end) {
		fxt_fault(d, FXT_FAULT_STREAM_PAST_RECORD, from,
			  "%" PRIu64 " bytes, and %" PRIu64 " are left of the record of %" PRIu64
			  " at byte %" PRIu64, bytes, left, d->rec->words * FXT_WORD_BYTES, d->rec->offset);
		d->at = d->end;
		return out;
	}
	d->at += fxt_words_of(bytes) * FXT_WORD_BYTES;
	/* A large blob may be longer than any string. */
	out.text = (const char *)d->r->data + from;
	out.bytes = bytes <= UINT32_MAX ? (uint32_t)bytes : 0;
	if (!d->r->strict || d->r->muted)
		return out;
	if (!all_zero(d->r->data + from + bytes, d->at - from - bytes))
		fxt_fault(d, FXT_FAULT_PADDING, from, "%" PRIu64 " bytes", bytes);
	if (is_text && !fxt_utf8_valid(out.text, out.bytes))
		fxt_fault(d, FXT_FAULT_UTF8, from, "%" PRIu64 " bytes", bytes);
	return out;
}

struct fxt_text fxt_read_string(struct fxt_decoder *d, uint64_t ref)
{
	uint64_t value = fxt_get_string_ref_value(ref);
	struct fxt_text text;

	if (fxt_get_string_ref_inline(ref)) {
		if (value > FXT_STRING_MAX_BYTES)
			fxt_fault(d, FXT_FAULT_STRING_TOO_LONG, d->at, "%" PRIu64, value);
		return fxt_read_stream(d, value, true);
	}
	if (value == 0)
		return (struct fxt_text){.text = ""};
	text = fxt_registered_string(d->r->provider, (unsigned)value, d->rec->offset);
	if (!text.text) {
		fxt_fault(d, FXT_FAULT_STRING_UNREGISTERED, d->at, "index %" PRIu64, value);
		return (struct fxt_text){.text = ""};
	}
	return text;
}

uint32_t fxt_read_thread(struct fxt_decoder *d, uint64_t ref)
{
	uint32_t thread;

	if (ref == 0) {
		uint64_t pid, tid;

		if (d->at > d->end || d->end - d->at < UINT64_C(2) * FXT_WORD_BYTES) {
			fxt_fault(d, FXT_FAULT_THREAD_PAST_RECORD, d->at, "%s", "");
			d->at = d->end;
			return fxt_thread_of(d->r, 0, 0);
		}
		pid = fxt_next_word(d);
		tid = fxt_next_word(d);
		return fxt_thread_of(d->r, pid, tid);
	}
	if (fxt_registered_thread(d->r->provider, (unsigned)ref, d->rec->offset, &thread))
		return thread;
	fxt_fault(d, FXT_FAULT_THREAD_UNREGISTERED, d->at, "index %" PRIu64, ref);
	return fxt_thread_of(d->r, UINT64_MAX, ref);
}

/* Reads the value of an argument whose name has been read. The decoder ends where the argument does. */
static void read_value(struct fxt_decoder *d, struct fxt_argument *a, uint64_t header, uint64_t offset)
{
	uint64_t high = fxt_get_arg_value32(header);
	uint64_t word;

	switch (a->type) {
	case FXT_ARG_NULL:
		if (high)
			fxt_fault(d, FXT_FAULT_RESERVED_BITS, offset, "null argument");
		break;
	case FXT_ARG_INT32:
		a->i = (int32_t)high;
		break;
	case FXT_ARG_UINT32:
		a->u = high;
		break;
	case FXT_ARG_STRING:
		if (high >> 16)
			fxt_fault(d, FXT_FAULT_RESERVED_BITS, offset, "string argument");
		a->string = fxt_read_string(d, fxt_get_arg_string(header));
		break;
	case FXT_ARG_BOOL:
		if (high > 1)
			fxt_fault(d, FXT_FAULT_BOOL_VALUE, offset, "%" PRIu64, high);
		a->u = high != 0;
		break;
	default:
		if (high)
			fxt_fault(d, FXT_FAULT_RESERVED_BITS, offset, "argument of type %d", (int)a->type);
		if (d->at > d->end || d->end - d->at < FXT_WORD_BYTES) {
			fxt_fault(d, FXT_FAULT_ARG_NO_VALUE, offset, "argument of type %d", (int)a->type);
			break;
		}
		word = fxt_next_word(d);
		if (a->type == FXT_ARG_DOUBLE)
			memcpy(&a->f, &word, sizeof(word));
		else
			a->u = word;
	}
}

static void read_argument(struct fxt_decoder *d, uint64_t header)
{
	struct fxt_record *rec = d->rec;
	struct fxt_argument *a = &rec->args[rec->arg_count];
	struct fxt_decoder inner = *d;
	uint64_t offset = d->at;

	inner.end = offset + fxt_get_arg_words(header) * FXT_WORD_BYTES;
	inner.at += FXT_WORD_BYTES;
	d->at = inner.end;
	*a = (struct fxt_argument){.type = (enum fxt_arg_type)fxt_get_arg_type(header)};
	a->name = fxt_read_string(&inner, fxt_get_arg_name(header));
	if (a->type > FXT_ARG_BOOL)
		return;         /* "unrecognized argument types can be skipped" */
	read_value(&inner, a, header, offset);
	if (inner.at != inner.end)
		fxt_fault(d, FXT_FAULT_ARG_SIZE, offset, "type %d: %" PRId64 " bytes over", (int)a->type,
			  (int64_t)(inner.end - inner.at));
	for (unsigned i = 0; d->r->strict && !rec->damaged && i < rec->arg_count; i++) {
		if (fxt_text_equal(&rec->args[i].name, &a->name)) {
			fxt_fault(d, FXT_FAULT_ARG_TWICE, offset, "%.*s", (int)a->name.bytes, a->name.text);
			break;
		}
	}
	rec->arg_count++;
}

void fxt_read_arguments(struct fxt_decoder *d, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t header, words;

		if (d->at > d->end || d->end - d->at < FXT_WORD_BYTES) {
			fxt_fault(d, FXT_FAULT_ARG_PAST_RECORD, d->at, "argument %u of %u", i + 1, count);
			d->at = d->end;
			return;
		}
		header = fxt_word(d->r, d->at);
		words = fxt_get_arg_words(header);
		if (words == 0 || words > (d->end - d->at) / FXT_WORD_BYTES) {
			fxt_fault(d, FXT_FAULT_ARG_SIZE, d->at, "type %d: %" PRIu64 " words",
				  (int)fxt_get_arg_type(header), words);
			d->at = d->end;
			return;
		}
		read_argument(d, header);
	}
}
