/* A lane is where one thread appends its records at one depth of signal nesting. This file is the only
 * place in which a record gets into a chunk: whatever writes a record calls fxt_lane_has() and
 * fxt_lane_place() to reserve its words, and ends with fxt_lane_commit(). The emissions of the thread that
 * has the lane call these functions, in any context; docs/emission.md describes the whole.
 *
 * The invariant: the word at lane->at is always a filler that spans the chunk up to its last word, and the
 * last word is a filler for good. So a chunk is well formed whatever stands behind lane->at, and a record
 * that was begun and never committed needs no repair.
 *
 * A record of n words is appended at p in three steps:
 *   reserve   p + FXT_LANE_SLACK_WORDS + n lies before the chunk's last word; otherwise the lane turns to
 *             another chunk
 *   store     words 1 to n-1 are stored; the old filler at p still spans them
 *   commit    the filler for the rest of the chunk is stored at p[n], then the header at p[0] with release
 *             order, then lane->at
 * A SIGKILL between any two of these stores leaves a well-formed chunk.
 *
 * The precondition of all stores is stated here alone, and asserted in checking builds (checking.h):
 * fxt_lane_has(lane, n) was true, and until fxt_lane_commit() nobody stores behind the n words that
 * fxt_lane_place() gave. The slack is the same for all records: it is the number of words that may be
 * skipped before a record that has to begin at the next cache line. The filler behind the record still lies
 * before the chunk's last word.
 *
 * Cache lines: a program that copies the file meanwhile reads cache lines, and not always in their order.
 * Processors copy long stretches by unordered 64-byte loads, so a line with a new header may come with an
 * older version of the line behind it. (This was seen in one of some fifty copies of a program that does
 * nothing but traced calls.) Hence, where files are copied like that (lane->line_mask), no record of up to
 * a line crosses into the next line: it begins at the head of that line instead. Each head has held a
 * filler for the rest of the chunk since the file grew by it. So whatever versions of two lines meet in a
 * copy, each of them is well formed.
 */
#ifndef FXT_LANE_H
#define FXT_LANE_H

#include <stdatomic.h>
#include <string.h>

#include "checking.h"
#include "storage.h"

/* A file in which calls are short and many defines this as inline with always_inline, before it includes
 * anything. Otherwise the compiler does not inline functions that are used often, and each call to one
 * costs a tenth of the event. */
#ifndef FXT_EMISSION
#define FXT_EMISSION inline
#endif

enum {
	FXT_LINE_BYTES = 64,
	FXT_LINE_WORDS = FXT_LINE_BYTES / FXT_WORD_BYTES,
	FXT_LANE_SLACK_WORDS = FXT_LINE_WORDS - 1,
};

/* What an emission has a lane for: a bit that no stack pointer has. */
enum fxt_lane_use {
	FXT_LANE_EXTRA,         /* for what is no call of the program */
	FXT_LANE_CALL,          /* for the record of a call, which counts as lost if the emission is left */
};

/* A limit that leaves no room. No chunk ends at this address. */
enum { FXT_LANE_WANTED = 1 };

struct fxt_lane {
	uint64_t *at;           /* where the next record goes; NULL if the lane has never had a chunk */
	uint64_t *end;          /* the chunk's last word, which stays a filler */
	/* the same address; FXT_LANE_WANTED if another thread wants to write on in the chunk; 0 if the thread
	 * has to turn to another chunk (agent/emit/lane.c) */
	_Atomic uintptr_t limit;
	/* the number of this holding of a chunk, which never comes twice (see fxt_lane_enter()); 0 if no
	 * chunk is held */
	_Atomic uint64_t hold;
	uint32_t chunk;         /* the chunk's number, for fxt_storage_finish() */
	/* the number of this chunk among those that the thread has taken: tells which strings this chunk
	 * defines */
	uint32_t serial;
	/* how many events are in the chunk so far; they are counted as lost when a ring overwrites it */
	uint32_t events;
	uint32_t line_mask;     /* FXT_LINE_BYTES - 1 where records do not cross cache lines, otherwise 0 */
	/* Which emission of the thread has the lane: agent/emit/lanes.h. */
	uintptr_t raised_at;    /* the stack pointer of the emission that has it, and its use; 0: none has */
#ifdef FXT_CHECKING
	uint64_t *reserved_end; /* until the commit nothing may be stored behind this address */
#endif
};

/* Marks that the lane has no chunk any more. `at` and `end` stay as they are, so that an interrupted
 * emission stores to the same chunk as before. */
static inline void fxt_lane_leave(struct fxt_lane *lane)
{
	atomic_store_explicit(&lane->limit, 0, memory_order_relaxed);
	atomic_store_explicit(&lane->hold, 0, memory_order_relaxed);
	lane->events = 0;
}

/* Returns whether the chunk has room for a record of up to `words` words. */
static FXT_EMISSION bool fxt_lane_has(const struct fxt_lane *lane, size_t words)
{
	intptr_t room =
		(intptr_t)(atomic_load_explicit(&lane->limit, memory_order_relaxed) - (uintptr_t)lane->at);

	return room > (intptr_t)((words + FXT_LANE_SLACK_WORDS) * FXT_WORD_BYTES);
}

