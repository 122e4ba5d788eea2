/* See byte_stream.h. Counts what each call moves, and finds who wrote the bytes that a read got. */
#include "byte_stream_table.h"

/* -- Directions -------------------------------------------------------------------------------- */

/* Returns the direction that a call of this side writes to or reads from. A socket writes to its own
 * direction and reads from the other side's; other streams have one direction. */
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

/* Counts one more call as under way; `*was` gets the word before that. Returns false if the stream has
 * another generation by now, or if too many calls are under way. */
static bool begin(_Atomic uint64_t *calls, fxt_stream side, uint64_t *was)
{
	uint64_t next;
	unsigned i;

	*was = atomic_load(calls);
	for (i = 0; i < TRIES; i++) {
		if (!is_of(*was, side) || (*was & UNDER_WAY) == UNDER_WAY)
			return false;
		next = *was & UNDER_WAY ? *was | OVERLAPS : *was & ~OVERLAPS;
		if (atomic_compare_exchange_weak(calls, was, next + ONE_UNDER_WAY))
			return true;
	}
	return false;
}

/* Counts what a call that is over has moved; `*was` gets the word before that. The boundary, if there is one,
 * becomes void first if nothing was moved or if another call overlapped, so that no reader finds it. If this
 * fails, the call stays under way for ever, and no other call is alone any more. */
static bool end(_Atomic uint64_t *calls, fxt_stream side, uint32_t moved, struct boundary *boundary,
		uint64_t *was)
{
	uint64_t next;
	unsigned i;

	*was = atomic_load(calls);
	for (i = 0; i < TRIES; i++) {
		if (!is_of(*was, side) || !(*was & UNDER_WAY))
			return false;
		if (boundary && (!moved || *was & OVERLAPS))
			atomic_store_explicit(&boundary->start, 0, memory_order_release);
		next = ((*was & ~AMOUNT) | ((*was + moved) & AMOUNT)) - ONE_UNDER_WAY;
		if (!(next & UNDER_WAY))
			next &= ~OVERLAPS;
		if (atomic_compare_exchange_weak(calls, was, next))
			return true;
	}
	return false;
}

/* Returns what the word counts for a call that has moved so much. A call that moved more than 2 GiB breaks
 * its direction. */
static uint32_t counted(struct direction *direction, fxt_stream side, int64_t moved)
{
	if (moved > INT32_MAX)
		break_direction(direction, side);
	return moved > 0 && moved <= INT32_MAX ? (uint32_t)moved : 0;
}

/* Returns how much more was written than read. */
static int32_t ahead(uint64_t writers, uint64_t readers)
{
	return (int32_t)((uint32_t)writers - (uint32_t)readers);
}

/* -- Boundaries -------------------------------------------------------------------------------- */

enum { ID_BITS = 22, CPU_BITS = 64 - 2 * ID_BITS };

static uint64_t pack(const struct fxt_stream_writer *who)
{
	const uint64_t cpu = who->cpu_and_1 >> CPU_BITS ? 0 : who->cpu_and_1;

	if (who->pid >> ID_BITS || who->tid >> ID_BITS)
		return 0;
	return ((uint64_t)who->pid << ID_BITS | who->tid) << CPU_BITS | cpu;
}

static void unpack(uint64_t writer, struct fxt_stream_writer *who)
{
	who->pid = (uint32_t)(writer >> (ID_BITS + CPU_BITS));
	who->tid = (uint32_t)(writer >> CPU_BITS) & ((1u << ID_BITS) - 1);
	who->cpu_and_1 = (uint32_t)writer & ((1u << CPU_BITS) - 1);
}

static uint64_t check_of(uint64_t start, uint64_t at_ns, uint64_t who)
{
	return mix(start + at_ns * UINT64_C(0x9e3779b97f4a7c15) + who * UINT64_C(0xc2b2ae3d27d4eb4f));
}

/* Returns the number of the newest boundary. The memory is shared, so any number may stand there. */
static unsigned newest_of(struct direction *direction)
{
	uint64_t newest = atomic_load_explicit(&direction->newest, memory_order_relaxed);

	return newest < BOUNDARIES ? (unsigned)newest : 0;
}

/* Stores the boundary at which a write begins that was alone then, and returns the boundary's number. Nobody
 * else stores to boundaries until this write has ended, since nobody else is alone. Another write may have
 * begun already: readers see that by the direction's word. */
static int32_t tell(struct direction *direction, fxt_stream side, const struct fxt_stream_writer *who,
		    uint64_t amount)
{
	uint64_t start = word_of(side, IS_OPEN | amount), writer = pack(who);
	unsigned number = newest_of(direction);
	struct boundary *boundary;

	/* The boundary of a write that moved nothing is used again. */
	if (atomic_load_explicit(&direction->boundaries[number].start, memory_order_relaxed))
		number = number + 1 < BOUNDARIES ? number + 1 : 0;
	boundary = &direction->boundaries[number];
	atomic_store_explicit(&boundary->start, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&boundary->at_ns, who->at_ns, memory_order_relaxed);
	atomic_store_explicit(&boundary->who, writer, memory_order_relaxed);
	atomic_store_explicit(&boundary->check, check_of(start, who->at_ns, writer), memory_order_relaxed);
	atomic_store_explicit(&direction->newest, number, memory_order_relaxed);
	atomic_store_explicit(&boundary->start, start, memory_order_release);
	return (int32_t)number;
}

/* Returns whether the write of this boundary was alone, and the boundary, which began with `start`, is still
 * that write's. While a write is under way, its boundary is the newest, and the direction's word says whether
 * another write overlaps it. If one did, the write makes its boundary void before it ends, and no other
 * boundary becomes the newest before it has ended. So a reader that finds another boundary newest, or no
 * overlap because all have ended, finds a void boundary on the second look. */
