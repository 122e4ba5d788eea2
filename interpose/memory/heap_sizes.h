/* Finds out whether the sizes of blocks can be added up, and which blocks have a lifetime:
 * agent/base/heap.h. */
#ifndef FXT_HEAP_SIZES_H
#define FXT_HEAP_SIZES_H

#include "agent/base/heap.h"
#include "interpose/engine/interpose.h"
#include "interpose/engine/next.h"

/* Returns a bit for each function of the allocator, in the order of reals.inc: whether the size of that
 * function's blocks can be asked for. Called within the search for the real functions. */
uint32_t fxt_heap_sizable(const struct fxt_real *heap);

/* Begins to look at sizes, if the configuration asks for it; `sizable` is what fxt_heap_sizable() returned.
 * Called once, when tracing has begun. */
void fxt_heap_start(uint32_t sizable);

#endif
