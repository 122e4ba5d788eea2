/* Whether the sizes of blocks are added up, and which blocks have a lifetime: agent/base/heap.h. */
#ifndef FXT_HEAP_SIZES_H
#define FXT_HEAP_SIZES_H

#include "agent/base/heap.h"
#include "interpose/engine/interpose.h"
#include "interpose/engine/next.h"

/* Of which functions of the allocator, as reals.inc lists them, the blocks have a size that can be asked for: a bit for each. Within
 * the search for the real functions. */
uint32_t fxt_heap_sizable(const struct fxt_real *heap);

/* Once, when tracing has begun. */
void fxt_heap_start(uint32_t sizable);

#endif
