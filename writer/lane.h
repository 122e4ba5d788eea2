/* A lane: where one thread, at one depth of signal nesting, appends its records.
 *
 * To append a record of n words at p: the filler for the rest goes to p[n] first, then words 1..n-1, then
 * word 0 with release order. Before the last store the old filler at p[0] still spans everything, after it the new
 * record is followed by a well-formed filler: a SIGKILL leaves one or the other.
 *
 * A copy made meanwhile reads cache lines, and not always in their order: processors copy long stretches by unordered
 * 64-byte loads, so the line with a new header may come with an older version of the line behind it. (Seen in one of some
 * fifty copies of a program that does nothing but traced calls.) Hence no common record crosses a line: one that would
 * begins at the next line's head. Heads hold a filler for the rest since the file grew by them, so whatever versions of two
 * lines meet, each is well formed. A ring, which is not to be copied so, is not padded.
 */
#ifndef FXT_LANE_H
#define FXT_LANE_H

#include "buffer.h"

/* Where calls are short and many, a file defines this as inline with always_inline, before it includes anything: the compiler gives up on
 * functions that are used often, and a call each costs a tenth of the event. */
#ifndef FXT_EMISSION
#define FXT_EMISSION inline
#endif

struct fxt_lane {
	uint64_t *at;           /* where the next record goes; NULL without a chunk */
	uint64_t *end;          /* the chunk's last word, which stays a filler */
	_Atomic uintptr_t limit;        /* the same, or 0: the ring wants the chunk back (agent/lane.c) */
	_Atomic uint64_t hold;  /* which chunk is held, never the same twice: fxt_lane_hold(); 0: none */
	uint32_t chunk;         /* its number, for fxt_buffer_finish() */
	uint32_t serial;        /* of chunks taken by the thread: tells which strings this one has */
	uint32_t events;        /* in the chunk so far, for the day it is overwritten */
	bool is_extra;          /* what is written is no call of the program: it is not counted where there is no room */
	uintptr_t raised_at;    /* the stack pointer of the emission that has raised the level from here: agent/lane.c */
	struct fxt_lane *next;  /* the level above; of the last, the last: none who is deeper writes */
};

/* The bytes from `at`, where the lane is, to the chunk's last word; negative where the ring wants it back. */
static inline intptr_t fxt_lane_room(const struct fxt_lane *lane, const uint64_t *at)
{
	return (intptr_t)(atomic_load_explicit(&lane->limit, memory_order_relaxed) - (uintptr_t)at);
}

/* The processor fetches what is written next by itself, but not across the end of a page, of which there is one for each hundred records:
 * an event costs a tenth less where it is asked to. How far ahead makes no difference from four lines to a page; nor does what lies
 * behind the chunk's end. */
enum { FXT_LOOK_AHEAD_WORDS = 64 };

static FXT_EMISSION void fxt_lane_look_ahead(const uint64_t *at)
{
	__builtin_prefetch(at + FXT_LOOK_AHEAD_WORDS, 1);
}

/* Whether a record of up to `words` words fits, with a word left for the filler behind it. */
static FXT_EMISSION bool fxt_lane_has(const struct fxt_lane *lane, size_t words)
{
	return fxt_lane_room(lane, lane->at) > (intptr_t)(words * FXT_WORD_BYTES);
}

/* The lane goes on in chunk `number`, the `serial`-th (from 1) of its thread: in `words` of it from `base` on. */
static inline void fxt_lane_enter(struct fxt_lane *lane, uint64_t *base, size_t words, uint32_t number, uint32_t serial)
{
	lane->at = base;
	lane->end = base + words - 1;
	lane->chunk = number;
	lane->serial = serial;
	lane->events = 0;
	atomic_store_explicit(&lane->limit, (uintptr_t)lane->end, memory_order_relaxed);
	atomic_store_explicit(&lane->hold, (uint64_t)serial << 32 | number, memory_order_release);
}

enum {
	FXT_LINE_BYTES = 64,
	FXT_LINE_WORDS = FXT_LINE_BYTES / FXT_WORD_BYTES,
	FXT_LINE_LEAST_WORDS = 4,       /* an event of a function takes 3, and finds 5 left behind another; others more */
};

