/* Mappings that have a lifetime (task_life.h), from FXT_HEAP_TRACK_BYTES on: which pages each has left. It is over
 * when the last of them is unmapped, replaced, or moved away. Bounded; what finds no place has no lifetime.
 *
 * Pages are taken out before the call that may unmap them, as afterwards they may be another thread's, and
 * come back if it fails:
 *
 *	leaving = fxt_mappings_leave(address, bytes);
 *	... the call ...
 *	fxt_mappings_left(thread, leaving, it has succeeded);
 *	fxt_mapping_came(thread, result, bytes, place);
 *
 * Any context. Under a lock, which is taken only while something has a lifetime.
 */
#ifndef FXT_MAPPINGS_H
#define FXT_MAPPINGS_H

#include "memory_life.h"

/* Pages that may go. 0: none of them is known. */
uint32_t fxt_mappings_leave(const void *address, size_t bytes);

/* They have, or have not. */
void fxt_mappings_left(struct fxt_thread *thread, uint32_t leaving, bool are_gone);

/* There is a new mapping, made by a call that returns to `place`. Whatever was known of these pages is
 * over. */
void fxt_mapping_came(struct fxt_thread *thread, const void *address, size_t bytes, uintptr_t place);

/* In the child of a fork: what it has of its parent began in another trace. */
void fxt_mappings_after_fork(void);

#endif
