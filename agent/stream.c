/* See stream.h. */
#include "stream.h"

#include <assert.h>
#include <stdatomic.h>

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

/* Amounts, and the offset in a boundary, have 46 bits: 64 TiB. */
#define AMOUNT_MAX ((UINT64_C(1) << 46) - 1)
#define LOW_BITS ((UINT64_C(1) << GENERATION_SHIFT) - 1)

/* Who is under way: calls begun so far, modulo 2^32, above the count of those that have not ended. */
#define UNDER_WAY UINT64_C(0xffff)
#define BEGUN_SHIFT 16

/* What may be made of a boundary: in the low bits of its start. */
enum { BOUNDARY_VOID, BOUNDARY_PENDING, BOUNDARY_OPEN, BOUNDARY_DONE, BOUNDARY_BITS = 2 };

/* Where a write began. */
struct boundary {
	_Atomic uint64_t start;         /* generation, offset, and enum */
	_Atomic uint64_t at_ns;
	_Atomic uint64_t who;           /* pid and tid */
	_Atomic uint64_t check;         /* of all of them, so that none is taken for another */
};

struct direction {
	_Atomic uint64_t writers, readers;
	_Atomic uint64_t written, consumed;
	_Atomic uint64_t newest;        /* boundary; changed by a write that is alone */
	_Atomic uint64_t broken;        /* 1, and a generation */
	uint64_t rest[2];
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
	_Atomic uint64_t names[NAME_SETS][NAME_WAYS];   /* half of a name, and the side it names; the other half is in the stream */
	_Atomic uint64_t next;
};

/* A side: generation, place, which of the two, kind. */
enum { KIND_BITS = 2, PLACE_SHIFT = 3, PLACE_BITS = 10, SIDE_GENERATION_SHIFT = 16 };

static_assert(STREAMS <= 1 << PLACE_BITS, "places");
static_assert(PLACE_SHIFT + PLACE_BITS <= SIDE_GENERATION_SHIFT, "bits of a side");

static struct table *table;

void fxt_stream_use(void *memory, size_t bytes)
{
	table = bytes >= sizeof(*table) ? memory : NULL;
}

bool fxt_stream_any(void)
{
	return table && atomic_load(&table->next);
}

/* -- Words ------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static uint64_t generation_of(fxt_stream side)
{
	return side >> SIDE_GENERATION_SHIFT;
}

static bool is_of(uint64_t word, fxt_stream side)
{
	return word >> GENERATION_SHIFT == generation_of(side);
}

static uint64_t word_of(fxt_stream side, uint64_t low)
{
	return generation_of(side) << GENERATION_SHIFT | low;
}

/* NULL: not one that this table has given out. */
static struct stream *stream_of(fxt_stream side)
{
	unsigned place = side >> PLACE_SHIFT & ((1u << PLACE_BITS) - 1);

	return table && generation_of(side) && place < STREAMS ? &table->streams[place] : NULL;
}

static unsigned which(fxt_stream side)
{
	return side >> KIND_BITS & 1;
}

/* Sockets write to their own direction and read from the other's; all else has one. */
static struct direction *direction_of(fxt_stream side, bool writes)
{
	struct stream *stream = stream_of(side);

	if (!stream)
		return NULL;
	if (fxt_stream_kind_of(side) != FXT_STREAM_SOCKET)
		return &stream->directions[0];
	return &stream->directions[which(side) ^ !writes];
}

static void break_direction(struct direction *direction, fxt_stream side)
{
	atomic_store(&direction->broken, word_of(side, 1));
}

static bool is_broken(struct direction *direction, fxt_stream side)
{
	return atomic_load(&direction->broken) == word_of(side, 1);
}

/* False: it is another stream's by now, or too much. */
static bool add(_Atomic uint64_t *amount, fxt_stream side, uint64_t bytes)
{
	uint64_t was = atomic_load(amount);
	unsigned i;

	for (i = 0; i < TRIES; i++) {
		if (!is_of(was, side) || bytes > AMOUNT_MAX || (was & LOW_BITS) + bytes > AMOUNT_MAX)
			return false;
		if (atomic_compare_exchange_weak(amount, &was, was + bytes))
			return true;
	}
	return false;
}

