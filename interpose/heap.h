/* Whether the sizes of blocks are added up, and which blocks have a lifetime: agent/heap.h. */
#ifndef FXT_INTERPOSE_HEAP_H
#define FXT_INTERPOSE_HEAP_H

#include "agent/heap.h"
#include "interpose.h"

/* Once, when tracing has begun and the real functions are known: those of the allocator in `heap`, as reals.inc lists them. Takes
 * the loader's lock. */
void fxt_heap_start(const struct fxt_real *heap);

#endif
