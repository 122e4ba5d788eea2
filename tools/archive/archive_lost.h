/* What the file system had no room for. An archive whose file cannot grow goes on to take what it is given,
 * and counts for each program how many calls are lost, and from when to when. That is written behind the
 * last whole record, into space that was reserved for it, when the archive is closed or goes on in another
 * file. archive.c calls this, in one thread.
 */
#ifndef FXT_TOOLS_ARCHIVE_LOST_H
#define FXT_TOOLS_ARCHIVE_LOST_H

#include <stddef.h>
#include <stdint.h>

#include "archive_gap.h"

/* At first all members are zero. */
struct fxt_archive_lost {
	struct fxt_map programs;        /* provider -> its process, and strings that tell what events are */
	uint32_t provider;              /* whose records a lost block begins with */
	uint64_t calls, told;           /* in all, and those of them that the files tell of */
	uint64_t kernel_told;           /* records of the kernel among these: no running total */
	struct fxt_archive_gap gap;
};

/* Notes a string, or the name of a process, that the archive gets. */
void fxt_lost_note(struct fxt_archive_lost *l, uint32_t id, const uint64_t *record);

/* Counts the records of a block, which begins with those of a provider. */
void fxt_lost_take(struct fxt_archive_lost *l, const uint64_t *words, size_t count, uint32_t provider);

/* Makes records that tell what was lost since the last time. */
void fxt_lost_tell(struct fxt_archive_lost *l,
		   void (*put)(void *context, const uint64_t *words, size_t count), void *context);

/* Returns the string record with this index, if it was noted; or NULL. */
const uint64_t *fxt_lost_text(const struct fxt_archive_lost *l, uint32_t id, uint64_t index);

void fxt_lost_free(struct fxt_archive_lost *l);

#endif
