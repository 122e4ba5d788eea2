/* The bytes of fields, as the types of the metadata say: little endian, and none aligned. */
#ifndef FXT_TOOLS_CTF_BYTES_H
#define FXT_TOOLS_CTF_BYTES_H

#include <endian.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/reading/reader.h"
#include "writer/fxt_encode.h"

/* All members are zero at first. */
struct fxt_ctf_bytes {
	unsigned char *data;
	size_t count, capacity;
};

/* Makes room for so many bytes more, and returns where they go. */
static inline unsigned char *fxt_ctf_room(struct fxt_ctf_bytes *b, size_t bytes)
{
	b->data = fxt_grow(b->data, &b->capacity, b->count + bytes, 1);
	b->count += bytes;
	return b->data + b->count - bytes;
}

static inline void fxt_ctf_put(struct fxt_ctf_bytes *b, const void *data, size_t bytes)
{
	if (bytes)
		memcpy(fxt_ctf_room(b, bytes), data, bytes);
}

static inline void fxt_ctf_put_u8(struct fxt_ctf_bytes *b, unsigned value)
{
	*fxt_ctf_room(b, 1) = (unsigned char)value;
}

static inline void fxt_ctf_put_u32(struct fxt_ctf_bytes *b, uint32_t value)
{
	value = htole32(value);
	fxt_ctf_put(b, &value, sizeof(value));
}

static inline void fxt_ctf_put_u64(struct fxt_ctf_bytes *b, uint64_t value)
{
	value = htole64(value);
	fxt_ctf_put(b, &value, sizeof(value));
}

/* Puts a string, or the array of one NUL that stands for an empty one (ctf_classes.h). It is UTF-8 and ends
 * with NUL: each byte that cannot stand in it is '?'. */
static inline void fxt_ctf_put_string(struct fxt_ctf_bytes *b, const struct fxt_text *text)
{
	char *out = (char *)fxt_ctf_room(b, (size_t)text->bytes + 1);
	size_t bytes = fxt_utf8_clean(out, text->text, text->bytes, text->bytes);

	for (char *nul = out; (nul = memchr(nul, '\0', bytes - (size_t)(nul - out)));)
		*nul = '?';
	out[bytes] = '\0';
	b->count -= text->bytes - bytes;
}

/* A name that every event of a thread repeats has so many bytes at most; Linux's have 15. */
enum { FXT_CTF_MOST_NAME = 255 };

/* Puts a name that all classes have as a string: one that is not known is "?". */
static inline void fxt_ctf_put_name(struct fxt_ctf_bytes *b, const struct fxt_text *text)
{
	struct fxt_text name = text->bytes ? *text : (struct fxt_text){.text = "?", .bytes = 1};

	if (name.bytes > FXT_CTF_MOST_NAME) {
		name.bytes = FXT_CTF_MOST_NAME;
		while (name.bytes && fxt_utf8_continues(name.text[name.bytes]))
			name.bytes--;
	}
	fxt_ctf_put_string(b, &name);
}

/* Puts an argument's value as fxt_ctf_type() says. */
static inline void fxt_ctf_put_argument(struct fxt_ctf_bytes *b, const struct fxt_argument *a)
{
	switch (a->type) {
	case FXT_ARG_INT32:
	case FXT_ARG_UINT32:
		fxt_ctf_put_u32(b, (uint32_t)a->u);
		break;
	case FXT_ARG_STRING:
		fxt_ctf_put_string(b, &a->string);
		break;
	case FXT_ARG_BOOL:
		fxt_ctf_put_u8(b, a->u != 0);
		break;
	case FXT_ARG_NULL:
		break;
	default:
		fxt_ctf_put_u64(b, a->u); /* a double's bits too */
	}
}

#endif
