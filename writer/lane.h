/* A lane: where one thread, at one depth of signal nesting, appends its records. This is the one place in which a record gets into a
 * chunk: whatever writes one reserves with fxt_lane_has() and fxt_lane_place() and ends with fxt_lane_commit().
 *
 * The invariant. The word at lane->at is always a filler that spans the chunk up to its last word, which is a filler for good. So a
 * chunk is well formed whatever stands behind lane->at, and a record that was begun and never committed needs no repair.
 *
 * To append a record of n words at p:
 *	reserve         p + FXT_LANE_SLACK_WORDS + n lies before the chunk's last word, or the lane turns to another chunk
 *	store           words 1 to n-1; the old filler at p spans them
 *	commit          the filler for the rest of the chunk at p[n]; then the header at p[0], with release order; then lane->at
 * A SIGKILL between any two of these stores leaves a well-formed chunk.
 *
 * The precondition of all stores, stated here alone and asserted in checking builds (checking.h): fxt_lane_has(lane, n) was true, and until
 * fxt_lane_commit() nobody stores behind the n words that fxt_lane_place() gave. The slack is what moving to the head of a cache line may
 * skip before the record. Behind the record is the filler, before the chunk's last word. The slack is the same for all.
 *
 * Cache lines. A copy made meanwhile reads cache lines, and not always in their order: processors copy long stretches by unordered
 * 64-byte loads, so the line with a new header may come with an older version of the line behind it. (Seen in one of some
 * fifty copies of a program that does nothing but traced calls.) Hence, where files are copied like that (lane->line_mask), no record
 * of up to a line crosses into the next one: it begins at that one's head. Heads hold a filler for the rest since the file grew by
 * them, so whatever versions of two lines meet, each is well formed.
 */
#ifndef FXT_LANE_H
#define FXT_LANE_H

#include <stdatomic.h>

#include "checking.h"
#include "storage.h"

/* Where calls are short and many, a file defines this as inline with always_inline, before it includes anything: the compiler gives up on
 * functions that are used often, and a call each costs a tenth of the event. */
#ifndef FXT_EMISSION
#define FXT_EMISSION inline
#endif

enum {
	FXT_LINE_BYTES = 64,
	FXT_LINE_WORDS = FXT_LINE_BYTES / FXT_WORD_BYTES,
	FXT_LANE_SLACK_WORDS = FXT_LINE_WORDS - 1,
};

struct fxt_lane {
	uint64_t *at;           /* where the next record goes; NULL without a chunk */
	uint64_t *end;          /* the chunk's last word, which stays a filler */
	_Atomic uintptr_t limit;        /* the same, or 0: the ring wants the chunk back (agent/lane.c) */
	_Atomic uint64_t hold;  /* which chunk is held, never the same twice: fxt_lane_enter(); 0: none */
	uint32_t chunk;         /* its number, for fxt_storage_finish() */
	uint32_t serial;        /* of chunks taken by the thread: tells which strings this one has */
	uint32_t events;        /* in the chunk so far, for the day it is overwritten */
	uint32_t line_mask;     /* FXT_LINE_BYTES - 1 where records do not cross cache lines, otherwise 0 */
	uintptr_t raised_at;    /* the stack pointer of the emission that has raised the level from here: fxt_lane_raise() */
	struct fxt_lane *next;  /* the level above; of the last, the last: none who is deeper writes */
#ifdef FXT_CHECKING
	uint64_t *reserved_end; /* nothing is stored behind this before the commit */
#endif
};

/* The lane has no chunk any more. What an emission that was interrupted may still store goes where it went before: `at` and `end` stay. */
static inline void fxt_lane_leave(struct fxt_lane *lane)
{
	atomic_store_explicit(&lane->limit, 0, memory_order_relaxed);
	atomic_store_explicit(&lane->hold, 0, memory_order_relaxed);
	lane->events = 0;
}

/* Whether a record of up to `words` words has room. */
static FXT_EMISSION bool fxt_lane_has(const struct fxt_lane *lane, size_t words)
{
	intptr_t room = (intptr_t)(atomic_load_explicit(&lane->limit, memory_order_relaxed) - (uintptr_t)lane->at);

	return room > (intptr_t)((words + FXT_LANE_SLACK_WORDS) * FXT_WORD_BYTES);
}

/* The processor fetches what is written next by itself, but not across the end of a page, of which there is one for each hundred records:
 * an event costs a tenth less where it is asked to. How far ahead makes no difference from four lines to a page; nor does what lies
 * behind the chunk's end. */
enum { FXT_LOOK_AHEAD_WORDS = 64 };

/* Ends the cache line in which `at` is, the lane's place, with `left` bytes of it left: returns the next line's head, which is a filler for the
 * rest before the line is closed. (A record that was abandoned may have overwritten it.) */
static FXT_EMISSION uint64_t *fxt_lane_close_line(const struct fxt_lane *lane, uint64_t *at, size_t left)
{
	uint64_t *head = (uint64_t *)((char *)at + left);

	FXT_CHECK(head, <, lane->end);
	atomic_store_explicit((_Atomic uint64_t *)head, fxt_filler_of_bytes((uintptr_t)lane->end - (uintptr_t)head), memory_order_relaxed);
	atomic_store_explicit((_Atomic uint64_t *)at, fxt_filler_of_bytes(left), memory_order_release);
	return head;
}

/* The lane goes on in this chunk, which is empty, the `serial`-th (from 1) of its thread. */
static inline void fxt_lane_enter(struct fxt_lane *lane, const struct fxt_chunk *chunk, uint32_t serial)
{
	lane->at = chunk->base;
	lane->end = chunk->base + chunk->words - 1;
	lane->chunk = chunk->number;
	lane->serial = serial;
	lane->events = 0;
	lane->line_mask = chunk->is_copied ? FXT_LINE_BYTES - 1 : 0;
	atomic_store_explicit(&lane->limit, (uintptr_t)lane->end, memory_order_relaxed);
	atomic_store_explicit(&lane->hold, (uint64_t)serial << 32 | chunk->number, memory_order_release);
}

/* Where a record of up to `words` words begins, for which fxt_lane_has() was true. The emission has raised the level (agent/lane.c). */
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

/* Commits the record of `words` words whose words but the first are stored at `at`, where fxt_lane_place() said; `header` lacks its size. */
static FXT_EMISSION void fxt_lane_commit(struct fxt_lane *lane, uint64_t *at, size_t words, uint64_t header)
{
	uint64_t *next = at + words;

	FXT_CHECK(at, ==, lane->at);
	FXT_CHECK(next, <=, lane->reserved_end);
	FXT_CHECK(next, <, lane->end);
	/* A snapshot may still read what the ring had here before: atomic stores, which cost no more. It throws away what it read then, so
	 * the words of the record need be no such. */
	atomic_store_explicit((_Atomic uint64_t *)next, fxt_filler_of_bytes((uintptr_t)lane->end - (uintptr_t)next), memory_order_relaxed);
	/* Only the compiler could reorder for our own thread; other readers need the release. */
	atomic_store_explicit((_Atomic uint64_t *)at, header | fxt_record_words(words), memory_order_release);
	lane->at = next;
}

/* The emission in this lane was left for good, perhaps between the last two stores of its commit: then its record is there. True: it
 * was so. */
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
