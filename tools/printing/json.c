/* Writes JSON to a stream value by value. See json.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "writer/fxt_encode.h"

/* -- Text ------------------------------------------------------------------------------------------ */

/* Writes the value and gives it back. jansson knows how each is written. */
static void put_value(FILE *out, json_t *value)
{
	json_dumpf(value, out, JSON_ENCODE_ANY);
	json_decref(value);
}

static void put_text(FILE *out, const char *text, size_t bytes)
{
	char *clean = fxt_alloc(bytes + 1, 1);

	bytes = fxt_utf8_clean(clean, text, bytes, bytes);
	put_value(out, json_stringn_nocheck(clean, bytes));
	free(clean);
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

static ssize_t take_nothing(void *cookie, const char *text, size_t bytes)
{
	(void)cookie;
	(void)text;
	return (ssize_t)bytes;
}

/* Counts an element of the innermost array. From the first that is too many on, nothing is written until the
 * array ends. */
static void count_element(struct fxt_json *j)
{
	static const cookie_io_functions_t nowhere = {.write = take_nothing};

	if (!j->most || !j->depth || j->closers[j->depth - 1] != ']' ||
	    ++j->elements[j->depth - 1] <= j->most || j->muted)
		return;
	j->muted = j->depth;
	j->kept = j->out;
	j->out = fopencookie(NULL, "w", nowhere);
	if (!j->out) {
		fxt_error(NULL, "there is no memory");
		exit(EXIT_FAILURE);
	}
}

/* Notes what the innermost array lacks, and writes again. */
static void end_cut(struct fxt_json *j)
{
	char *path = fxt_strdup("");
	size_t i = 0;

	fclose(j->out);
	j->out = j->kept;
	j->muted = 0;
	for (unsigned k = 0; k < j->depth; k++) {
		char *longer = j->keys[k] ? fxt_format("%s%s%s", path, *path ? "." : "", j->keys[k]) : NULL;

		if (!longer)
			continue;
		free(path);
		path = longer;
	}
	while (i < j->cut_count && strcmp(j->cuts[i].path, path) != 0)
		i++;
	if (i == j->cut_count) {
		j->cuts = fxt_grow(j->cuts, &j->cut_capacity, i + 1, sizeof(*j->cuts));
		j->cuts[j->cut_count++] = (struct fxt_json_cut){fxt_strdup(path), 0};
	}
	free(path);
	j->cuts[i].elements += j->elements[j->depth - 1] - j->most;
}

static void begin_value(struct fxt_json *j, const struct fxt_text *key)
{
	count_element(j);
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
	struct fxt_text text = fxt_text_of(key ? key : "");

	begin_value(j, key ? &text : NULL);
}

static void begin_list(struct fxt_json *j, const char *key, const char *brackets)
{
	assert(j->depth < FXT_JSON_DEPTH);
	begin(j, key);
	fputc(brackets[0], j->out);
	j->keys[j->depth] = key;
	j->elements[j->depth] = 0;
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
	if (j->muted == j->depth)
		end_cut(j);
	j->depth--;
	if (j->has_value)
		new_line(j);
	fputc(j->closers[j->depth], j->out);
	j->has_value = j->depth;
	if (!j->depth)
		fputc('\n', j->out);
}

void fxt_json_cuts(struct fxt_json *j)
{
	fxt_json_object(j, "cut");
	for (size_t i = 0; i < j->cut_count; i++) {
		fxt_json_u64(j, j->cuts[i].path, j->cuts[i].elements);
		free(j->cuts[i].path);
	}
	fxt_json_end(j);
	free(j->cuts);
	j->cuts = NULL;
	j->cut_count = j->cut_capacity = 0;
}

/* -- Values ---------------------------------------------------------------------------------------- */

/* jansson's integers are signed. */
static void put_unsigned(FILE *out, uint64_t value)
{
	fprintf(out, "%" PRIu64, value);
}

void fxt_json_null(struct fxt_json *j, const char *key)
{
	begin(j, key);
	put_value(j->out, json_null());
}

void fxt_json_bool(struct fxt_json *j, const char *key, bool value)
{
	begin(j, key);
	put_value(j->out, json_boolean(value));
}

void fxt_json_i64(struct fxt_json *j, const char *key, int64_t value)
{
	begin(j, key);
	put_value(j->out, json_integer(value));
}

void fxt_json_u64(struct fxt_json *j, const char *key, uint64_t value)
{
	begin(j, key);
	put_unsigned(j->out, value);
}

void fxt_json_real(struct fxt_json *j, const char *key, double value)
{
	begin(j, key);
	put_value(j->out, isfinite(value) ? json_real(value) : json_null());
}

void fxt_json_text(struct fxt_json *j, const char *key, const struct fxt_text *t)
{
	begin(j, key);
	put_text(j->out, t->text, t->bytes);
}

void fxt_json_string(struct fxt_json *j, const char *key, const char *text)
{
	struct fxt_text t;

	if (!text) {
		fxt_json_null(j, key);
		return;
	}
	t = fxt_text_of(text);
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

static json_t *value_of(const struct fxt_argument *a)
{
	char pointer[24];

	switch (a->type) {
	case FXT_ARG_INT32:
	case FXT_ARG_INT64: return json_integer(a->i);
	case FXT_ARG_DOUBLE: return isfinite(a->f) ? json_real(a->f) : json_null();
	case FXT_ARG_POINTER:
		snprintf(pointer, sizeof(pointer), "0x%" PRIx64, a->u);
		return json_string(pointer);
	case FXT_ARG_BOOL: return json_boolean(a->u);
	case FXT_ARG_UINT32:
	case FXT_ARG_UINT64:
	case FXT_ARG_KOID:
	case FXT_ARG_STRING:
	case FXT_ARG_NULL: break;
	}
	return json_null();
}

static void put_argument(FILE *out, const struct fxt_argument *a)
{
	if (a->type == FXT_ARG_STRING)
		put_text(out, a->string.text, a->string.bytes);
	else if (a->type == FXT_ARG_UINT32 || a->type == FXT_ARG_UINT64 || a->type == FXT_ARG_KOID)
		put_unsigned(out, a->u);
	else
		put_value(out, value_of(a));
}

void fxt_json_argument(struct fxt_json *j, const char *key, const struct fxt_argument *a)
{
	begin(j, key);
	put_argument(j->out, a);
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