/* fxt_lane_place() prefetches so far ahead of a record. The processor fetches ahead by itself, but not
 * across the end of a page, and there is such an end for each hundred records. Prefetching makes an event a
 * tenth cheaper. Any distance from four lines to a page does equally well, and it does no harm to prefetch
 * beyond the chunk's end. */
enum { FXT_LOOK_AHEAD_WORDS = 64 };

/* Closes the cache line that contains `at`, which is the lane's place; `left` bytes of the line are left.
 * Returns the head of the next line. A filler for the rest of the chunk is stored there before the line is
 * closed, because a record that was abandoned may have overwritten the filler that was there. */
static FXT_EMISSION uint64_t *fxt_lane_close_line(const struct fxt_lane *lane, uint64_t *at, size_t left)
{
	uint64_t *head = (uint64_t *)((char *)at + left);

	FXT_CHECK(head, <, lane->end);
	atomic_store_explicit((_Atomic uint64_t *)head,
			      fxt_filler_of_bytes((uintptr_t)lane->end - (uintptr_t)head),
			      memory_order_relaxed);
	atomic_store_explicit((_Atomic uint64_t *)at, fxt_filler_of_bytes(left), memory_order_release);
	return head;
}

/* Makes the lane go on in this chunk, or in this rest of one, which is the `serial`-th (from 1) of its
 * thread. */
static inline void fxt_lane_enter(struct fxt_lane *lane, const struct fxt_chunk *chunk, uint32_t serial)
{
	lane->at = chunk->base;
	lane->end = chunk->base + chunk->words - 1;
	lane->chunk = chunk->number;
	lane->serial = serial;
	lane->events = chunk->events;
	lane->line_mask = chunk->is_copied ? FXT_LINE_BYTES - 1 : 0;
	atomic_store_explicit(&lane->limit, (uintptr_t)lane->end, memory_order_relaxed);
	atomic_store_explicit(&lane->hold, (uint64_t)serial << 32 | chunk->number, memory_order_release);
}

/* Returns where a record of up to `words` words begins, for which fxt_lane_has() was true. The emission has
 * taken the lane before (agent/emit/lanes.h). */
static FXT_EMISSION uint64_t *fxt_lane_place(struct fxt_lane *lane, size_t words)
{
	uint64_t *at = lane->at;
	size_t left = -(uintptr_t)at & lane->line_mask;

	FXT_CHECK(at + words + FXT_LANE_SLACK_WORDS, <, lane->end);
	if (left && words * FXT_WORD_BYTES > left)
		lane->at = at = fxt_lane_close_line(lane, at, left);
#ifdef FXT_CHECKING
	lane->reserved_end = at + words;
	FXT_CHECK(at + words, <, lane->end);
	left = -(uintptr_t)at & lane->line_mask;
	FXT_CHECK((!left || words * FXT_WORD_BYTES <= left), ==, true);
#endif
	__builtin_prefetch(at + FXT_LOOK_AHEAD_WORDS, 1);
	return at;
}

/* Commits a record of `words` words at `at`, which is the address that fxt_lane_place() returned. All words
 * but the first have been stored; `header` is the first word without its size. */
static FXT_EMISSION void fxt_lane_commit(struct fxt_lane *lane, uint64_t *at, size_t words, uint64_t header)
{
	uint64_t *next = at + words;

	FXT_CHECK(at, ==, lane->at);
	FXT_CHECK(next, <=, lane->reserved_end);
	FXT_CHECK(next, <, lane->end);
	/* The stores are atomic because a snapshot may still read what the ring had here before; that costs
	 * nothing. The other words of the record need not be atomic, because a snapshot throws away what it
	 * has read of an emptied chunk. */
	atomic_store_explicit((_Atomic uint64_t *)next,
			      fxt_filler_of_bytes((uintptr_t)lane->end - (uintptr_t)next),
			      memory_order_relaxed);
	/* The release order is for other readers: within our own thread only the compiler could reorder the
	 * stores. */
	atomic_store_explicit((_Atomic uint64_t *)at, header | fxt_record_words(words), memory_order_release);
	lane->at = next;
}

/* Writes a whole record of `words` words, for which fxt_lane_has() was true. */
static inline void fxt_lane_put(struct fxt_lane *lane, const uint64_t *record, size_t words)
{
	uint64_t *at = fxt_lane_place(lane, words);

	memcpy(at + 1, record + 1, (words - 1) * FXT_WORD_BYTES);
	fxt_lane_commit(lane, at, words, record[0]);
}

/* Repairs a lane whose emission was left for good. If the emission was between the last two stores of its
 * commit, its record is there: then `at` moves behind the record and this returns true. */
static inline bool fxt_lane_recover(struct fxt_lane *lane)
{
	uint64_t there;

	if (!atomic_load_explicit(&lane->hold, memory_order_relaxed))
		return false;
	there = *lane->at;
	if (fxt_is_filler(there))
		return false;
	lane->at += fxt_get_record_words(there);
	return true;
}

#endif
