/* The layout of streams in the memory that processes share, for byte_stream.c, which counts what is moved,
 * and byte_stream_names.c, which makes and finds streams. */
#ifndef FXT_BYTE_STREAM_TABLE_H
#define FXT_BYTE_STREAM_TABLE_H

#include <assert.h>
#include <stdatomic.h>

#include "byte_stream.h"

/* -- Layout ------------------------------------------------------------------------------------ */

enum {
	/* boundaries of a direction; a read that lags behind by more writes finds none */
	BOUNDARIES = 12,
	STREAMS = 768,
	STREAM_NAMES = 3,               /* one of the connection, and one of each side */
	NAME_WAYS = 4,                  /* the places that a name may have */
	NAME_SETS = 1024,
	CANDIDATES = 8,                 /* the streams that are looked at for one that was not used of late */
	/* tries of a compare-and-exchange; each that fails was the success of another thread */
	TRIES = 1000,
	GENERATION_SHIFT = 48,          /* the place of the generation in every word */
};

/* The layout of a direction's two words, one for its writers and one for its readers:
 *
 *	generation 16 | overlaps 1 | calls under way 15 | amount 32
 *
 * The amount is how much the calls that have ended moved, modulo 4 GiB: no stream holds so much. `overlaps`
 * is set while a call is under way that is not alone, or was not. A call that finds it clear at its end was
 * alone all the time.
 */
enum { AMOUNT_BITS = 32, OVERLAPS_SHIFT = GENERATION_SHIFT - 1 };
#define LOW_BITS ((UINT64_C(1) << GENERATION_SHIFT) - 1)
#define AMOUNT ((UINT64_C(1) << AMOUNT_BITS) - 1)
#define ONE_UNDER_WAY (UINT64_C(1) << AMOUNT_BITS)
#define OVERLAPS (UINT64_C(1) << OVERLAPS_SHIFT)
#define UNDER_WAY (OVERLAPS - ONE_UNDER_WAY)

/* A bit in the start of a boundary that can be used. A void boundary's start is 0. */
#define IS_OPEN (UINT64_C(1) << AMOUNT_BITS)

/* A boundary: the point at which a write began. */
struct boundary {
	_Atomic uint64_t start;         /* generation, IS_OPEN, and the amount in front of it; 0: void */
	_Atomic uint64_t at_ns;
	_Atomic uint64_t who;           /* pid, tid and processor; 0: not known */
	/* a checksum of the other members, so that a half-changed boundary is not used */
	_Atomic uint64_t check;
};

struct direction {
	_Atomic uint64_t writers, readers;
	/* the newest boundary's number; only a write that is alone changes it */
	_Atomic uint64_t newest;
	_Atomic uint64_t broken;        /* 1 and a generation: this stream's direction is broken */
	uint64_t rest[4];
	struct boundary boundaries[BOUNDARIES];
};

struct stream {
	_Atomic uint64_t life;          /* generation, and the bits JOINED and USED */
	_Atomic uint64_t names[STREAM_NAMES];
	uint64_t rest[4];
	struct direction directions[2];
};

enum { JOINED = 1, USED = 4 };          /* JOINED is two bits, for side 0 and 1 */

struct table {
	struct stream streams[STREAMS];
	/* half of a name, and the side that it names; the other half is in the stream */
	_Atomic uint64_t names[NAME_SETS][NAME_WAYS];
	_Atomic uint64_t next;
};

/* The layout of a side: generation, whether it has messages, place, which of the two sides, kind. */
enum { KIND_BITS = 2, PLACE_SHIFT = 3, PLACE_BITS = 10, SIDE_GENERATION_SHIFT = 16 };

static_assert(STREAMS <= 1 << PLACE_BITS, "places");
static_assert(FXT_STREAM_BY_MESSAGE >= 1 << (PLACE_SHIFT + PLACE_BITS) &&
	      FXT_STREAM_BY_MESSAGE < 1 << SIDE_GENERATION_SHIFT && FXT_STREAM_KINDS <= 1 << KIND_BITS,
	      "bits of a side");

extern struct table *fxt_stream_table __attribute__((visibility("hidden")));

/* -- Words ------------------------------------------------------------------------------------- */

/* Returns a hash of all bits of x. */
static inline uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

/* Returns the generation of the stream that this is a side of. */
static inline uint64_t generation_of(fxt_stream side)
{
	return side >> SIDE_GENERATION_SHIFT;
}

/* Tells whether a word of shared memory is about the present use of this stream. */
static inline bool is_of(uint64_t word, fxt_stream side)
{
	return word >> GENERATION_SHIFT == generation_of(side);
}

/* Returns the word with this stream's generation and these lower bits. */
static inline uint64_t word_of(fxt_stream side, uint64_t low)
{
	return generation_of(side) << GENERATION_SHIFT | low;
}

/* Returns the stream that this is a side of. Returns NULL if the table has given out no such side. */
static inline struct stream *stream_of(fxt_stream side)
{
	unsigned place = side >> PLACE_SHIFT & ((1u << PLACE_BITS) - 1);

	return fxt_stream_table && generation_of(side) && place < STREAMS
		? &fxt_stream_table->streams[place] : NULL;
}

/* Returns which of the two sides this is: 0 or 1. */
static inline unsigned which(fxt_stream side)
{
	return side >> KIND_BITS & 1;
}

#endif
