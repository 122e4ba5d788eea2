/* Stores the parts of a record: words, streams, strings, threads and arguments.
 *
 * The record encoders in fxt_encode.c call this, from any context. Every store into a record is made here
 * or in fxt_encode_filler(), so this file keeps the bounds of the caller's memory.
 */
#include <string.h>

#include "encode_internal.h"

static struct fxt_cursor begin(uint64_t *out, size_t capacity, size_t max_words)
{
	return (struct fxt_cursor){
		.out = out,
		.limit = capacity < max_words ? capacity : max_words,
		.n = 1,
		.bad = capacity == 0,
	};
}

struct fxt_cursor fxt_begin(uint64_t *out, size_t capacity)
{
	return begin(out, capacity, FXT_RECORD_MAX_WORDS);
}

struct fxt_cursor fxt_begin_large(uint64_t *out, size_t capacity)
{
	return begin(out, capacity, UINT32_MAX); /* large_words is a field of 32 bits */
}

static size_t finish(const struct fxt_cursor *c, uint64_t header)
{
	if (c->bad)
		return 0;
	c->out[0] = header;
	return c->n;
}

size_t fxt_finish(const struct fxt_cursor *c, uint64_t header)
{
	return finish(c, header | fxt_record_words(c->n));
}

size_t fxt_finish_large(const struct fxt_cursor *c, uint64_t header)
{
	return finish(c, header | fxt_record_type(FXT_RECORD_LARGE) | fxt_large_words(c->n));
}

void fxt_require(struct fxt_cursor *c, bool good)
{
	if (!good)
		c->bad = true;
}

/* Returns room for `words` more words and counts them as stored; returns NULL if there is no room. */
static uint64_t *take(struct fxt_cursor *c, size_t words)
{
	uint64_t *at;

	/* n + words could wrap around: a length that the caller got wrong may be near SIZE_MAX. */
	if (c->bad || words > c->limit - c->n) {
		c->bad = true;
		return NULL;
	}
	at = c->out + c->n;
	c->n += words;
	return at;
}

void fxt_put_word(struct fxt_cursor *c, uint64_t word)
{
	uint64_t *at = take(c, 1);

	if (at)
		*at = word;
}

void fxt_put_stream(struct fxt_cursor *c, const void *data, size_t bytes)
{
	size_t words = fxt_words_of(bytes);
	uint64_t *at;

	fxt_require(c, data || bytes == 0);
	at = take(c, words);
	if (!at || !data || words == 0)
		return;
	at[words - 1] = 0; /* pads the last word with zeros */
	memcpy(at, data, bytes);
}

uint16_t fxt_string_ref_of(struct fxt_string s)
{
	if (s.index)
		return s.index;
	return s.bytes ? fxt_inline_ref(s.bytes) : 0;
}

void fxt_put_string(struct fxt_cursor *c, struct fxt_string s)
{
	if (s.index) {
		fxt_require(c, s.index <= FXT_STRING_MAX_INDEX);
		return;
	}
	fxt_require(c, s.bytes <= FXT_STRING_MAX_BYTES);
	fxt_put_stream(c, s.text, s.bytes);
}

void fxt_put_thread(struct fxt_cursor *c, struct fxt_thread_ref thread)
{
	if (thread.index)
		return;
	fxt_put_word(c, thread.process);
	fxt_put_word(c, thread.thread);
}

/* Appends the value of an argument. Returns the argument's header without type, size and name. */
static uint64_t put_value(struct fxt_cursor *c, const struct fxt_arg *arg)
{
	switch (arg->type) {
	case FXT_ARG_NULL:
		return 0;
	case FXT_ARG_INT32:
		return fxt_arg_value32((uint32_t)arg->i32);
	case FXT_ARG_UINT32:
		return fxt_arg_value32(arg->u32);
	case FXT_ARG_INT64:
	case FXT_ARG_UINT64:
	case FXT_ARG_DOUBLE:
	case FXT_ARG_POINTER:
	case FXT_ARG_KOID:
		fxt_put_word(c, arg->u64); /* the 64 bits of whichever member was stored */
		return 0;
	case FXT_ARG_STRING:
		fxt_put_string(c, arg->string);
		return fxt_arg_string(fxt_string_ref_of(arg->string));
	case FXT_ARG_BOOL:
		return fxt_arg_bool(arg->boolean);
	}
	c->bad = true;
	return 0;
}

static void put_arg(struct fxt_cursor *c, const struct fxt_arg *arg)
{
	uint64_t *header = take(c, 1);
	size_t first = c->n - 1, words;
	uint64_t value;

	fxt_put_string(c, arg->name);
	value = put_value(c, arg);
	words = c->n - first;
	/* A large record has room for a name and a value of 32000 bytes each, but the argument's size field
	 * has not. */
	fxt_require(c, words <= FXT_RECORD_MAX_WORDS);
	if (header && !c->bad)
		*header = fxt_arg_type(arg->type) | fxt_arg_words(words) |
			  fxt_arg_name(fxt_string_ref_of(arg->name)) | value;
}

void fxt_put_args(struct fxt_cursor *c, struct fxt_args args)
{
	fxt_require(c, args.count <= FXT_MAX_ARGS && (args.list || args.count == 0));
	for (size_t i = 0; !c->bad && i < args.count; i++)
		put_arg(c, &args.list[i]);
}
