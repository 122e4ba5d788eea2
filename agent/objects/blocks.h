/* These functions keep the heap blocks that have a lifetime (memory_life.h) and a name (label.h): those of
 * FXT_HEAP_TRACK_BYTES or more, and smaller ones that are drawn as samples, without a name. They are found by
 * their address in a bounded table without a lock. A block that finds no place there or in the trace has
 * neither, and is counted (FXT_LOSS_BLOCKS).
 *
 * The wrappers of the allocator call this, in any context. A block is taken out of the table before the real
 * free(), because another thread may get the address after it.
 */
#ifndef FXT_BLOCKS_H
#define FXT_BLOCKS_H

#include "memory_life.h"

struct fxt_block {
	struct fxt_memory_life life;           /* its id is 0 if the block has no lifetime */
	struct fxt_label label;
	bool is_sample;
};

/* How many samples have each hash of an address, up to 255 for good. */
enum { FXT_BLOCK_SAMPLE_HASHES = 1 << 14 };
extern _Atomic uint8_t fxt_block_samples[FXT_BLOCK_SAMPLE_HASHES] __attribute__((visibility("hidden")));

/* Returns whether a block may be a sample. If it is none, this is nearly always false. */
static inline bool fxt_block_may_be_sample(const void *block)
{
	size_t hash = (uintptr_t)block * UINT64_C(0x9e3779b97f4a7c15) >> 50;

	return atomic_load_explicit(&fxt_block_samples[hash], memory_order_relaxed) != 0;
}

/* Called when a thread has asked for as many bytes as there were until a byte is drawn: thread->bytes
 * .until_sample is below 0. Enters `block`, for which `bytes` bytes were asked, as a sample (poisson.h),
 * unless these were the thread's first bytes and none is drawn. The second function is as for blocks that
 * came. */
FXT_COLD void fxt_block_drawn_at(struct fxt_thread *thread, const void *block, size_t bytes,
				 uint64_t since_ns);
FXT_COLD void fxt_block_drawn(struct fxt_thread *thread, const void *block, size_t bytes);

/* Enters a block that the calling thread got at since_ns, by a wrapper whose frame is `frame`. The second
 * function takes the thread's last time for since_ns, because the allocator's wrappers have no register free
 * for a time. */
FXT_COLD void fxt_block_came_at(struct fxt_thread *thread, const void *block, size_t bytes,
				const uintptr_t *frame, uint64_t since_ns);
FXT_COLD void fxt_block_came(struct fxt_thread *thread, const void *block, size_t bytes,
			     const uintptr_t *frame);

/* Takes a block out of the table that is about to be freed. Returns what was known of it. */
struct fxt_block fxt_block_take(const void *block);

/* Puts a block back that fxt_block_take() has taken, because realloc() failed and the block is still
 * there. */
void fxt_block_put_back(const void *block, const struct fxt_block *taken);

/* Ends the lifetime of a block that was taken: the call that freed it was over at end_ns. */
void fxt_block_gone(struct fxt_thread *thread, const struct fxt_block *taken, uint64_t end_ns);

/* Empties the table because recording begins again. */
void fxt_blocks_again(void);

#endif