/* One more is under way. `*was` is what was before. */
static bool begin(_Atomic uint64_t *calls, fxt_stream side, uint64_t *was)
{
	uint64_t next;
	unsigned i;

	*was = atomic_load(calls);
	for (i = 0; i < TRIES; i++) {
		if (!is_of(*was, side) || (*was & UNDER_WAY) == UNDER_WAY)
			return false;
		next = (*was & LOW_BITS) + (UINT64_C(1) << BEGUN_SHIFT) + 1;
		if (atomic_compare_exchange_weak(calls, was, word_of(side, next & LOW_BITS)))
			return true;
	}
	return false;
}

static uint32_t begun(uint64_t calls)
{
	return (uint32_t)(calls >> BEGUN_SHIFT);
}

/* Where this fails it stays under way for ever, and nobody is alone any more. */
static void end(_Atomic uint64_t *calls, fxt_stream side)
{
	uint64_t was = atomic_load(calls);
	unsigned i;

	for (i = 0; i < TRIES; i++)
		if (!is_of(was, side) || !(was & UNDER_WAY) || atomic_compare_exchange_weak(calls, &was, was - 1))
			return;
}

/* -- Boundaries -------------------------------------------------------------------------------- */

static uint64_t start_word(fxt_stream side, uint64_t offset, unsigned state)
{
	return word_of(side, offset << BOUNDARY_BITS | state);
}

static unsigned state_of(uint64_t start)
{
	return start & ((1u << BOUNDARY_BITS) - 1);
}

static uint64_t check_of(uint64_t start, uint64_t at_ns, uint64_t who)
{
	return mix(mix(start >> BOUNDARY_BITS) ^ mix(at_ns + 1) ^ who);
}

static bool change(struct boundary *boundary, uint64_t start, unsigned state)
{
	return atomic_compare_exchange_strong(&boundary->start, &start, (start >> BOUNDARY_BITS) << BOUNDARY_BITS | state);
}

/* Where a write begins that is alone so far; nobody else does this in the meantime. Not valid before it is known that nobody came
 * while it was told. */
static int32_t tell(struct direction *direction, fxt_stream side, const struct fxt_stream_writer *who, uint64_t offset,
		    uint32_t begins)
{
	uint64_t newest = atomic_load(&direction->newest) % BOUNDARIES;
	struct boundary *boundary = &direction->boundaries[newest];
	uint64_t start = start_word(side, offset, BOUNDARY_PENDING), writer = (uint64_t)who->pid << 32 | who->tid;

	/* One that was read, or of a write that failed, is of no more use. */
	if (state_of(atomic_load(&boundary->start)) != BOUNDARY_VOID) {
		newest = (newest + 1) % BOUNDARIES;
		boundary = &direction->boundaries[newest];
		atomic_store(&boundary->start, 0);
	}
	atomic_store_explicit(&boundary->at_ns, who->at_ns, memory_order_relaxed);
	atomic_store_explicit(&boundary->who, writer, memory_order_relaxed);
	atomic_store_explicit(&boundary->check, check_of(start, who->at_ns, writer), memory_order_relaxed);
	atomic_store(&direction->newest, newest);
	atomic_store(&boundary->start, start);
	/* Who began before this finds us alone no more; who begins later finds the boundary, and makes it void. */
	if (begun(atomic_load(&direction->writers)) == begins && change(boundary, start, BOUNDARY_OPEN))
		return (int32_t)newest;
	change(boundary, start, BOUNDARY_VOID);
	return -1;
}

/* Another write is under way: where its bytes are among those of this one is not known from here on. */
static void make_void(struct direction *direction, fxt_stream side)
{
	struct boundary *boundary = &direction->boundaries[atomic_load(&direction->newest) % BOUNDARIES];
	uint64_t start = atomic_load(&boundary->start);
	unsigned i;

	/* Twice at most: it becomes open only once. */
	for (i = 0; i < TRIES; i++) {
		if (!is_of(start, side) || (state_of(start) != BOUNDARY_PENDING && state_of(start) != BOUNDARY_OPEN))
			return;
		if (atomic_compare_exchange_weak(&boundary->start, &start, start_word(side, 0, BOUNDARY_VOID)))
			return;
	}
	break_direction(direction, side);
}

