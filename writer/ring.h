/* The order in which the chunks of a ring are overwritten: those that nobody holds, in the order in which
 * they were given back. A chunk that was held for long comes last then: what was written to it may be among
 * the newest.
 *
 * Without a lock: a thread that is preempted in here, or interrupted by a handler that comes here too, holds
 * up nobody. The one thing that is waited for is a snapshot: see fxt_ring_take(). Any context.
 */
#ifndef FXT_RING_H
#define FXT_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FXT_RING_MAX_CHUNKS = (1 << 24) - 1 };   /* their numbers are below */

struct fxt_ring {
	_Atomic uint64_t *places;       /* position p is at p % size: low 24 bits the chunk, above p + 1 */
	uint64_t size;                  /* at least as many as there are chunks; a power of two */
	_Atomic uint64_t head, tail;    /* positions */
	_Atomic uint64_t gate;          /* chunks at positions from here on are not to be overwritten yet; UINT64_MAX: none is */
	atomic_uint gate_moves;         /* for who waits for one */
	atomic_uint gate_waiters;
};

/* Bytes of memory for the places of so many chunks. */
size_t fxt_ring_bytes(uint32_t chunks);

/* Begins with nothing to take: so many chunks at most, numbered from 0, are given back some time. `memory` is
 * zeroed. */
void fxt_ring_init(struct fxt_ring *ring, void *memory, uint32_t chunks);

/* The chunk that was given back longest ago. While a snapshot is taken, waits until it has read that chunk,
 * and says so in `waited`. False: all are held. */
bool fxt_ring_take(struct fxt_ring *ring, uint32_t *chunk, bool *waited);

/* By who took it. */
void fxt_ring_give_back(struct fxt_ring *ring, uint32_t chunk);

/* For the one thread that takes a snapshot: closes the gate, then reads chunks in this order and opens the
 * gate behind each. From `*first` to the position returned; fxt_ring_at() says which chunk is there, false
 * for one that was taken meanwhile. */
uint64_t fxt_ring_close(struct fxt_ring *ring, uint64_t *first);
bool fxt_ring_at(const struct fxt_ring *ring, uint64_t position, uint32_t *chunk);
void fxt_ring_open(struct fxt_ring *ring, uint64_t before);

static inline bool fxt_ring_is_closed(const struct fxt_ring *ring)
{
	return atomic_load_explicit(&ring->gate, memory_order_relaxed) != UINT64_MAX;
}

#endif
