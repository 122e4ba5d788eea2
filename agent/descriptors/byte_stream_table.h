/* How streams lie in the memory that processes share, for byte_stream.c, which counts what is moved, and
 * byte_stream_names.c, which makes and finds them. */
#ifndef FXT_STREAM_TABLE_H
#define FXT_STREAM_TABLE_H

#include <assert.h>
#include <stdatomic.h>

#include "byte_stream.h"

/* -- Layout ------------------------------------------------------------------------------------ */

enum {
	BOUNDARIES = 12,                /* of a direction: reads that lag behind by more writes find none */
	STREAMS = 768,
	STREAM_NAMES = 3,               /* of a connection, and of either side */
	NAME_WAYS = 4,                  /* places that a name may have */
	NAME_SETS = 1024,
	CANDIDATES = 8,                 /* streams looked at for one that was not used of late */
	TRIES = 1000,                   /* of a compare-and-exchange: each that fails was another's success */
	GENERATION_SHIFT = 48,          /* in every word */
};

/* The word of those who write into a direction, and the word of those who read from it:
 *
 *	generation 16 | overlaps 1 | calls under way 15 | amount 32
 *
 * The amount is what those calls have moved that ended, modulo 4 GiB: no stream holds so much. `overlaps` is set while a call is under
 * way that is not alone, or was not: a call that finds it clear at its end was alone all the time. */
enum { AMOUNT_BITS = 32, OVERLAPS_SHIFT = GENERATION_SHIFT - 1 };
#define LOW_BITS ((UINT64_C(1) << GENERATION_SHIFT) - 1)
#define AMOUNT ((UINT64_C(1) << AMOUNT_BITS) - 1)
#define ONE_UNDER_WAY (UINT64_C(1) << AMOUNT_BITS)
#define OVERLAPS (UINT64_C(1) << OVERLAPS_SHIFT)
#define UNDER_WAY (OVERLAPS - ONE_UNDER_WAY)

/* Part of the start of a boundary that can be used; one that is void is 0. */
#define IS_OPEN (UINT64_C(1) << AMOUNT_BITS)

/* Where a write began. */
struct boundary {
	_Atomic uint64_t start;         /* generation, IS_OPEN, and the amount before; 0: void */
	_Atomic uint64_t at_ns;
	_Atomic uint64_t who;           /* pid, tid and processor; 0: nobody */
	_Atomic uint64_t check;         /* of all of them, so that none is taken for another */
};

struct direction {
	_Atomic uint64_t writers, readers;
	_Atomic uint64_t newest;        /* boundary; changed by a write that is alone */
	_Atomic uint64_t broken;        /* 1, and a generation */
	uint64_t rest[4];
	struct boundary boundaries[BOUNDARIES];
};

struct stream {
	_Atomic uint64_t life;          /* generation, and bits: */
	_Atomic uint64_t names[STREAM_NAMES];
	uint64_t rest[4];
	struct direction directions[2];
};

enum { JOINED = 1, USED = 4 };          /* JOINED is two bits, of side 0 and 1 */

struct table {
	struct stream streams[STREAMS];
	/* Half of a name, and the side it names; the other half is in the stream. */
	_Atomic uint64_t names[NAME_SETS][NAME_WAYS];
	_Atomic uint64_t next;
};

/* A side: generation, whether it has messages, place, which of the two, kind. */
enum { KIND_BITS = 2, PLACE_SHIFT = 3, PLACE_BITS = 10, SIDE_GENERATION_SHIFT = 16 };

static_assert(STREAMS <= 1 << PLACE_BITS, "places");
static_assert(FXT_STREAM_BY_MESSAGE >= 1 << (PLACE_SHIFT + PLACE_BITS) && FXT_STREAM_BY_MESSAGE < 1 << SIDE_GENERATION_SHIFT &&
	      FXT_STREAM_KINDS <= 1 << KIND_BITS, "bits of a side");

extern struct table *fxt_stream_table __attribute__((visibility("hidden")));

/* -- Words ------------------------------------------------------------------------------------- */

static inline uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static inline uint64_t generation_of(fxt_stream side)
{
	return side >> SIDE_GENERATION_SHIFT;
}

static inline bool is_of(uint64_t word, fxt_stream side)
{
	return word >> GENERATION_SHIFT == generation_of(side);
}

static inline uint64_t word_of(fxt_stream side, uint64_t low)
{
	return generation_of(side) << GENERATION_SHIFT | low;
}

/* NULL: not one that this table has given out. */
static inline struct stream *stream_of(fxt_stream side)
{
	unsigned place = side >> PLACE_SHIFT & ((1u << PLACE_BITS) - 1);

	return fxt_stream_table && generation_of(side) && place < STREAMS ? &fxt_stream_table->streams[place] : NULL;
}

static inline unsigned which(fxt_stream side)
{
	return side >> KIND_BITS & 1;
}

#endif
