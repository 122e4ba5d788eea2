/* These functions give a table its memory when the table is needed for the first time. Threads and signal
 * handlers may need it at the same moment, and none waits for another. The owner of such a table declares its
 * address as an _Atomic(void *), NULL at first. The child of a fork finds the table empty: the kernel empties
 * it, and so the fork copies nothing of it, however much there is. Any context may call these functions.
 */
#ifndef FXT_LAZY_TABLE_H
#define FXT_LAZY_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Does what fxt_lazy_table() does where the table has no memory yet. */
void *fxt_lazy_table_make(_Atomic(void *) *table, size_t bytes);

/* Returns the table's memory, zeroed if it was not there yet. Returns NULL if there is none to be had. */
static inline void *fxt_lazy_table(_Atomic(void *) *table, size_t bytes)
{
	void *all = atomic_load_explicit(table, memory_order_acquire);

	return all ? all : fxt_lazy_table_make(table, bytes);
}

/* Empties the table. The memory is not unmapped, because somebody may go on writing there: another thread, or
 * the code that was interrupted by a signal handler that has forked (fork.c). */
void fxt_lazy_table_empty(_Atomic(void *) *table, size_t bytes);

/* Returns whether the kernel has refused to empty a table in children, so that they have to empty all. */
bool fxt_lazy_tables_stay(void);

/* Empties the table in the child of a fork, if the kernel has not. */
static inline void fxt_lazy_table_after_fork(_Atomic(void *) *table, size_t bytes)
{
	if (fxt_lazy_tables_stay())
		fxt_lazy_table_empty(table, bytes);
}

#endif
