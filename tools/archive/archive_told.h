/* What an archive says of its gap: archive_gap.c has what that is, and reads it again. */
#ifndef FXT_TOOLS_ARCHIVE_TOLD_H
#define FXT_TOOLS_ARCHIVE_TOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the koid of the track that has the events of a process's gaps. It is a hash, as koids of fibers are
 * (agent/base/koid.h). None of the process's own threads has these events: one may be in a wait when a gap
 * ends, and an arrow that ends the wait would go to the newest slice or instant of the thread
 * (docs/manager.md). */
uint64_t fxt_told_track(uint64_t process);

/* Returns whether the event is the counter by which a gap says how many calls of a program are gone. */
bool fxt_told_is_counter(const uint64_t *record, size_t size);

/* Returns whether the event is the counter by which an archive says how many calls of a program the disk had
 * no room for, in all. */
bool fxt_told_is_lost(const uint64_t *record, size_t size);

/* Returns what the counter of a gap says. */
uint64_t fxt_told_calls(const uint64_t *record, size_t size);

/* Returns whether the event is one by which a gap says how many records of the kernel are gone: it has its
 * category in itself. */
bool fxt_told_is_kernel(const uint64_t *record, size_t size);

/* Returns of how many records an instant `lost` of category kernel tells. */
uint64_t fxt_told_records(const uint64_t *record, size_t size);

#endif