static bool is_alone(struct direction *direction, unsigned number, uint64_t start)
{
	if (newest_of(direction) == number && atomic_load(&direction->writers) & OVERLAPS)
		return false;
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&direction->boundaries[number].start, memory_order_relaxed) == start;
}

/* Finds who wrote the bytes that begin behind `amount`. The newest boundary is looked at first, because a
 * reader that keeps up needs that one. */
static bool find(struct direction *direction, fxt_stream side, uint64_t amount, struct fxt_stream_writer *who)
{
	const uint64_t start = word_of(side, IS_OPEN | amount);
	unsigned i, number = newest_of(direction);
	struct boundary *boundary;
	uint64_t writer, check;

	for (i = 0; i < BOUNDARIES; i++, number = (number ? number : BOUNDARIES) - 1) {
		boundary = &direction->boundaries[number];
		if (atomic_load_explicit(&boundary->start, memory_order_acquire) != start)
			continue;
		who->at_ns = atomic_load_explicit(&boundary->at_ns, memory_order_relaxed);
		writer = atomic_load_explicit(&boundary->who, memory_order_relaxed);
		check = atomic_load_explicit(&boundary->check, memory_order_relaxed);
		if (!writer || check != check_of(start, who->at_ns, writer) ||
		    !is_alone(direction, number, start))
			return false;
		unpack(writer, who);
		return true;
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
	uint64_t was;

	*transfer = (struct fxt_transfer){.boundary = -1};
	if (!direction || !begin(&direction->writers, side, &was))
		return;
	touch(side);
	transfer->stream = side;
	if (!(was & UNDER_WAY) && !is_broken(direction, side))
		transfer->boundary = tell(direction, side, &who, was & AMOUNT);
}

void fxt_stream_write_end(const struct fxt_transfer *transfer, int64_t moved)
{
	struct direction *direction = direction_of(transfer->stream, true);
	struct boundary *boundary = NULL;
	uint64_t was;

	if (!direction)
		return;
	if (transfer->boundary >= 0 && transfer->boundary < BOUNDARIES)
		boundary = &direction->boundaries[transfer->boundary];
	end(&direction->writers, transfer->stream, counted(direction, transfer->stream, moved), boundary,
	    &was);
}

void fxt_stream_read_begin(fxt_stream side, struct fxt_transfer *transfer)
{
	struct direction *direction = direction_of(side, false);
	uint64_t was;

	*transfer = (struct fxt_transfer){.boundary = -1};
	if (!direction || !begin(&direction->readers, side, &was))
		return;
	touch(side);
	transfer->stream = side;
	transfer->writers = atomic_load(&direction->writers);
}

/* Breaks the direction if bytes were moved that nobody saw. `readers` says how much has been read. */
static void audit(struct direction *direction, const struct fxt_transfer *transfer, uint64_t readers,
		  bool emptied)
{
	uint64_t writers = atomic_load(&direction->writers);
	int32_t left = ahead(writers, readers);

	/* While somebody writes, it is not known how much there is. */
	if (writers & UNDER_WAY || !is_of(writers, transfer->stream))
		return;
	if (left < 0 || (left && emptied && writers == transfer->writers))
		break_direction(direction, transfer->stream);
}

/* Returns whether bytes that a read does not find have been read, or have not been written. Only in sockets
 * bytes may be on their way. */
static bool leaves_nothing(fxt_stream side)
{
	return fxt_stream_kind_of(side) == FXT_STREAM_PIPE || fxt_stream_kind_of(side) == FXT_STREAM_COUNT;
}

bool fxt_stream_read_end(const struct fxt_transfer *transfer, int64_t moved, bool emptied,
			 struct fxt_stream_writer *who)
{
	fxt_stream side = transfer->stream;
	struct direction *direction = direction_of(side, false);
	uint32_t bytes;
	uint64_t was;

	if (!direction)
		return false;
	bytes = counted(direction, side, moved);
	if (!end(&direction->readers, side, bytes, NULL, &was) || was & OVERLAPS)
		return false;
	audit(direction, transfer, was + bytes, emptied && leaves_nothing(side));
	return bytes && !is_broken(direction, side) && find(direction, side, was & AMOUNT, who);
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

struct fxt_stream_moment fxt_stream_look(fxt_stream side)
{
	struct direction *direction = direction_of(side, false);

	if (!direction)
		return (struct fxt_stream_moment){0};
	return (struct fxt_stream_moment){
		.writers = atomic_load(&direction->writers),
		.readers = atomic_load(&direction->readers),
	};
}

bool fxt_stream_holds(fxt_stream side, uint64_t bytes)
{
	struct fxt_stream_moment moment = fxt_stream_look(side);

	return (moment.writers | moment.readers) & UNDER_WAY ||
	       (uint32_t)ahead(moment.writers, moment.readers) == (uint32_t)bytes;
}

void fxt_stream_reopened(fxt_stream side, struct fxt_stream_moment moment, uint64_t bytes)
{
	struct direction *direction = direction_of(side, false);

	/* If the stream was in use meanwhile, its words are right. */
	if (!direction || (moment.writers | moment.readers) & UNDER_WAY ||
	    atomic_load(&direction->writers) != moment.writers ||
	    atomic_load(&direction->readers) != moment.readers)
		return;
	if (!is_of(moment.writers, side) || !is_of(moment.readers, side) ||
	    (uint32_t)ahead(moment.writers, moment.readers) == (uint32_t)bytes)
		return;
	if (bytes || !atomic_compare_exchange_strong(&direction->readers, &moment.readers, moment.writers))
		break_direction(direction, side);
}
