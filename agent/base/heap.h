/* The use of the heap: how much of it the process has (the counter "heap bytes"), and which heap blocks have
 * a lifetime.
 *
 * The wrappers of the allocator add the usable size of each block that a thread gets to thread->bytes.heap,
 * and subtract that of each block that it frees. The allocator itself tells the sizes, because a call that
 * frees a block does not. The sum of all threads is what the process has got and not freed since recording
 * began. A block from before that time is subtracted when it is freed, so the sum may be less than 0. The
 * child of a fork goes on with its parent's sum.
 *
 * interpose/memory/heap_sizes.c sets this once, and every wrapper of the allocator reads it.
 */
#ifndef FXT_HEAP_H
#define FXT_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct fxt_heap {
	/* A bit for each function of interpose/tables/malloc.def whose blocks have a size that can be asked
	 * for. It is 0 if sizes are not wanted, or if the allocator does not tell them. */
	uint32_t sized;
	size_t track_bytes;             /* blocks of this size or more have a lifetime; SIZE_MAX: none has */
	/* Returns the size of a block, or of a pointer that the program takes for one. It reads no more
	 * memory than the allocator's own free() reads first. It may not be called with NULL. */
	size_t (*size_of)(void *block);
};

extern struct fxt_heap fxt_heap __attribute__((visibility("hidden")));

#endif
