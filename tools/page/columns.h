/* Columns of numbers in few bytes, and blocks of them as text: what a page's data is made of.
 *
 * A number is written in groups of 7 bits, the lowest first; the highest bit of a byte says that more follow.
 * A signed one is folded first, so that small ones of either sign are short. A block is packed by zlib, which
 * browsers unpack (DecompressionStream), and stands in the page in base64.
 */
#ifndef FXT_TOOLS_COLUMNS_H
#define FXT_TOOLS_COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes that grow. All zero is an empty one. */
struct fxt_column {
	unsigned char *bytes;
	size_t count, capacity;
};

void fxt_column_unsigned(struct fxt_column *c, uint64_t value);
void fxt_column_signed(struct fxt_column *c, int64_t value);
void fxt_column_bytes(struct fxt_column *c, const void *bytes, size_t count);
void fxt_column_free(struct fxt_column *c);

/* Writes the column, packed, as base64. Returns how many characters that are. */
size_t fxt_column_write(const struct fxt_column *c, FILE *out);

#endif
