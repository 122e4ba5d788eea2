/* Implements the queue of ring.h without locks. Any context may call this.
 *
 * A thread that gives a chunk back draws a position from the tail, and fills the place of that position. If
 * the thread that takes from this position next finds the place still empty, it fills it with NONE and goes
 * on; the other thread then draws another position. */
#include "ring.h"

#include "lock.h"

enum { CHUNK_BITS = 24, NONE = FXT_RING_MAX_CHUNKS };

static uint64_t place(uint64_t position, uint32_t chunk)
{
	return (position + 1) << CHUNK_BITS | chunk;
}

static uint64_t round_of(uint64_t filled)
{
	return filled >> CHUNK_BITS;
}

size_t fxt_ring_bytes(uint32_t chunks)
{
	size_t size = 1;

	while (size < chunks)
		size *= 2;
	return size * sizeof(uint64_t);
}

void fxt_ring_init(struct fxt_ring *ring, void *memory, uint32_t chunks)
{
	ring->places = memory;
	ring->size = fxt_ring_bytes(chunks) / sizeof(uint64_t);
	ring->gate = UINT64_MAX;
}

static void wait_at_gate(struct fxt_ring *ring, uint64_t position)
{
	unsigned moves;

	atomic_fetch_add(&ring->gate_waiters, 1);
	for (;;) {
		moves = atomic_load(&ring->gate_moves);
		if (position < atomic_load(&ring->gate))
			break;
		FXT_SYSCALL4(SYS_futex, &ring->gate_moves, FXT_FUTEX_WAIT, moves, NULL);
	}
	atomic_fetch_sub(&ring->gate_waiters, 1);
}

bool fxt_ring_take(struct fxt_ring *ring, uint32_t *chunk, bool *waited)
{
	uint64_t position = atomic_load(&ring->head), filled;
	_Atomic uint64_t *at;

	for (;;) {
		if (position == atomic_load(&ring->tail))
			return false;
		at = &ring->places[position % ring->size];
		filled = atomic_load(at);
		if (round_of(filled) < position + 1) {
			/* The place is filled now, whether this has succeeded or not. */
			atomic_compare_exchange_strong(at, &filled, place(position, NONE));
			continue;
		}
		if (!atomic_compare_exchange_strong(&ring->head, &position, position + 1))
			continue;
		*chunk = (uint32_t)filled & FXT_RING_MAX_CHUNKS;
		if (*chunk != NONE)
			break;
		position++;
	}
	*waited = position >= atomic_load(&ring->gate);
	if (*waited)
		wait_at_gate(ring, position);
	return true;
}

void fxt_ring_give_back(struct fxt_ring *ring, uint32_t chunk)
{
	uint64_t position, filled;
	_Atomic uint64_t *at;

	do {
		position = atomic_fetch_add(&ring->tail, 1);
		at = &ring->places[position % ring->size];
		filled = atomic_load(at);
	} while (round_of(filled) >= position + 1 ||
		 !atomic_compare_exchange_strong(at, &filled, place(position, chunk)));
}

uint64_t fxt_ring_close(struct fxt_ring *ring, uint64_t *first)
{
	/* The gate is closed for all positions before the head is read, so no thread can take a later
	 * position and pass. */
	atomic_store(&ring->gate, 0);
	*first = atomic_load(&ring->head);
	fxt_ring_open(ring, *first);
	return atomic_load(&ring->tail);
}

bool fxt_ring_at(const struct fxt_ring *ring, uint64_t position, uint32_t *chunk)
{
	uint64_t filled = atomic_load(&ring->places[position % ring->size]);

	*chunk = (uint32_t)filled & FXT_RING_MAX_CHUNKS;
	return round_of(filled) == position + 1 && *chunk != NONE;
}

void fxt_ring_open(struct fxt_ring *ring, uint64_t before)
{
	atomic_store(&ring->gate, before);
	atomic_fetch_add(&ring->gate_moves, 1);
	if (atomic_load(&ring->gate_waiters))
		FXT_SYSCALL3(SYS_futex, &ring->gate_moves, FXT_FUTEX_WAKE, INT32_MAX);
}
