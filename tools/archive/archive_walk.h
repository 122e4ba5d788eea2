/* Walks over the records of an archive's files, which the manager has written itself, by their headers.
 * What is behind a file's last whole record is left out. archive_gap.c and archive_mend.c use it, in one
 * thread.
 */
#ifndef FXT_TOOLS_ARCHIVE_WALK_H
#define FXT_TOOLS_ARCHIVE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writer/fxt_format.h"

/* The records of a file. */
struct fxt_archive_file {
	const uint64_t *words;
	size_t count;
	bool is_mapped;                 /* false: the words are memory of the caller's */
};

/* Maps the file, or the first `bytes` of it (UINT64_MAX: all). Returns false if it cannot be read; errno says
 * why. An empty file has no words. */
bool fxt_archive_map(struct fxt_archive_file *f, int fd, uint64_t bytes);
void fxt_archive_unmap(struct fxt_archive_file *f);

struct fxt_archive_walk {
	const uint64_t *words;
	size_t count, at;               /* words in all, and those before the record */
	size_t size;                    /* words of the record; 0: there is none yet */
	uint32_t provider;              /* whose record it is */
	size_t drops_at;                /* where pages are given back next; 0: none are */
};

/* How many words of a mapped file are in memory at once. What is behind them can be read again. */
enum { FXT_ARCHIVE_WALK_WORDS = (4 << 20) / FXT_WORD_BYTES };

static inline struct fxt_archive_walk fxt_archive_walk(const struct fxt_archive_file *f)
{
	return (struct fxt_archive_walk){.words = f->words,
					 .count = f->count,
					 .drops_at = f->is_mapped ? FXT_ARCHIVE_WALK_WORDS : 0};
}

/* Goes on to the next record. Returns false at the end. */
bool fxt_archive_next(struct fxt_archive_walk *w);

/* Returns the size of a record in words; 0 if no record has this header. Large records may have more words
 * than others, but viewers lose step at one that does. */
size_t fxt_archive_words(uint64_t header);

/* Returns when an event was written down: when the call ended, or when it happened. Such a time is not that
 * of a record of another type. */
uint64_t fxt_archive_event_ns(const uint64_t *record, size_t size);

/* The last word of an event that has an id. */
static inline uint64_t fxt_archive_event_id(const uint64_t *record, size_t size)
{
	return record[size - 1];
}

/* The strings and the thread that a record refers to by their indices. */
struct fxt_archive_refs {
	uint16_t strings[2 * FXT_MAX_ARGS + 2];
	size_t count;
	uint8_t thread;                 /* 0: none */
};

/* Finds what an event or an object refers to. */
void fxt_archive_refs(struct fxt_archive_refs *refs, const uint64_t *record, size_t size);

#endif
