/* This header has the parts that the record encoders are made of: a cursor over the words of one record,
 * and functions that append to it.
 *
 * It is private to writer/: fxt_encode.c calls the functions, and encode_atoms.c has them. The cursor is a
 * local variable of each encoder, so all of this may run in any context. Once a cursor is bad it stays bad,
 * and nothing more is stored by it. So an encoder appends everything and looks at the result once, in
 * fxt_finish().
 */
#ifndef FXT_ENCODE_INTERNAL_H
#define FXT_ENCODE_INTERNAL_H

#include "fxt_encode.h"

struct fxt_cursor {
	uint64_t *out;
	size_t limit;           /* in words: the lesser of the caller's capacity and the format's maximum */
	size_t n;               /* words so far, from 1, because out[0] is the header's */
	bool bad;               /* the record cannot be written; n <= limit holds only while this is false */
};

/* Begins a record at `out`, of at most `capacity` words. */
struct fxt_cursor fxt_begin(uint64_t *out, size_t capacity);
/* Begins a large record, as fxt_begin() does. */
struct fxt_cursor fxt_begin_large(uint64_t *out, size_t capacity);

/* Stores the header, with the size added, after everything else. Returns the record's size in words, or
 * 0 if the cursor is bad. */
size_t fxt_finish(const struct fxt_cursor *c, uint64_t header);
/* Stores the header of a large record, as fxt_finish() does. */
size_t fxt_finish_large(const struct fxt_cursor *c, uint64_t header);

/* Marks the cursor as bad unless `good` is true. */
void fxt_require(struct fxt_cursor *c, bool good);

/* Appends a word. If there is no room, marks the cursor as bad. */
void fxt_put_word(struct fxt_cursor *c, uint64_t word);
/* Appends bytes, padded with zeros to whole words. If there is no room, marks the cursor as bad. */
void fxt_put_stream(struct fxt_cursor *c, const void *data, size_t bytes);

/* Returns the reference of a string, which goes into a header. */
uint16_t fxt_string_ref_of(struct fxt_string s);
/* Appends the text of an inline string, where the record has it, and marks the cursor as bad if the string
 * is out of range. So every string has to go through this function, also an indexed one. */
void fxt_put_string(struct fxt_cursor *c, struct fxt_string s);

/* Appends the two koids of an inline thread, and nothing for an indexed one. */
void fxt_put_thread(struct fxt_cursor *c, struct fxt_thread_ref thread);

/* Appends the arguments, and marks the cursor as bad if there are too many or one is out of range. */
void fxt_put_args(struct fxt_cursor *c, struct fxt_args args);

#endif
