/* Text that a form of export is made of: a buffer that grows, and what is put into it. Several million events
 * a second are written this way, so nothing here goes through printf() that most events have.
 */
#ifndef FXT_TOOLS_FORM_TEXT_H
#define FXT_TOOLS_FORM_TEXT_H

#include <stdio.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/reading/reader.h"

/* All members are zero at first. */
struct fxt_form_text {
	char *data;
	size_t bytes, capacity;
};

static inline void fxt_put_bytes(struct fxt_form_text *t, const char *data, size_t bytes)
{
	t->data = fxt_grow(t->data, &t->capacity, t->bytes + bytes, 1);
	if (bytes)
		memcpy(t->data + t->bytes, data, bytes);
	t->bytes += bytes;
}

static inline void fxt_put_literal(struct fxt_form_text *t, const char *literal)
{
	fxt_put_bytes(t, literal, strlen(literal));
}

void fxt_put_u64(struct fxt_form_text *t, uint64_t value);
void fxt_put_i64(struct fxt_form_text *t, int64_t value);
/* Puts "0x..." without quotes. */
void fxt_put_hex(struct fxt_form_text *t, uint64_t value);

/* Puts a JSON string. Bytes that are no UTF-8 become '?'. */
void fxt_put_json(struct fxt_form_text *t, const struct fxt_text *text);
void fxt_put_json_string(struct fxt_form_text *t, const char *text);

/* Largest integers that readers keep as they are: those of doubles, and those of 64 bits with a sign. Others
 * are put as strings. */
#define FXT_JSON_DOUBLES (UINT64_C(1) << 53)
#define FXT_JSON_SIGNED ((uint64_t)INT64_MAX)

/* Puts the arguments of a record as members of an object, without its braces: "fd":3,"ret":"0x10". Pointers
 * are strings. Of several of one name the last holds. Returns whether there are any. */
bool fxt_put_arguments(struct fxt_form_text *t, const struct fxt_record *rec, uint64_t most);

/* Writes the text to the stream once it has so much that this is worth a call, or `always`; it is empty
 * then. */
void fxt_form_text_flush(struct fxt_form_text *t, FILE *out, bool always);

#endif
