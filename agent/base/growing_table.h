/* A growing table is memory whose entries are used from the first on. It takes addresses only as far as it is
 * used, because limits of address space and of data also count memory that is never touched, and it stays
 * where it is while it grows. Threads and signal handlers may need more of it at the same moment, and none
 * waits for another. Any context may call these functions.
 */
#ifndef FXT_GROWING_TABLE_H
#define FXT_GROWING_TABLE_H

#include <stdatomic.h>

#include "writer/sys.h"

struct fxt_growing_table {
	size_t most_bytes;              /* the size that it can grow to, which its owner states */
	_Atomic size_t bytes;           /* as much is there; stored after `memory` */
	_Atomic uintptr_t memory;       /* 0: nothing is there */
};

/* Does what fxt_growing_table() does where the table has to grow. */
void *fxt_growing_table_grow(struct fxt_growing_table *table, size_t bytes);

/* Returns the table's memory, of which the first `bytes` can be used; what is new of it is zeroed. Returns
 * NULL if there is no such memory to be had. */
static inline void *fxt_growing_table(struct fxt_growing_table *table, size_t bytes)
{
	if (__builtin_expect(bytes <= atomic_load_explicit(&table->bytes, memory_order_acquire), 1))
		return (void *)atomic_load_explicit(&table->memory, memory_order_relaxed);
	return fxt_growing_table_grow(table, bytes);
}

#endif