/* What began at `offset`, which nobody else gets from here on. */
static bool take(struct direction *direction, fxt_stream side, uint64_t offset, struct fxt_stream_writer *who)
{
	struct boundary *boundary;
	uint64_t start, writer;

	for (boundary = direction->boundaries; boundary < direction->boundaries + BOUNDARIES; boundary++) {
		start = atomic_load(&boundary->start);
		if (start != start_word(side, offset, BOUNDARY_OPEN) && start != start_word(side, offset, BOUNDARY_DONE))
			continue;
		who->at_ns = atomic_load_explicit(&boundary->at_ns, memory_order_relaxed);
		writer = atomic_load_explicit(&boundary->who, memory_order_relaxed);
		if (atomic_load_explicit(&boundary->check, memory_order_relaxed) != check_of(start, who->at_ns, writer))
			return false;
		if (!writer)
			return false;
		who->pid = (uint32_t)(writer >> 32);
		who->tid = (uint32_t)writer;
		/* It may be done meanwhile. */
		return change(boundary, start, BOUNDARY_VOID) ||
		       (state_of(start) == BOUNDARY_OPEN && change(boundary, start_word(side, offset, BOUNDARY_DONE), BOUNDARY_VOID));
	}
	return false;
}

/* -- Transfers --------------------------------------------------------------------------------- */

static void touch(fxt_stream side)
{
	struct stream *stream = stream_of(side);
	uint64_t life = atomic_load_explicit(&stream->life, memory_order_relaxed);

	if (!(life & USED))
		atomic_compare_exchange_strong(&stream->life, &life, life | USED);
}

void fxt_stream_write_begin(fxt_stream side, struct fxt_stream_writer who, struct fxt_transfer *transfer)
{
	struct direction *direction = direction_of(side, true);
	uint64_t was, written;

	*transfer = (struct fxt_transfer){.slot = -1};
	if (!direction || !begin(&direction->writers, side, &was))
		return;
	touch(side);
	transfer->stream = side;
	transfer->begins = begun(was) + 1;
	if (was & UNDER_WAY) {
		make_void(direction, side);
		return;
	}
	written = atomic_load(&direction->written);
	if (is_of(written, side) && !is_broken(direction, side))
		transfer->slot = tell(direction, side, &who, written & LOW_BITS, transfer->begins);
}

void fxt_stream_write_end(const struct fxt_transfer *transfer, int64_t moved)
{
	fxt_stream side = transfer->stream;
	struct direction *direction = direction_of(side, true);
	uint64_t start;

	if (!direction)
		return;
	if (moved > 0 && !add(&direction->written, side, (uint64_t)moved))
		break_direction(direction, side);
	if (transfer->slot >= 0 && transfer->slot < BOUNDARIES) {
		/* Void by now, if it was read or overlapped. */
		start = atomic_load(&direction->boundaries[transfer->slot].start);
		if (is_of(start, side) && state_of(start) == BOUNDARY_OPEN)
			change(&direction->boundaries[transfer->slot], start, moved > 0 ? BOUNDARY_DONE : BOUNDARY_VOID);
	}
	end(&direction->writers, side);
}

void fxt_stream_read_begin(fxt_stream side, struct fxt_transfer *transfer)
{
	struct direction *direction = direction_of(side, false);
	uint64_t was, consumed;

	*transfer = (struct fxt_transfer){.slot = -1};
	if (!direction || !begin(&direction->readers, side, &was))
		return;
	touch(side);
	consumed = atomic_load(&direction->consumed);
	transfer->stream = side;
	transfer->begins = begun(was) + 1;
	transfer->alone = !(was & UNDER_WAY) && is_of(consumed, side);
	transfer->offset = consumed & LOW_BITS;
	transfer->writers = atomic_load(&direction->writers);
}

/* Whether nobody else was reading. */
static bool was_alone(struct direction *direction, const struct fxt_transfer *transfer)
{
	return transfer->alone && begun(atomic_load(&direction->readers)) == transfer->begins &&
	       atomic_load(&direction->consumed) == word_of(transfer->stream, transfer->offset);
}

