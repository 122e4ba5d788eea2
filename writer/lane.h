/* A lane: where one thread, at one depth of signal nesting, appends its records.
 *
 * To append a record of n words at p: the filler for the rest goes to p[n] first, then words 1..n-1, then
 * word 0 with release order. Before the last store the old filler at p[0] still spans everything, after it the new
 * record is followed by a well-formed filler: a reader, or a SIGKILL, sees one or the other.
 */
#ifndef FXT_LANE_H
#define FXT_LANE_H

#include "buffer.h"

struct fxt_lane {
	uint64_t *at;           /* where the next record goes; NULL without a chunk */
	uint64_t *end;          /* the chunk's last word, which stays a filler */
	uint32_t chunk;         /* its number, for fxt_buffer_finish() */
	uint32_t serial;        /* of chunks taken by the thread: tells which strings this one has */
	uint32_t events;        /* in the chunk so far, for the day it is overwritten */
};

/* Whether a record of up to `words` words fits, with a word left for the filler behind it. */
static inline bool fxt_lane_has(const struct fxt_lane *lane, size_t words)
{
	return (size_t)(lane->end - lane->at) > words;
}

/* Commits the record whose words 1..words-1 are stored at lane->at. `header` lacks only its size. */
static inline void fxt_lane_commit(struct fxt_lane *lane, size_t words, uint64_t header)
{
	uint64_t *at = lane->at;
	uint64_t *next = at + words;

	*next = fxt_filler((uint64_t)(lane->end - next));
	/* Only the compiler could reorder for our own thread; other readers need the release. */
	atomic_store_explicit((_Atomic uint64_t *)at, header | fxt_record_words(words), memory_order_release);
	lane->at = next;
}

#endif
