/* Heap blocks that have a lifetime (memory_life.h) and a name (label.h), by their address: from
 * FXT_HEAP_TRACK_BYTES on. A bounded table without a lock; a block that finds no place in it has neither.
 *
 * Whoever frees a block takes it out before the real free(): afterwards the address may be another thread's.
 * Any context.
 */
#ifndef FXT_BLOCKS_H
#define FXT_BLOCKS_H

#include "memory_life.h"

struct fxt_block {
	struct fxt_life life;           /* its id is 0 where it has none */
	struct fxt_label label;
};

/* The calling thread has got a block at since_ns, by a call that returns to `place`; and just now, where the
 * allocator's wrappers have no register for the time. */
FXT_COLD void fxt_block_came_at(struct fxt_thread *thread, const void *block, size_t bytes, uintptr_t place, uint64_t since_ns);
FXT_COLD void fxt_block_came(struct fxt_thread *thread, const void *block, size_t bytes, uintptr_t place);

/* It is about to give it back. */
struct fxt_block fxt_block_take(const void *block);

/* It has not: realloc() failed. */
void fxt_block_put_back(const void *block, const struct fxt_block *taken);

/* It has, by a call that was over at end_ns. */
void fxt_block_gone(struct fxt_thread *thread, const struct fxt_block *taken, uint64_t end_ns);

/* In the child of a fork: what it has of its parent began in another trace. */
void fxt_blocks_after_fork(void);

#endif
