/* Writes JSON to a stream value by value. See json.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fxt_encode.h"
#include "message.h"

/* -- Text ------------------------------------------------------------------------------------------ */

/* Bytes up to the first that cannot stand in a JSON string as it is, or that may be no UTF-8. */
static size_t plain_bytes(const char *text, size_t bytes)
{
	size_t i = 0;

	while (i < bytes && text[i] >= ' ' && text[i] <= '~' && text[i] != '"' && text[i] != '\\')
		i++;
	return i;
}

static void put_escaped(FILE *out, unsigned char c)
{
	static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};

	if (c == '"' || c == '\\')
		fprintf(out, "\\%c", c);
	else if (c < sizeof(letters) && letters[c])
		fprintf(out, "\\%c", letters[c]);
	else if (c < ' ')
		fprintf(out, "\\u%04X", c);
	else
		fputc(c, out);
}

static void put_text(FILE *out, const char *text, size_t bytes)
{
	size_t plain = plain_bytes(text, bytes);
	char *clean;

	fputc('"', out);
	fwrite(text, 1, plain, out);
	if (plain < bytes) {
		clean = fxt_alloc(bytes - plain, 1);
		bytes = fxt_utf8_clean(clean, text + plain, bytes - plain, bytes - plain);
		for (size_t i = 0; i < bytes; i++)
			put_escaped(out, (unsigned char)clean[i]);
		free(clean);
	}
	fputc('"', out);
}

/* -- Where a value stands -------------------------------------------------------------------------- */

static void new_line(const struct fxt_json *j)
{
	static const char spaces[2 * FXT_JSON_DEPTH + 1] = "                                ";

	if (j->one_line)
		return;
	fputc('\n', j->out);
	fwrite(spaces, 1, (size_t)2 * j->depth, j->out);
}

static void begin_value(struct fxt_json *j, const struct fxt_text *key)
{
	if (j->has_value)
		fputc(',', j->out);
	if (j->depth)
		new_line(j);
	j->has_value = true;
	if (!key)
		return;
	put_text(j->out, key->text, key->bytes);
	fputs(j->one_line ? ":" : ": ", j->out);
}

static void begin(struct fxt_json *j, const char *key)
{
	struct fxt_text text = {.text = key, .bytes = key ? (uint32_t)strlen(key) : 0};

	begin_value(j, key ? &text : NULL);
}

static void begin_list(struct fxt_json *j, const char *key, const char *brackets)
{
	assert(j->depth < FXT_JSON_DEPTH);
	begin(j, key);
	fputc(brackets[0], j->out);
	j->closers[j->depth++] = brackets[1];
	j->has_value = false;
}

void fxt_json_object(struct fxt_json *j, const char *key)
{
	begin_list(j, key, "{}");
}

void fxt_json_array(struct fxt_json *j, const char *key)
{
	begin_list(j, key, "[]");
}

void fxt_json_end(struct fxt_json *j)
{
	j->depth--;
	if (j->has_value)
		new_line(j);
	fputc(j->closers[j->depth], j->out);
	j->has_value = j->depth;
	if (!j->depth)
		fputc('\n', j->out);
}

/* -- Values ---------------------------------------------------------------------------------------- */

static void put_i64(FILE *out, int64_t value)
{
	fprintf(out, "%" PRId64, value);
}

/* A real always has a point or an exponent, and the exponent neither '+' nor leading zeros. */
static void put_real(FILE *out, double value)
{
	char digits[40], *exponent;

	snprintf(digits, sizeof(digits), "%.17g", value);
	exponent = strchr(digits, 'e');
	if (exponent) {
		*exponent = '\0';
		fprintf(out, "%se%ld", digits, strtol(exponent + 1, NULL, 10));
	} else {
		fprintf(out, "%s%s", digits, strchr(digits, '.') ? "" : ".0");
	}
}

static void put_u64(FILE *out, uint64_t value)
{
	if (value <= INT64_MAX)
		put_i64(out, (int64_t)value);
	else
		put_real(out, (double)value);
}

void fxt_json_null(struct fxt_json *j, const char *key)
{
	begin(j, key);
	fputs("null", j->out);
}

void fxt_json_bool(struct fxt_json *j, const char *key, bool value)
{
	begin(j, key);
	fputs(value ? "true" : "false", j->out);
}

void fxt_json_i64(struct fxt_json *j, const char *key, int64_t value)
{
	begin(j, key);
	put_i64(j->out, value);
}

void fxt_json_u64(struct fxt_json *j, const char *key, uint64_t value)
{
	begin(j, key);
	put_u64(j->out, value);
}

void fxt_json_text(struct fxt_json *j, const char *key, const struct fxt_text *t)
{
	begin(j, key);
	put_text(j->out, t->text, t->bytes);
}

void fxt_json_string(struct fxt_json *j, const char *key, const char *text)
{
	struct fxt_text t = {.text = text};

	if (!text) {
		fxt_json_null(j, key);
		return;
	}
	t.bytes = (uint32_t)strlen(text);
	fxt_json_text(j, key, &t);
}

void fxt_json_symbol(struct fxt_json *j, const char *key, const struct fxt_reader *r, uint32_t symbol)
{
	struct fxt_text text;

	if (!symbol) {
		fxt_json_null(j, key);
		return;
	}
	text = fxt_symbol_text(r, symbol);
	fxt_json_text(j, key, &text);
}

/* -- Arguments ------------------------------------------------------------------------------------- */

static void put_argument(FILE *out, const struct fxt_argument *a)
{
	switch (a->type) {
	case FXT_ARG_INT32:
	case FXT_ARG_INT64: put_i64(out, a->i); return;
	case FXT_ARG_UINT32:
	case FXT_ARG_UINT64:
	case FXT_ARG_KOID: put_u64(out, a->u); return;
	case FXT_ARG_DOUBLE:
		if (!isfinite(a->f))
			break;
		put_real(out, a->f);
		return;
	case FXT_ARG_STRING: put_text(out, a->string.text, a->string.bytes); return;
	case FXT_ARG_POINTER: fprintf(out, "\"0x%" PRIx64 "\"", a->u); return;
	case FXT_ARG_BOOL: fputs(a->u ? "true" : "false", out); return;
	case FXT_ARG_NULL: break;
	}
	fputs("null", out);
}

bool fxt_json_is_first(const struct fxt_record *rec, unsigned i, unsigned *last)
{
	const struct fxt_text *name = &rec->args[i].name;

	for (unsigned k = 0; k < i; k++)
		if (fxt_text_equal(&rec->args[k].name, name))
			return false;
	*last = i;
	for (unsigned k = i + 1; k < rec->arg_count; k++)
		if (fxt_text_equal(&rec->args[k].name, name))
			*last = k;
	return true;
}

void fxt_json_arguments(struct fxt_json *j, const char *key, const struct fxt_record *rec)
{
	unsigned last;

	fxt_json_object(j, key);
	for (unsigned i = 0; i < rec->arg_count; i++) {
		if (!fxt_json_is_first(rec, i, &last))
			continue;
		begin_value(j, &rec->args[i].name);
		put_argument(j->out, &rec->args[last]);
	}
	fxt_json_end(j);
}
