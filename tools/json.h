/* Small additions to jansson that every --json shares: strings of a trace, and printing. Only where there is
 * jansson. */
#ifndef FXT_TOOLS_JSON_H
#define FXT_TOOLS_JSON_H
#ifdef HAVE_JANSSON

#include <jansson.h>
#include <stdio.h>

#include "reader.h"

/* What is not UTF-8 becomes '?': JSON has no other text. */
json_t *fxt_json_text(const struct fxt_text *t);

/* The same of a string of our own. */
json_t *fxt_json_string(const char *text);

/* A name of the trace; null where there is none (0). */
json_t *fxt_json_symbol(const struct fxt_reader *r, uint32_t symbol);

/* Gives the object a member; takes the value over. */
static inline void fxt_json_set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

/* JSON's integers are signed: what is larger becomes a real. */
json_t *fxt_json_u64(uint64_t value);

/* {"name": value, ...}; pointers as "0x..." strings, as they are no numbers to count with. */
json_t *fxt_json_arguments(const struct fxt_record *rec);

/* Prints and frees. */
void fxt_json_print(json_t *value, FILE *out, bool one_line);

#endif
#endif
