/* Heap blocks that have a lifetime (life.h), by their address: from FXT_HEAP_TRACK_BYTES on. A bounded table without a lock; a
 * block that finds no place in it has no lifetime.
 *
 * Whoever frees a block takes it out before the real free(): afterwards the address may be another thread's. Any context.
 */
#ifndef FXT_BLOCKS_H
#define FXT_BLOCKS_H

#include "memory_life.h"

/* The calling thread has got a block, by a call that returns to `place`. */
FXT_COLD void fxt_block_came(struct fxt_thread *thread, const void *block, size_t bytes, uintptr_t place);

/* It is about to give it back. Its id is 0 where it has no lifetime. */
struct fxt_life fxt_block_take(const void *block);

/* It has not: realloc() failed. */
void fxt_block_put_back(const void *block, struct fxt_life life);

/* It has. */
void fxt_block_gone(struct fxt_thread *thread, struct fxt_life life);

/* In the child of a fork: what it has of its parent began in another trace. */
void fxt_blocks_after_fork(void);

#endif
