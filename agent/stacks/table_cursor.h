/* Reads the numbers of which unwind tables consist, one after the other. Used by unwind.c. */
#ifndef FXT_TABLE_CURSOR_H
#define FXT_TABLE_CURSOR_H

#include <string.h>

#include "unwind.h"

/* A place in the tables. Reading behind `end`, or what cannot be read, gives 0 and sets `has_failed`, for
 * good. */
struct cursor {
	const uint8_t *at, *end;
	const uint8_t *known;           /* what lies below it, from the last place on, can be read */
	struct fxt_reach *reach;
	bool has_failed;
};

/* Returns a cursor at a place in the tables; it has failed if the place is not in them. */
static inline struct cursor cursor_at(struct fxt_unwind_tables *t, const uint8_t *at)
{
	return (struct cursor){
		.at = at, .end = t->high, .reach = &t->reach, .has_failed = at < t->low || at > t->high};
}

/* Returns whether so many bytes can be read. */
static inline bool can_take(struct cursor *c, size_t bytes)
{
	if (c->has_failed || (size_t)(c->end - c->at) < bytes)
		return false;
	if (c->at + bytes <= c->known)
		return true;
	if (!fxt_reaches_all(c->reach, c->at, bytes))
		return false;
	c->known = (const uint8_t *)(((uintptr_t)c->at + bytes - 1) / FXT_PAGE_BYTES * FXT_PAGE_BYTES +
				     FXT_PAGE_BYTES);
	return true;
}

static inline uint64_t take(struct cursor *c, size_t bytes)
{
	uint64_t value = 0;

	if (!can_take(c, bytes)) {
		c->has_failed = true;
		return 0;
	}
	memcpy(&value, c->at, bytes);
	c->at += bytes;
	return value;
}

static inline void skip(struct cursor *c, uint64_t bytes)
{
	if (c->has_failed || (uint64_t)(c->end - c->at) < bytes)
		c->has_failed = true;
	else
		c->at += bytes;
}

/* Takes a number of the form LEB128, with its sign if `is_signed`. */
static inline uint64_t take_leb(struct cursor *c, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)take(c, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~UINT64_C(0) << shift;
	return value;
}

static inline uint64_t take_unsigned(struct cursor *c)
{
	return take_leb(c, false);
}

static inline int64_t take_signed(struct cursor *c)
{
	return (int64_t)take_leb(c, true);
}

#endif
