/* See stream.h: what is counted around each call. */
#include "stream_table.h"

/* -- Directions -------------------------------------------------------------------------------- */

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
	return mix(mix(start >> BOUNDARY_BITS) ^ mix(at_ns + 1) ^ who);
}

static bool change(struct boundary *boundary, uint64_t start, unsigned state)
{
	return atomic_compare_exchange_strong(&boundary->start, &start, (start >> BOUNDARY_BITS) << BOUNDARY_BITS | state);
}

/* Where a write begins that is alone so far; nobody else does this in the meantime. Not valid before it is
 * known that nobody came while it was told. */
static int32_t tell(struct direction *direction, fxt_stream side, const struct fxt_stream_writer *who, uint64_t offset,
		    uint32_t begins)
{
	uint64_t newest = atomic_load(&direction->newest) % BOUNDARIES;
	struct boundary *boundary = &direction->boundaries[newest];
	uint64_t start = start_word(side, offset, BOUNDARY_PENDING), writer = pack(who);

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
	/* Who began before this finds us alone no more; who begins later finds the boundary, and makes it
	 * void. */
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
		unpack(writer, who);
		/* It may be done meanwhile. */
		if (change(boundary, start, BOUNDARY_VOID))
			return true;
		start = state_of(start) == BOUNDARY_OPEN ? start_word(side, offset, BOUNDARY_DONE) : 0;
		return start && change(boundary, start, BOUNDARY_VOID);
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

/* Whether what is not there when a read looks for it has been read, or not been written: on its way it is
 * nowhere. */
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

struct fxt_stream_moment fxt_stream_look(fxt_stream side)
{
	struct direction *direction = direction_of(side, false);

	if (!direction)
		return (struct fxt_stream_moment){0};
	return (struct fxt_stream_moment){
		.writers = atomic_load(&direction->writers),
		.readers = atomic_load(&direction->readers),
		.written = atomic_load(&direction->written),
		.consumed = atomic_load(&direction->consumed),
	};
}

bool fxt_stream_holds(fxt_stream side, uint64_t bytes)
{
	struct fxt_stream_moment moment = fxt_stream_look(side);

	return (moment.writers | moment.readers) & UNDER_WAY || moment.written - moment.consumed == bytes;
}

void fxt_stream_reopened(fxt_stream side, struct fxt_stream_moment moment, uint64_t bytes)
{
	struct direction *direction = direction_of(side, false);

	/* Those that use it now know how it stands. */
	if (!direction || (moment.writers | moment.readers) & UNDER_WAY ||
	    atomic_load(&direction->writers) != moment.writers || atomic_load(&direction->readers) != moment.readers)
		return;
	if (!is_of(moment.written, side) || !is_of(moment.consumed, side) || moment.written - moment.consumed == bytes)
		return;
	if (bytes || !atomic_compare_exchange_strong(&direction->consumed, &moment.consumed, moment.written))
		break_direction(direction, side);
}
