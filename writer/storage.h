/* Where a process's records are kept: the seam between emission and storage.
 *
 * The emission path (lane.h, and agent/ behind it) asks for four things: a chunk to append to, a page for
 * words that are rewritten in place, room for a record that must never be lost, and to be told what there was
 * no room for. Everything else, such as how a file grows, is snapshot, rewritten or reopened, is the business
 * of the storage. The trace file (buffer.h) is the first one; tests/model_emission has one of its own, of
 * chunks between guard pages.
 *
 * Every function may be called from any thread and from a signal handler, with signals blocked, but for those
 * that say otherwise. None allocates from the heap or touches errno.
 */
#ifndef FXT_STORAGE_H
#define FXT_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fxt_format.h"

/* An empty chunk is [filler of words - 1][filler of 1]; its last word stays a filler for good. Where it
 * is_copied every cache line behind the first begins with a filler as well. */
struct fxt_chunk {
	uint64_t *base;
	uint32_t words;                 /* up to FXT_CHUNK_WORDS */
	uint32_t number;
	uint32_t overwritten;           /* a ring: events that were in it and are gone */
	uint64_t overwritten_ns;        /* the time of the last of them */
	bool has_waited;                /* a ring: for a snapshot that had not come so far */
	bool is_copied;                 /* somebody may read it while it is written: records do not cross cache lines (lane.h) */
};

struct fxt_storage;

struct fxt_storage_ops {
	/* Hands out an empty chunk. False when there is none; failure() says why. `now_ns` spaces out
	 * attempts to grow a file that could not grow (a full disk). */
	bool (*take)(struct fxt_storage *storage, uint64_t now_ns, struct fxt_chunk *chunk);
	/* The chunk, with so many events in it, the last of this time, will not be written again by who took
	 * it. Returns how many of them could not be kept: all, or none. */
	uint32_t (*finish)(struct fxt_storage *storage, uint32_t number, uint32_t events, uint64_t last_ns);
	/* A page of FXT_PAGE_WORDS for words that are rewritten in place: [filler of 511][filler of 1], its
	 * last word never to be touched. NULL when there is none. A page that is given back is empty again.
	 * `taken` says what the ring has overwritten for it. */
	uint64_t *(*take_page)(struct fxt_storage *storage, uint64_t now_ns, struct fxt_chunk *taken);
	void (*return_page)(struct fxt_storage *storage, uint64_t *page);
	/* Appends a whole record to the durable area, leaving at least `reserve_words` free behind it. False
	 * when there is no room: the record must then go elsewhere or be said inline. */
	bool (*durable)(struct fxt_storage *storage, const uint64_t *record, size_t words, size_t reserve_words);
	/* Takes a record of `words` back that was committed as number `at` of the words of chunk `number`:
	 * reads it to `record`, and puts a filler in its place. False: nothing has changed, as what is there
	 * is not a record of that size that ends with `last`, or it cannot be reached. NULL: this storage is
	 * never copied while it is written, and nobody needs that. */
	bool (*retract)(struct fxt_storage *storage, uint32_t number, size_t at, uint64_t *record, size_t words, uint64_t last);
	/* Why there is no room: 0, the allowed size is used up; otherwise what the system said, a negative
	 * errno. */
	int (*failure)(const struct fxt_storage *storage);
	/* After take() has failed: it will fail for whoever asks before this time; 0: it may not; FXT_NEVER:
	 * it will fail for good. */
	uint64_t (*none_before)(const struct fxt_storage *storage);
	/* In the child of a fork, whose storage is still its parent's. Where an emission of the calling
	 * thread was interrupted it goes on in the child: whatever it may store to (lane.h, agent/emit/in_progress.h)
	 * becomes private memory at the same addresses, for good. */
	void (*after_fork)(struct fxt_storage *storage, bool is_interrupted);
};

#define FXT_NEVER UINT64_MAX

struct fxt_storage {
	const struct fxt_storage_ops *ops;
	uint64_t *prologue;             /* where the words lie that it began with: counters among them are rewritten in place */
};

enum {
	FXT_PAGE_BYTES = 4096,
	FXT_PAGE_WORDS = FXT_PAGE_BYTES / FXT_WORD_BYTES,
	FXT_CHUNK_WORDS = 4096,
	FXT_CHUNK_BYTES = FXT_CHUNK_WORDS * FXT_WORD_BYTES,
	FXT_CHUNK_PAGES = FXT_CHUNK_BYTES / FXT_PAGE_BYTES,
};

static inline bool fxt_storage_take(struct fxt_storage *storage, uint64_t now_ns, struct fxt_chunk *chunk)
{
	return storage->ops->take(storage, now_ns, chunk);
}

static inline uint32_t fxt_storage_finish(struct fxt_storage *storage, uint32_t number, uint32_t events, uint64_t last_ns)
{
	return storage->ops->finish(storage, number, events, last_ns);
}

static inline uint64_t *fxt_storage_take_page(struct fxt_storage *storage, uint64_t now_ns, struct fxt_chunk *taken)
{
	return storage->ops->take_page(storage, now_ns, taken);
}

static inline void fxt_storage_return_page(struct fxt_storage *storage, uint64_t *page)
{
	storage->ops->return_page(storage, page);
}

static inline bool fxt_storage_durable(struct fxt_storage *storage, const uint64_t *record, size_t words, size_t reserve_words)
{
	return storage->ops->durable(storage, record, words, reserve_words);
}

static inline bool fxt_storage_retract(struct fxt_storage *storage, uint32_t number, size_t at, uint64_t *record, size_t words,
				       uint64_t last)
{
	return storage->ops->retract && storage->ops->retract(storage, number, at, record, words, last);
}

static inline int fxt_storage_failure(const struct fxt_storage *storage)
{
	return storage->ops->failure(storage);
}

static inline uint64_t fxt_storage_none_before(const struct fxt_storage *storage)
{
	return storage->ops->none_before(storage);
}

static inline void fxt_storage_after_fork(struct fxt_storage *storage, bool is_interrupted)
{
	storage->ops->after_fork(storage, is_interrupted);
}

#endif