/* Moves to the next line if a record of so many words would cross into it. Takes up to FXT_LINE_WORDS - 1 words. */
static FXT_EMISSION void fxt_lane_align(struct fxt_lane *lane, size_t words)
{
	size_t left = FXT_LINE_WORDS - (uintptr_t)lane->at / FXT_WORD_BYTES % FXT_LINE_WORDS;
	uint64_t *head = lane->at + left;

	if (words > left && left < FXT_LINE_WORDS) {
		atomic_store_explicit((_Atomic uint64_t *)lane->at, fxt_filler(left), memory_order_release);
		lane->at = head;
	}
	/* The head of a page spans that page alone, and the record may overwrite the next one's before it is committed. */
	if (words > FXT_LINE_WORDS)
		atomic_store_explicit((_Atomic uint64_t *)lane->at, fxt_filler((uint64_t)(lane->end - lane->at)), memory_order_release);
}

/* Commits the record whose words 1..words-1 are stored at `at`, where the lane is, `room` being what fxt_lane_room() says of that.
 * `header` lacks only its size. */
static FXT_EMISSION void fxt_lane_commit_within(struct fxt_lane *lane, uint64_t *at, intptr_t room, size_t words, uint64_t header)
{
	uint64_t *next = at + words;

	/* A snapshot may still read what the ring had here before: an atomic store, which costs no more. It throws away what it
	 * read then, so the words of the record need be no such. */
	atomic_store_explicit((_Atomic uint64_t *)next, fxt_filler_of_bytes((uint64_t)room - words * FXT_WORD_BYTES),
			      memory_order_relaxed);
	/* Only the compiler could reorder for our own thread; other readers need the release. */
	atomic_store_explicit((_Atomic uint64_t *)at, header | fxt_record_words(words), memory_order_release);
	lane->at = next;
}

/* The same, whatever the ring wants meanwhile. */
static FXT_EMISSION void fxt_lane_commit(struct fxt_lane *lane, size_t words, uint64_t header)
{
	fxt_lane_commit_within(lane, lane->at, (lane->end - lane->at) * FXT_WORD_BYTES, words, header);
}

/* The same in a lane that is kept aligned, at `at`, where it is, with a line's words of room behind the record. What remains of the
 * line is a filler of its own: the next line's head is one already, for all that follows. The lane goes on there at once where what
 * remains is too little for most records: that is cheaper than to find out when the next one comes. */
static FXT_EMISSION void fxt_lane_commit_aligned(struct fxt_lane *lane, uint64_t *at, size_t words, uint64_t header)
{
	uintptr_t next = (uintptr_t)(at + words), left = ~next % FXT_LINE_BYTES + 1;

	/* One of several lines may have had more words before it was done. */
	if (words > FXT_LINE_WORDS)
		*(uint64_t *)(next + left) = fxt_filler_of_bytes((uintptr_t)lane->end - next - left);
	*(uint64_t *)next = fxt_filler_of_bytes(left);
	if (left < FXT_LINE_LEAST_WORDS * FXT_WORD_BYTES) {
		next += left;
		/* Remains a branch for this: it comes as foreseen, and the next record does not wait for it. */
		__asm__("" : "+r"(next));
	}
	lane->at = (uint64_t *)next;
	atomic_store_explicit((_Atomic uint64_t *)at, header | fxt_record_words(words), memory_order_release);
}

/* The same of a record that begins at the head of a line. */
static FXT_EMISSION void fxt_lane_commit_line(struct fxt_lane *lane, uint64_t *head, size_t words, uint64_t header)
{
	size_t left = FXT_LINE_WORDS - words;

	/* Known where it is compiled, as a rule. */
	if (words >= FXT_LINE_WORDS) {
		fxt_lane_commit_aligned(lane, head, words, header);
		return;
	}
	head[words] = fxt_filler(left);
	lane->at = head + words + (left < FXT_LINE_LEAST_WORDS ? left : 0);
	atomic_store_explicit((_Atomic uint64_t *)head, header | fxt_record_words(words), memory_order_release);
}

#endif
