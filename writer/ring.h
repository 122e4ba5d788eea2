/* This keeps the order in which the chunks of a ring are overwritten. It is a queue of the chunks that
 * nobody holds, in the order in which they were given back. So a chunk that was held for long comes last,
 * because what was written to it may be among the newest.
 *
 * The queue has no lock: a thread that is preempted in it, or interrupted by a handler that uses it too,
 * holds up nobody. Threads wait for one thing only, which is a snapshot: see fxt_ring_take(). Any context
 * may call these functions.
 */
#ifndef FXT_RING_H
#define FXT_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FXT_RING_MAX_CHUNKS = (1 << 24) - 1 };   /* chunk numbers are below this, so they fit in 24 bits */

struct fxt_ring {
	/* position p has the place p % size: the chunk in the low 24 bits, p + 1 above them */
	_Atomic uint64_t *places;
	uint64_t size;                  /* a power of two, and at least the number of chunks */
	_Atomic uint64_t head, tail;    /* positions */
	/* the first position that may not be overwritten yet; UINT64_MAX while there is no snapshot */
	_Atomic uint64_t gate;
	atomic_uint gate_moves;         /* counts changes of the gate; threads sleep on it */
	atomic_uint gate_waiters;
};

/* Returns how many bytes of memory the places of so many chunks take. */
size_t fxt_ring_bytes(uint32_t chunks);

/* Makes an empty ring for chunks that are numbered from 0 to below `chunks`; they are given back later.
 * `memory` is zeroed and has fxt_ring_bytes(chunks). */
void fxt_ring_init(struct fxt_ring *ring, void *memory, uint32_t chunks);

/* Takes the chunk that was given back longest ago. While a snapshot is taken, waits until the snapshot has
 * read that chunk, and sets `*waited` if it had to wait. Returns false if threads hold all chunks. */
bool fxt_ring_take(struct fxt_ring *ring, uint32_t *chunk, bool *waited);

/* Gives back a chunk that the caller holds. */
void fxt_ring_give_back(struct fxt_ring *ring, uint32_t chunk);

/* These are for the one thread that takes a snapshot. fxt_ring_close() closes the gate, sets `*first` to
 * the position of the oldest chunk, and returns the position behind the newest one. The thread then reads
 * the chunks in this order: fxt_ring_at() tells which chunk is at a position, or returns false if that was
 * taken meanwhile. After each chunk fxt_ring_open() moves the gate to `before`, so that chunks before that
 * position may be overwritten; UINT64_MAX opens it for good. */
uint64_t fxt_ring_close(struct fxt_ring *ring, uint64_t *first);
bool fxt_ring_at(const struct fxt_ring *ring, uint64_t position, uint32_t *chunk);
void fxt_ring_open(struct fxt_ring *ring, uint64_t before);

/* Returns whether a snapshot is being taken, so that the gate holds threads up. */
static inline bool fxt_ring_is_closed(const struct fxt_ring *ring)
{
	return atomic_load_explicit(&ring->gate, memory_order_relaxed) != UINT64_MAX;
}

#endif