/* Looks for bytes that nobody saw: the call has read up to `offset`. */
static void audit(struct direction *direction, const struct fxt_transfer *transfer, uint64_t offset, bool emptied)
{
	uint64_t writers = atomic_load(&direction->writers), written = atomic_load(&direction->written);

	/* While somebody writes it is not known how much there is. */
	if (writers & UNDER_WAY || atomic_load(&direction->writers) != writers || !is_of(written, transfer->stream))
		return;
	if (offset > (written & LOW_BITS) || (emptied && writers == transfer->writers && offset != (written & LOW_BITS)))
		break_direction(direction, transfer->stream);
}

/* Whether what is not there when a read looks for it has been read, or not been written: on its way it is nowhere. */
static bool leaves_nothing(fxt_stream side)
{
	return fxt_stream_kind_of(side) == FXT_STREAM_PIPE || fxt_stream_kind_of(side) == FXT_STREAM_COUNT;
}

bool fxt_stream_read_end(const struct fxt_transfer *transfer, int64_t moved, bool emptied, struct fxt_stream_writer *who)
{
	fxt_stream side = transfer->stream;
	struct direction *direction = direction_of(side, false);
	uint64_t bytes = moved > 0 ? (uint64_t)moved : 0;
	bool alone, found = false;

	if (!direction)
		return false;
	alone = was_alone(direction, transfer);
	if (bytes && !add(&direction->consumed, side, bytes))
		break_direction(direction, side);
	if (alone) {
		audit(direction, transfer, transfer->offset + bytes, emptied && leaves_nothing(side));
		found = bytes && !is_broken(direction, side) && take(direction, side, transfer->offset, who);
	}
	end(&direction->readers, side);
	return found;
}

void fxt_stream_break(fxt_stream side, bool in, bool out)
{
	if (!stream_of(side))
		return;
	if (in)
		break_direction(direction_of(side, false), side);
	if (out)
		break_direction(direction_of(side, true), side);
}

void fxt_stream_reopened(fxt_stream side, uint64_t bytes)
{
	struct direction *direction = direction_of(side, false);
	uint64_t writers, readers, written, consumed;

	if (!direction)
		return;
	writers = atomic_load(&direction->writers);
	readers = atomic_load(&direction->readers);
	written = atomic_load(&direction->written);
	consumed = atomic_load(&direction->consumed);
	/* Those that use it now know how it stands. */
	if ((writers | readers) & UNDER_WAY || !is_of(written, side) || !is_of(consumed, side) || written - consumed == bytes ||
	    atomic_load(&direction->writers) != writers || atomic_load(&direction->readers) != readers)
		return;
	if (bytes || !atomic_compare_exchange_strong(&direction->consumed, &consumed, written))
		break_direction(direction, side);
}

/* -- Streams and names ------------------------------------------------------------------------- */

static void reset(struct direction *direction, fxt_stream side)
{
	atomic_store(&direction->writers, word_of(side, 0));
	atomic_store(&direction->readers, word_of(side, 0));
	atomic_store(&direction->written, word_of(side, 0));
	atomic_store(&direction->consumed, word_of(side, 0));
	atomic_store(&direction->broken, word_of(side, 0));
}

/* In the order in which they were made, but for those used since the last round. */
fxt_stream fxt_stream_make(enum fxt_stream_kind kind)
{
	struct stream *stream;
	uint64_t life, generation, place;
	fxt_stream side;
	unsigned i;

	for (i = 0; table && i < TRIES; i++) {
		place = atomic_fetch_add(&table->next, 1) % STREAMS;
		stream = &table->streams[place];
		life = atomic_load(&stream->life);
		if (life & USED && i < CANDIDATES) {
			atomic_compare_exchange_strong(&stream->life, &life, life & ~(uint64_t)USED);
			continue;
		}
		generation = (life >> GENERATION_SHIFT) % UINT16_MAX + 1;
		if (!atomic_compare_exchange_strong(&stream->life, &life, generation << GENERATION_SHIFT))
			continue;
		side = (fxt_stream)(generation << SIDE_GENERATION_SHIFT | place << PLACE_SHIFT | (unsigned)kind);
		reset(&stream->directions[0], side);
		reset(&stream->directions[1], side);
		return side;
	}
	return 0;
}

