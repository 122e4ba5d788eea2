/* Small additions to jansson that every --json shares. See json.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_JANSSON
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fxt_encode.h"
#include "message.h"

json_t *fxt_json_text(const struct fxt_text *t)
{
	char *clean = fxt_alloc(t->bytes + 1, 1);
	size_t bytes = fxt_utf8_clean(clean, t->text, t->bytes, t->bytes);
	json_t *out = json_stringn_nocheck(clean, bytes);

	free(clean);
	return out;
}

json_t *fxt_json_string(const char *text)
{
	struct fxt_text t = {.text = text, .bytes = (uint32_t)strlen(text)};

	return fxt_json_text(&t);
}

json_t *fxt_json_symbol(const struct fxt_reader *r, uint32_t symbol)
{
	struct fxt_text text;

	if (!symbol)
		return json_null();
	text = fxt_symbol_text(r, symbol);
	return fxt_json_text(&text);
}

json_t *fxt_json_u64(uint64_t value)
{
	return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

static json_t *value_of(const struct fxt_argument *a)
{
	char pointer[24];

	switch (a->type) {
	case FXT_ARG_INT32:
	case FXT_ARG_INT64: return json_integer(a->i);
	case FXT_ARG_UINT32:
	case FXT_ARG_UINT64:
	case FXT_ARG_KOID: return fxt_json_u64(a->u);
	case FXT_ARG_DOUBLE: return isfinite(a->f) ? json_real(a->f) : json_null();
	case FXT_ARG_STRING: return fxt_json_text(&a->string);
	case FXT_ARG_POINTER:
		snprintf(pointer, sizeof(pointer), "0x%" PRIx64, a->u);
		return json_string(pointer);
	case FXT_ARG_BOOL: return json_boolean(a->u);
	case FXT_ARG_NULL: break;
	}
	return json_null();
}

json_t *fxt_json_arguments(const struct fxt_record *rec)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < rec->arg_count; i++) {
		char *name = fxt_alloc(rec->args[i].name.bytes + 1, 1);

		fxt_utf8_clean(name, rec->args[i].name.text, rec->args[i].name.bytes,
			       rec->args[i].name.bytes);
		json_object_set_new_nocheck(object, name, value_of(&rec->args[i]));
		free(name);
	}
	return object;
}

void fxt_json_print(json_t *value, FILE *out, bool one_line)
{
	json_dumpf(value, out, one_line ? JSON_COMPACT : JSON_INDENT(2));
	fputc('\n', out);
	json_decref(value);
}
#else
/* ISO C wants a declaration in every file. */
typedef int fxt_built_without_json;
#endif
