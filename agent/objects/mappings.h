/* The mappings that have a lifetime (memory_life.h): those of FXT_HEAP_TRACK_BYTES or more. The table has the
 * pages that each mapping still has. A lifetime is over when the last of its pages is unmapped, replaced or
 * moved away. The table is bounded; a mapping that finds no place in it has no lifetime.
 *
 * A wrapper takes pages out of the table before the call that may unmap them, because afterwards they may
 * be another thread's. They come back if the call fails:
 *
 *	leaving = fxt_mappings_leave(address, bytes);
 *	... the call ...
 *	fxt_mappings_left(thread, leaving, it has succeeded);
 *	fxt_mapping_came(thread, result, bytes, place);
 *
 * Any context may call these functions. They take a lock only while some mapping has a lifetime, or is about
 * to get one.
 */
#ifndef FXT_MAPPINGS_H
#define FXT_MAPPINGS_H

#include "memory_life.h"

/* Takes out the pages that a call may unmap. Returns what fxt_mappings_left() takes; 0 if none of them is
 * in the table. */
uint32_t fxt_mappings_leave(const void *address, size_t bytes);

/* Says whether the call unmapped these pages. If not, they come back. */
void fxt_mappings_left(struct fxt_thread *thread, uint32_t leaving, bool are_gone);

/* Adds a new mapping, made by a call that returns to `place`. Earlier mappings that the table has there lose
 * these pages. */
void fxt_mapping_came(struct fxt_thread *thread, const void *address, size_t bytes, uintptr_t place);

/* Empties the table because recording begins again: mappings may have gone unseen. */
void fxt_mappings_again(void);

#endif
