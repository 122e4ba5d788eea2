/* These functions give a table its memory when the table is needed for the first time. Threads and signal
 * handlers may need it at the same moment, and none waits for another. The owner of such a table declares its
 * address as an _Atomic(void *), NULL at first. Any context may call these functions.
 */
#ifndef FXT_LAZY_TABLE_H
#define FXT_LAZY_TABLE_H

#include <stdatomic.h>

#include "writer/sys.h"

/* Gives the table its memory: the part of fxt_lazy_table() that is done once. */
static __attribute__((noinline, unused)) void *fxt_lazy_table_make(_Atomic(void *) *table, size_t bytes)
{
	void *made = fxt_sys_memory(bytes), *all = NULL;

	if (!made || atomic_compare_exchange_strong(table, &all, made))
		return made;
	fxt_sys_munmap(made, bytes);
	return all;
}

/* Returns the table's memory, zeroed if it was not there yet. Returns NULL if there is none to be had. */
static inline void *fxt_lazy_table(_Atomic(void *) *table, size_t bytes)
{
	void *all = atomic_load_explicit(table, memory_order_acquire);

	return all ? all : fxt_lazy_table_make(table, bytes);
}

/* Empties the table. The memory is not unmapped, because somebody may go on writing there: another thread, or
 * the code that was interrupted by a signal handler that has forked (fork.c). */
static inline void fxt_lazy_table_empty(_Atomic(void *) *table, size_t bytes)
{
	void *all = atomic_load(table);

	if (all && fxt_sys_madvise(all, bytes, MADV_DONTNEED))
		atomic_store(table, NULL);
}

#endif
