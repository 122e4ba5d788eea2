/* What the record encoders are put together from: a cursor over the words of one record.
 *
 * Private to writer/: fxt_encode.c is the only user. The cursor is a local of each encoder, so all of this
 * may run in any context. Once a cursor is bad it stays bad and nothing more is stored: encoders put all
 * they have and look at the outcome once, in fxt_finish().
 */
#ifndef FXT_ENCODE_INTERNAL_H
#define FXT_ENCODE_INTERNAL_H

#include "fxt_encode.h"

struct fxt_cursor {
	uint64_t *out;
	size_t limit;           /* words; the lesser of the caller's capacity and the format's maximum */
	size_t n;               /* words put so far, from 1: out[0] is the header's */
	bool bad;               /* cannot be written; n <= limit holds only while this is false */
};

struct fxt_cursor fxt_begin(uint64_t *out, size_t capacity);
struct fxt_cursor fxt_begin_large(uint64_t *out, size_t capacity);

/* Stores the header, to which the size is added, last of all. Returns the record's words, 0 if it is bad. */
size_t fxt_finish(const struct fxt_cursor *c, uint64_t header);
size_t fxt_finish_large(const struct fxt_cursor *c, uint64_t header);

/* Makes the record one that cannot be written unless `good` holds. */
void fxt_require(struct fxt_cursor *c, bool good);

void fxt_put_word(struct fxt_cursor *c, uint64_t word);
void fxt_put_stream(struct fxt_cursor *c, const void *data, size_t bytes);

/* The reference of a string goes into a header, its text (if inline) where the record has its streams.
 * fxt_put_string() is also what refuses a string out of range, so every string passes through it. */
uint16_t fxt_string_ref_of(struct fxt_string s);
void fxt_put_string(struct fxt_cursor *c, struct fxt_string s);

/* The koids of an inline thread; nothing for an indexed one. */
void fxt_put_thread(struct fxt_cursor *c, struct fxt_thread_ref thread);

void fxt_put_args(struct fxt_cursor *c, struct fxt_args args);

#endif
