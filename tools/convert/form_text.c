/* Text that a form of export is made of. See form_text.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "form_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tools/printing/json.h"
#include "writer/fxt_encode.h"

enum { FLUSH_BYTES = 1 << 18 };

void fxt_put_u64(struct fxt_form_text *t, uint64_t value)
{
	char digits[20], *at = digits + sizeof(digits);

	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	fxt_put_bytes(t, at, (size_t)(digits + sizeof(digits) - at));
}

void fxt_put_i64(struct fxt_form_text *t, int64_t value)
{
	if (value < 0)
		fxt_put_bytes(t, "-", 1);
	fxt_put_u64(t, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void fxt_put_hex(struct fxt_form_text *t, uint64_t value)
{
	char digits[16], *at = digits + sizeof(digits);

	do
		*--at = "0123456789abcdef"[value & 15];
	while (value >>= 4);
	fxt_put_bytes(t, "0x", 2);
	fxt_put_bytes(t, at, (size_t)(digits + sizeof(digits) - at));
}

/* Returns whether the bytes can stand in a JSON string as they are. */
static bool is_plain(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			return false;
	}
	return true;
}

static void put_escaped(struct fxt_form_text *t, const char *text, size_t bytes)
{
	char *clean = fxt_alloc(bytes + 1, 1), escape[8];

	bytes = fxt_utf8_clean(clean, text, bytes, bytes);
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)clean[i];

		if (c == '"' || c == '\\')
			fxt_put_bytes(t, "\\", 1);
		if (c < 0x20 || c == 0x7f) {
			snprintf(escape, sizeof(escape), "\\u%04x", c);
			fxt_put_bytes(t, escape, 6);
		} else {
			fxt_put_bytes(t, &clean[i], 1);
		}
	}
	free(clean);
}

void fxt_put_json(struct fxt_form_text *t, const struct fxt_text *text)
{
	fxt_put_bytes(t, "\"", 1);
	if (is_plain(text->text, text->bytes))
		fxt_put_bytes(t, text->text, text->bytes);
	else
		put_escaped(t, text->text, text->bytes);
	fxt_put_bytes(t, "\"", 1);
}

void fxt_put_json_string(struct fxt_form_text *t, const char *text)
{
	struct fxt_text counted = fxt_text_of(text);

	fxt_put_json(t, &counted);
}

static void put_double(struct fxt_form_text *t, double value)
{
	char digits[32];

	if (!isfinite(value)) {
		fxt_put_literal(t, "null");
		return;
	}
	snprintf(digits, sizeof(digits), "%.17g", value);
	fxt_put_literal(t, digits);
}

static void put_integer(struct fxt_form_text *t, bool is_negative, uint64_t size, uint64_t most)
{
	const char *quote = size > most ? "\"" : "";

	fxt_put_literal(t, quote);
	if (is_negative)
		fxt_put_bytes(t, "-", 1);
	fxt_put_u64(t, size);
	fxt_put_literal(t, quote);
}

static void put_value(struct fxt_form_text *t, const struct fxt_argument *a, uint64_t most)
{
	switch (a->type) {
	case FXT_ARG_INT32:
	case FXT_ARG_INT64:
		put_integer(t, a->i < 0, a->i < 0 ? -(uint64_t)a->i : (uint64_t)a->i, most);
		break;
	case FXT_ARG_UINT32:
	case FXT_ARG_UINT64:
	case FXT_ARG_KOID: put_integer(t, false, a->u, most); break;
	case FXT_ARG_DOUBLE: put_double(t, a->f); break;
	case FXT_ARG_STRING: fxt_put_json(t, &a->string); break;
	case FXT_ARG_POINTER:
		fxt_put_bytes(t, "\"", 1);
		fxt_put_hex(t, a->u);
		fxt_put_bytes(t, "\"", 1);
		break;
	case FXT_ARG_BOOL: fxt_put_literal(t, a->u ? "true" : "false"); break;
	case FXT_ARG_NULL: fxt_put_literal(t, "null"); break;
	}
}

bool fxt_put_arguments(struct fxt_form_text *t, const struct fxt_record *rec, uint64_t most)
{
	unsigned last;

	for (unsigned i = 0; i < rec->arg_count; i++) {
		if (!fxt_json_is_first(rec, i, &last))
			continue;
		if (i)
			fxt_put_bytes(t, ",", 1);
		fxt_put_json(t, &rec->args[i].name);
		fxt_put_bytes(t, ":", 1);
		put_value(t, &rec->args[last], most);
	}
	return rec->arg_count;
}

void fxt_form_text_flush(struct fxt_form_text *t, FILE *out, bool always)
{
	if (t->bytes < FLUSH_BYTES && !always)
		return;
	/* A failure stays with the stream, and is seen when it is closed. */
	(void)!fwrite(t->data, 1, t->bytes, out);
	t->bytes = 0;
}
