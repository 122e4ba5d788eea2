/* Columns of numbers. See columns.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "columns.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tools/common/message.h"

static void reserve(struct fxt_column *c, size_t more)
{
	if (c->count + more > c->capacity)
		c->bytes = fxt_grow(c->bytes, &c->capacity, c->count + more, 1);
}

void fxt_column_unsigned(struct fxt_column *c, uint64_t value)
{
	reserve(c, 10);
	for (; value >= 0x80; value >>= 7)
		c->bytes[c->count++] = (unsigned char)(value | 0x80);
	c->bytes[c->count++] = (unsigned char)value;
}

void fxt_column_signed(struct fxt_column *c, int64_t value)
{
	fxt_column_unsigned(c, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void fxt_column_bytes(struct fxt_column *c, const void *bytes, size_t count)
{
	if (!count)
		return;
	reserve(c, count);
	memcpy(c->bytes + c->count, bytes, count);
	c->count += count;
}

void fxt_column_free(struct fxt_column *c)
{
	free(c->bytes);
	*c = (struct fxt_column){0};
}

/* -- base64 --------------------------------------------------------------------------------------- */

/* What is written: up to two bytes wait for the rest of their group of three. */
struct base64 {
	FILE *out;
	unsigned char rest[3];
	unsigned rests;
	size_t characters;
};

static void put_group(struct base64 *b, unsigned bytes)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
	uint32_t group = (uint32_t)b->rest[0] << 16 | (uint32_t)b->rest[1] << 8 | b->rest[2];
	char text[4];

	for (unsigned i = 0; i < 4; i++)
		text[i] = digits[i <= bytes ? group >> (18 - 6 * i) & 63 : 64];
	fwrite(text, 1, 4, b->out);
	b->characters += 4;
	memset(b->rest, 0, sizeof(b->rest));
	b->rests = 0;
}

static void put_bytes(struct base64 *b, const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		b->rest[b->rests++] = bytes[i];
		if (b->rests == 3)
			put_group(b, 3);
	}
}

size_t fxt_column_write(const struct fxt_column *c, FILE *out)
{
	struct base64 text = {.out = out};
	unsigned char packed[1 << 14];
	z_stream z = {0};
	int status = Z_OK;
	size_t given = 0;

	if (deflateInit(&z, 7) != Z_OK)
		abort(); /* nothing but a wrong version of zlib's header */
	while (status != Z_STREAM_END) {
		/* zlib counts what it is given in 32 bits. */
		if (z.avail_in == 0 && given < c->count) {
			z.avail_in = c->count - given > 1 << 30 ? 1 << 30 : (uInt)(c->count - given);
			z.next_in = c->bytes + given;
			given += z.avail_in;
		}
		z.next_out = packed;
		z.avail_out = sizeof(packed);
		status = deflate(&z, given == c->count ? Z_FINISH : Z_NO_FLUSH);
		put_bytes(&text, packed, sizeof(packed) - z.avail_out);
	}
	deflateEnd(&z);
	if (text.rests)
		put_group(&text, text.rests);
	return text.characters;
}
