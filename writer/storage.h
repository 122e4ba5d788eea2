/* This is the seam between emission and storage: the functions by which the emission path gets memory for
 * its records.
 *
 * The emission path (lane.h, and agent/ behind it) asks for four things: a chunk to append to, a page for
 * words that are rewritten in place, room for a record that must never be lost, and the reason why there is
 * no room. Everything else is the storage's own business: how a file grows, and how it is copied, rewritten
 * and reopened. The trace file (buffer.h) is one storage. tests/model_emission has another, which consists
 * of chunks between guard pages.
 *
 * Every function may be called from any thread and from a signal handler, with signals blocked, unless its
 * comment says otherwise. None of them allocates from the heap or changes errno.
 */
#ifndef FXT_STORAGE_H
#define FXT_STORAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fxt_format.h"

/* This is a chunk as take() hands it out. It is empty: [filler of words - 1][filler of 1]. Its last word
 * stays a filler for good. If is_copied is set, every cache line behind the first begins with a filler as
 * well.
 *
 * It is also the rest of a chunk that another thread has begun (agent/emit/thread_chunks.c): then `base` is
 * behind the records of that thread, and `events` is not 0. */
struct fxt_chunk {
	uint64_t *base;
	uint32_t words;                 /* at most FXT_CHUNK_WORDS */
	uint32_t number;
	uint32_t events;                /* how many events stand in front of `base` */
	/* in a ring: how many earlier events of this chunk are gone now; the storage has counted them */
	uint32_t overwritten;
	/* in a ring: the caller had to wait until a snapshot had read the chunk */
	bool has_waited;
	/* somebody may copy the chunk while it is written, so records must not cross cache lines (lane.h) */
	bool is_copied;
};

struct fxt_storage;

struct fxt_storage_ops {
	/* Hands out an empty chunk. Returns false if there is none; failure() then says why. `now_ns` is
	 * the present time. It spaces out attempts to grow a file that could not grow, because the disk was
	 * full for example. */
	bool (*take)(struct fxt_storage *storage, uint64_t now_ns, struct fxt_chunk *chunk);
	/* Takes a chunk back whose holder will not write to it again. It has `events` events, the last of
	 * them at `last_ns`. Returns how many of these events could not be kept: all of them or none. */
	uint32_t (*finish)(struct fxt_storage *storage, uint32_t number, uint32_t events, uint64_t last_ns);
	/* Empties a chunk that the child of a vfork was taking, or had just taken, when it was killed. The
	 * child's parent calls this and then finish(). */
	void (*clear)(struct fxt_storage *storage, const struct fxt_chunk *chunk);
	/* Hands out a page of `words` words, FXT_PAGE_WORDS or FXT_SMALL_PAGE_WORDS, for words that are
	 * rewritten in place: [filler of words - 1][filler of 1]. Nobody may store to the last word. Returns
	 * NULL if there is no page. Where a ring overwrites a chunk to make pages, `*taken` says what was
	 * overwritten; otherwise its `overwritten` is 0. return_page() takes a page of this size back and
	 * empties it. */
	uint64_t *(*take_page)(struct fxt_storage *storage, uint64_t now_ns, uint32_t words,
			       struct fxt_chunk *taken);
	void (*return_page)(struct fxt_storage *storage, uint64_t *page, uint32_t words);
	/* Appends a whole record to the durable area, and leaves at least `reserve_words` free behind it.
	 * Returns false if there is no room: the caller then has to put the record elsewhere, or to write
	 * the text inline. */
	bool (*durable)(struct fxt_storage *storage, const uint64_t *record, size_t words,
			size_t reserve_words);
	/* Retracts a record of `words` words that was committed at word `at` of chunk `number` (the chunk's
	 * last word is FXT_CHUNK_WORDS - 1): reads it to `record` and puts a filler in its place. Returns
	 * false, and changes nothing, if there is no record of that size whose last word is `last`, or if
	 * the place cannot be reached. The pointer is NULL in a storage that is never copied while it is
	 * written: nobody needs to retract anything there. */
	bool (*retract)(struct fxt_storage *storage, uint32_t number, size_t at, uint64_t *record,
			size_t words, uint64_t last);
	/* Says why there is no room: 0 if the allowed size is used up, otherwise the error of the system, a
	 * negative errno. */
	int (*failure)(const struct fxt_storage *storage);
	/* After take() has failed, says until when it will fail: before the time that is returned it fails
	 * for every caller. 0 means that it may succeed at once, and FXT_NEVER that it fails for good. */
	uint64_t (*none_before)(const struct fxt_storage *storage);
	/* Sleeps until there may be room again, for 10 ms at most. Signals may interrupt this. */
	void (*pause)(struct fxt_storage *storage);
	/* Called in the child of a fork, whose storage is still its parent's. If `is_interrupted` is set, an
	 * emission of the calling thread was interrupted and goes on in the child. Then everything that the
	 * emission may store to (lane.h, agent/emit/in_progress.h) becomes private memory at the same
	 * addresses, for good. */
	void (*after_fork)(struct fxt_storage *storage, bool is_interrupted);
};