/* What a name comes to: its place and a part of it in the first, the rest in the second. Two names of one sum will not be met. */
struct sums {
	uint64_t place, rest;
};

static struct sums sums_of(struct fxt_stream_name name)
{
	return (struct sums){mix(mix(mix(name.what + 1) + name.a) + name.b), mix(mix(mix(name.b + 2) + name.a) + name.what)};
}

static _Atomic uint64_t *set_of(struct sums sums)
{
	return table->names[sums.place & (NAME_SETS - 1)];
}

/* The upper half of a name's word; the lower is its side. */
static uint64_t tag_of(struct sums sums)
{
	return sums.place & ~(uint64_t)UINT32_MAX;
}

/* The stream, if it is still there. */
static struct stream *alive(uint64_t word)
{
	struct stream *stream = stream_of((fxt_stream)word);

	return stream && is_of(atomic_load(&stream->life), (fxt_stream)word) ? stream : NULL;
}

static bool is_named(uint64_t word, struct sums sums)
{
	struct stream *stream = (word & ~(uint64_t)UINT32_MAX) == tag_of(sums) ? alive(word) : NULL;
	unsigned i;

	for (i = 0; stream && i < STREAM_NAMES; i++)
		if (atomic_load(&stream->names[i]) == sums.rest)
			return true;
	return false;
}

/* Where the name is, or where it can be put, and what is there now. */
static _Atomic uint64_t *look_up(struct sums sums, uint64_t *word, bool *found)
{
	_Atomic uint64_t *set = set_of(sums), *place = NULL;
	uint64_t here;
	unsigned i;

	for (i = 0; i < NAME_WAYS; i++) {
		here = atomic_load(&set[i]);
		*found = is_named(here, sums);
		if (*found || (!place && !alive(here))) {
			place = &set[i];
			*word = here;
		}
		if (*found)
			return place;
	}
	if (!place) {
		place = &set[sums.rest % NAME_WAYS];
		*word = atomic_load(place);
	}
	return place;
}

fxt_stream fxt_stream_find(struct fxt_stream_name name)
{
	uint64_t word;
	bool found = false;

	if (table)
		look_up(sums_of(name), &word, &found);
	return found ? (fxt_stream)word : 0;
}

void fxt_stream_call(struct fxt_stream_name name, fxt_stream side)
{
	struct stream *stream = stream_of(side);
	struct sums sums = sums_of(name);
	_Atomic uint64_t *place;
	uint64_t word;
	bool found;
	unsigned i;

	if (!stream)
		return;
	atomic_store(&stream->names[1 + which(side)], sums.rest);
	for (i = 0; i < TRIES; i++) {
		place = look_up(sums, &word, &found);
		if (atomic_compare_exchange_strong(place, &word, tag_of(sums) | side))
			return;
	}
}

/* Whether the stream is for this side, which has not come to it before. */
static bool enter(uint64_t word, int side)
{
	struct stream *stream = stream_of((fxt_stream)word);
	uint64_t bit = side < 0 ? 0 : (uint64_t)JOINED << side, life = atomic_load(&stream->life);
	unsigned i;

	for (i = 0; i < TRIES; i++) {
		if (!is_of(life, (fxt_stream)word) || life & bit)
			return false;
		if (atomic_compare_exchange_weak(&stream->life, &life, life | bit))
			return true;
	}
	return false;
}

fxt_stream fxt_stream_join(struct fxt_stream_name name, enum fxt_stream_kind kind, int side)
{
	struct sums sums = sums_of(name);
	fxt_stream made = 0, first;
	_Atomic uint64_t *place;
	uint64_t word;
	bool found;
	unsigned i;

	for (i = 0; table && i < TRIES; i++) {
		place = look_up(sums, &word, &found);
		first = (fxt_stream)word;
		if (!found || !enter(word, side)) {
			if (!made) {
				made = fxt_stream_make(kind);
				if (!made)
					return 0;
				atomic_store(&stream_of(made)->names[0], sums.rest);
				enter(made, side);
			}
			/* Whoever was quicker made it for both. */
			if (!atomic_compare_exchange_strong(place, &word, tag_of(sums) | made))
				continue;
			first = made;
		}
		return side > 0 ? fxt_stream_other(first) : first;
	}
	return 0;
}
