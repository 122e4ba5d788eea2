/* What the process has of the heap (the counter "heap bytes"), and which of its blocks have a lifetime.
 *
 * Each thread's wrappers add up the usable sizes of the blocks it got, and take off those of the blocks it
 * gave back (thread->heap_bytes): as the allocator itself says them, since who frees a block says no size.
 * The sum of all threads is what the process has got and not given back since recording began; a block from
 * before takes its size off when it is freed, so it may be less than 0. The child of a fork goes on with its
 * parent's.
 *
 * Set once by interpose/memory/heap_sizes.c, read by every wrapper of the allocator.
 */
#ifndef FXT_HEAP_H
#define FXT_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct fxt_heap {
	/* A bit for each function of interpose/tables/malloc.def whose blocks have a size that can be asked for; 0:
	 * nobody wants to know, or the allocator does not say. */
	uint32_t sized;
	size_t track_bytes;             /* blocks of as many have a lifetime; SIZE_MAX: none has */
	/* The size of one, or of what the program takes for one: reads no more than the allocator's own
	 * free() does first of all. Not for NULL. */
	size_t (*size_of)(void *block);
};

extern struct fxt_heap fxt_heap __attribute__((visibility("hidden")));

#endif