#define FXT_NEVER UINT64_MAX

enum { FXT_PAUSE_NS = 10 * 1000 * 1000 };

struct fxt_storage {
	const struct fxt_storage_ops *ops;
	/* where the words of the prologue lie; the counters among them are rewritten in place */
	uint64_t *prologue;
	/* when threads hold more chunks than this, those that record write on in chunks of those that do
	 * not */
	_Atomic uint32_t plenty;
};

enum {
	FXT_PAGE_BYTES = 4096,
	FXT_PAGE_WORDS = FXT_PAGE_BYTES / FXT_WORD_BYTES,
	FXT_SMALL_PAGE_WORDS = 64,      /* a page of a thread that has few calls in progress */
	FXT_SMALL_PAGES = FXT_PAGE_WORDS / FXT_SMALL_PAGE_WORDS,
	FXT_CHUNK_WORDS = 4096,
	FXT_CHUNK_BYTES = FXT_CHUNK_WORDS * FXT_WORD_BYTES,
	FXT_CHUNK_PAGES = FXT_CHUNK_BYTES / FXT_PAGE_BYTES,
};

/* The functions below call those of the storage, which struct fxt_storage_ops describes. */
static inline bool fxt_storage_take(struct fxt_storage *storage, uint64_t now_ns, struct fxt_chunk *chunk)
{
	return storage->ops->take(storage, now_ns, chunk);
}

static inline uint32_t fxt_storage_finish(struct fxt_storage *storage, uint32_t number, uint32_t events,
					  uint64_t last_ns)
{
	return storage->ops->finish(storage, number, events, last_ns);
}

static inline void fxt_storage_clear(struct fxt_storage *storage, const struct fxt_chunk *chunk)
{
	storage->ops->clear(storage, chunk);
}

static inline uint64_t *fxt_storage_take_page(struct fxt_storage *storage, uint64_t now_ns, uint32_t words,
					      struct fxt_chunk *taken)
{
	return storage->ops->take_page(storage, now_ns, words, taken);
}

static inline void fxt_storage_return_page(struct fxt_storage *storage, uint64_t *page, uint32_t words)
{
	storage->ops->return_page(storage, page, words);
}

static inline bool fxt_storage_durable(struct fxt_storage *storage, const uint64_t *record, size_t words,
				       size_t reserve_words)
{
	return storage->ops->durable(storage, record, words, reserve_words);
}

static inline bool fxt_storage_retract(struct fxt_storage *storage, uint32_t number, size_t at,
				       uint64_t *record, size_t words, uint64_t last)
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

static inline void fxt_storage_pause(struct fxt_storage *storage)
{
	storage->ops->pause(storage);
}

static inline void fxt_storage_after_fork(struct fxt_storage *storage, bool is_interrupted)
{
	storage->ops->after_fork(storage, is_interrupted);
}

#endif
