/* Implements storage.h for the buffer. buffer.h says who may call these functions. */
#include "buffer.h"

#include <errno.h>
#include <string.h>

static struct fxt_buffer *buffer_of(struct fxt_storage *storage)
{
	return (struct fxt_buffer *)storage;
}

static inline void store(uint64_t *at, uint64_t value)
{
	atomic_store_explicit((_Atomic uint64_t *)at, value, memory_order_release);
}

/* Stores a filler for the rest of the chunk at the head of each cache line behind the first: see lane.h. */
static void lay_heads(uint64_t *base, size_t words)
{
	uint64_t *end = base + words - 1, *head;

	for (head = (uint64_t *)(((uintptr_t)base | 63) + 1); head < end; head += 64 / FXT_WORD_BYTES)
		store(head, fxt_filler((uint64_t)(end - head)));
}

uint64_t *fxt_buffer_chunk(struct fxt_buffer *buffer, uint32_t number)
{
	uint64_t *base =
		atomic_load_explicit(&buffer->windows[number / FXT_WINDOW_CHUNKS].base, memory_order_acquire);

	return base + (size_t)(number % FXT_WINDOW_CHUNKS) * FXT_CHUNK_WORDS;
}

/* Hands out a chunk at a rewritten file's end. Each of the first chunks is twice as large as the one before.
 * The strings that the rewritten file lacks stand in front of the first chunk that is had, which is small. */
static bool take_tail(struct fxt_buffer *buffer, struct fxt_chunk *chunk)
{
	unsigned number = (unsigned)atomic_fetch_add_explicit(&buffer->cursor, 1, memory_order_relaxed);
	unsigned pages = number < 3 ? 1u << number : FXT_CHUNK_PAGES;
	uint64_t mask, offset;
	size_t strings;
	void *base = NULL;
	int error;

	if (fxt_is_forbidden(FXT_NO_GROWTH) || fxt_may_not_lock())
		return false;
	mask = fxt_lock(&buffer->extend_lock);
	strings = buffer->left_out_words;
	if (strings)
		pages = 1 + (unsigned)((strings * FXT_WORD_BYTES + FXT_PAGE_BYTES - 1) / FXT_PAGE_BYTES);
	offset = buffer->tail_offset;
	error = fxt_file_ready(buffer) ? fxt_file_append_pages(buffer->fd, offset, pages) : -EBADF;
	if (!error) {
		/* The file ends where its records end, within a page, which is mapped as well. */
		uint64_t start = offset & ~(uint64_t)(FXT_PAGE_BYTES - 1);

		base = fxt_sys_mmap(NULL, offset - start + (size_t)pages * FXT_PAGE_BYTES,
				    PROT_READ | PROT_WRITE, MAP_SHARED, buffer->fd, (off_t)start, &error);
		buffer->tail_offset = offset + (uint64_t)pages * FXT_PAGE_BYTES;
		/* Nobody will save the buffer any more, so the file is mapped even for a buffer in memory,
		 * and gets its room now. */
		if (base && buffer->in_memory)
			error = fxt_sys_madvise(base, offset - start + (size_t)pages * FXT_PAGE_BYTES,
						MADV_POPULATE_WRITE);
		if (base && error) {
			fxt_sys_munmap(base, offset - start + (size_t)pages * FXT_PAGE_BYTES);
			base = NULL;
		}
		if (base)
			base = (char *)base + (offset - start);
	}
	fxt_file_settle(buffer);
	atomic_store_explicit(&buffer->failure, base ? 0 : error, memory_order_relaxed);
	if (base)
		buffer->left_out_words = 0;
	fxt_unlock(&buffer->extend_lock, mask);
	if (!base)
		return false;
	*chunk = (struct fxt_chunk){.base = base, .words = pages * FXT_PAGE_WORDS, .number = number,
				    .is_copied = true};
	fxt_chunk_empty(chunk->base, chunk->words);
	/* The file's new pages have fillers at the heads of cache lines. They are misplaced if the rewritten
	 * part has ended within a cache line. */
	lay_heads(chunk->base, chunk->words);
	if (strings) {
		chunk->base[strings] = fxt_filler(chunk->words - 1 - strings);
		memcpy(chunk->base + 1, buffer->left_out + 1, (strings - 1) * FXT_WORD_BYTES);
		store(chunk->base, buffer->left_out[0]);
		chunk->base += strings;
		chunk->words -= (uint32_t)strings;
	}
	return true;
}

static uint64_t *take_tail_page(struct fxt_buffer *buffer, uint32_t words)
{
	struct fxt_chunk chunk;

	if (!take_tail(buffer, &chunk) || chunk.words < words)
		return NULL;
	if (chunk.words > words)
		store(&chunk.base[words], fxt_filler(chunk.words - words));
	fxt_chunk_empty(chunk.base, words);
	return chunk.base;
}

static bool take_oldest(struct fxt_buffer *buffer, struct fxt_chunk *chunk)
{
	struct fxt_chunk_past *past;
	uint32_t number;
	bool waited;

	if (!fxt_ring_take(&buffer->ring, &number, &waited))
		return false;
	past = &buffer->past[number];
	*chunk = (struct fxt_chunk){.base = fxt_buffer_chunk(buffer, number), .words = FXT_CHUNK_WORDS,
				    .number = number, .has_waited = waited};
	/* This comes before any store to the chunk. A snapshot that copies such a store sees the new turn. */
	atomic_fetch_add_explicit(&past->turns, 1, memory_order_acq_rel);
	atomic_thread_fence(memory_order_release);
	chunk->overwritten = fxt_buffer_give_up(buffer, number);
	return true;
}

/* Hands out a chunk that nobody had before. The file grows if it has none. */
static bool take_new(struct fxt_buffer *buffer, uint64_t now_ns, struct fxt_chunk *chunk)
{
	uint64_t number = atomic_load_explicit(&buffer->cursor, memory_order_relaxed);

	do {
		if (number >= buffer->limit)
			return false;
		if (number >= atomic_load_explicit(&buffer->extended, memory_order_acquire) &&
		    !fxt_buffer_grow_for(buffer, (uint32_t)number, now_ns))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&buffer->cursor, &number, number + 1,
							memory_order_relaxed, memory_order_relaxed));
	*chunk = (struct fxt_chunk){.base = fxt_buffer_chunk(buffer, (uint32_t)number),
				    .words = FXT_CHUNK_WORDS, .number = (uint32_t)number,
				    .is_copied = buffer->mode != FXT_CIRCULAR};
	fxt_buffer_grow_ahead(buffer, (uint32_t)number, now_ns);
	return true;
}

static bool take(struct fxt_storage *storage, uint64_t now_ns, struct fxt_chunk *chunk)
{
	struct fxt_buffer *buffer = buffer_of(storage);

	if (buffer->tail_offset)
		return take_tail(buffer, chunk);
	if (fxt_buffer_is_cut(buffer))
		return false;
	/* A ring that cannot grow any more reuses the chunks that it has. */
	return take_new(buffer, now_ns, chunk) ||
	       (buffer->mode == FXT_CIRCULAR && take_oldest(buffer, chunk));
}

void fxt_window_finish(struct fxt_window *window)
{
	if (atomic_fetch_add_explicit(&window->finished, 1, memory_order_acq_rel) + 1 == FXT_WINDOW_CHUNKS)
		fxt_sys_munmap(atomic_exchange_explicit(&window->base, NULL, memory_order_relaxed),
			       FXT_WINDOW_BYTES);
}

/* `finished` wraps around below 0 if none of the window's chunks is finished yet. */
bool fxt_window_keep(struct fxt_window *window)
{
	unsigned finished = atomic_load_explicit(&window->finished, memory_order_relaxed);

	do {
		if (finished == FXT_WINDOW_CHUNKS)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&window->finished, &finished, finished - 1,
							memory_order_acq_rel, memory_order_relaxed));
	return true;
}

/* Returns whether a finished chunk is saved at once. A chunk of a ring is not while the file system is
 * full: writing it again takes new blocks, and the file system may give out those that were freed only after
 * a commit, which takes some ten milliseconds. */
static bool saves_now(const struct fxt_buffer *buffer)
{
	int error = atomic_load_explicit(&buffer->failure, memory_order_relaxed);

	return buffer->in_memory && !fxt_may_not_lock() &&
	       !(buffer->mode == FXT_CIRCULAR && (error == -ENOSPC || error == -EDQUOT));
}

static uint32_t finish(struct fxt_storage *storage, uint32_t number, uint32_t events, uint64_t last_ns)
{
	struct fxt_buffer *buffer = buffer_of(storage);
	int error = 0;

	if (buffer->tail_offset)
		return 0;
	/* No lock may be taken here, so the chunk is saved with the others, at the end. */
	if (buffer->in_memory && buffer->mode != FXT_CIRCULAR && fxt_may_not_lock())
		return 0;
	if (fxt_buffer_has_lost(buffer, number))
		error = -ESTALE;
	else if (saves_now(buffer))
		error = fxt_buffer_save_chunk(buffer, number);
	if (error)
		atomic_store_explicit(&buffer->failure, error, memory_order_relaxed);
	if (buffer->mode == FXT_CIRCULAR) {
		/* A chunk that is not saved now is saved at the end, unless it was overwritten by then. */
		buffer->past[number].events = events;
		buffer->past[number].last_ns = last_ns;
		fxt_ring_give_back(&buffer->ring, number);
		return 0;
	}
	/* The events are counted as lost, so they must not be saved later. */
	if (error)
		fxt_chunk_empty(fxt_buffer_chunk(buffer, number), FXT_CHUNK_WORDS);
	if (buffer->mode == FXT_STREAMING)
		fxt_window_finish(&buffer->windows[number / FXT_WINDOW_CHUNKS]);
	return error ? events : 0;
}

static int failure(const struct fxt_storage *storage)
{
	const struct fxt_buffer *buffer = (const struct fxt_buffer *)storage;

	return fxt_buffer_is_cut(buffer) ? -ESTALE
					 : atomic_load_explicit(&buffer->failure, memory_order_relaxed);
}

static uint64_t none_before(const struct fxt_storage *storage)
{
	const struct fxt_buffer *buffer = (const struct fxt_buffer *)storage;

	if (fxt_buffer_is_cut(buffer))
		return FXT_NEVER;
	/* A chunk of the ring comes back some time, and a file that was rewritten has no limit. */
	if (buffer->mode == FXT_CIRCULAR || buffer->tail_offset)
		return 0;
	if (atomic_load_explicit(&buffer->cursor, memory_order_relaxed) >= buffer->limit ||
	    fxt_is_forbidden(FXT_NO_GROWTH))
		return FXT_NEVER;
	return atomic_load_explicit(&buffer->retry_ns, memory_order_relaxed);
}

bool fxt_buffer_durable(struct fxt_storage *storage, const uint64_t *record, size_t words,
			size_t reserve_words)
{
	struct fxt_buffer *buffer = buffer_of(storage);
	uint64_t mask, *to;
	size_t at, end;
	bool fits;

	if (fxt_may_not_lock())
		return false;
	mask = fxt_lock(&buffer->durable_lock);
	at = buffer->durable_at;
	end = buffer->durable_region_end;
	/* The rewritten file has no durable area. */
	if (buffer->tail_offset) {
		fxt_unlock(&buffer->durable_lock, mask);
		return false;
	}
	if (end - at < words) {
		at = end;
		end = at + FXT_RECORD_MAX_WORDS < buffer->durable_words ? at + FXT_RECORD_MAX_WORDS
									: buffer->durable_words;
	}
	fits = end - at >= words && buffer->durable_words - at >= words + reserve_words;
	if (fits) {
		to = buffer->durable + at;
		if (at + words < end)
			to[words] = fxt_filler(end - at - words);
		memcpy(to + 1, record + 1, (words - 1) * FXT_WORD_BYTES);
		store(to, record[0]);
		buffer->durable_at = at + words;
		buffer->durable_region_end = end;
		if (buffer->managed)
			atomic_store_explicit(&buffer->header->durable_data_end,
					      (at + words) * FXT_WORD_BYTES, memory_order_release);
	}
	fxt_unlock(&buffer->durable_lock, mask);
	return fits;
}

void fxt_buffer_durable_retract(struct fxt_buffer *buffer, bool (*is_over)(const uint64_t *record))
{
	uint64_t mask = fxt_lock(&buffer->durable_lock);
	size_t at, words;

	for (at = 0; at < buffer->durable_at; at += words) {
		uint64_t *record = buffer->durable + at;

		words = fxt_get_record_words(record[0]);
		if (!words)
			break;
		if (is_over(record))
			store(record, fxt_filler(words));
	}
	fxt_unlock(&buffer->durable_lock, mask);
}

static struct fxt_free_pages *free_pages_of(struct fxt_buffer *buffer, uint32_t words)
{
	return words == FXT_PAGE_WORDS ? &buffer->free_pages : &buffer->free_small_pages;
}

void fxt_buffer_return_page(struct fxt_storage *storage, uint64_t *page, uint32_t words)
{
	struct fxt_buffer *buffer = buffer_of(storage);
	struct fxt_free_pages *pages = free_pages_of(buffer, words);
	uint64_t mask;

	/* The next holder divides the page into slots anew, behind this filler. */
	fxt_chunk_empty(page, words);
	if (fxt_may_not_lock())
		return;
	mask = fxt_lock(&buffer->page_lock);
	if (pages->count < FXT_FREE_PAGES_MAX)
		pages->list[pages->count++] = page;
	fxt_unlock(&buffer->page_lock, mask);
}

/* Takes a page of `words` words from the front of what is left of a larger one, or of a chunk. What stays
 * there is covered by one filler at any time, and not touched before it is needed. Returns NULL if nothing
 * is left. The caller holds page_lock. */
static uint64_t *carve(struct fxt_undivided *left, uint32_t words)
{
	uint64_t *page = left->at;

	if (!left->words)
		return NULL;
	left->at += words;
	left->words -= words;
	/* The last word of all is a filler already. */
	if (left->words) {
		store(left->at, fxt_filler(left->words - 1));
		fxt_chunk_empty(page, words);
	}
	return page;
}

/* Makes a chunk a row of pages, for good. Its first page is `taken`'s. */
static bool take_chunk_of_pages(struct fxt_buffer *buffer, uint64_t now_ns, struct fxt_chunk *taken)
{
	uint32_t most = buffer->managed ? fxt_managed_page_chunks(buffer) : buffer->limit / 2;

	/* A buffer whose chunks are used again keeps room for events, because pages are not given back before
	 * their thread has ended. It is counted before it is taken, as many threads may come here at once. */
	if ((atomic_fetch_add_explicit(&buffer->page_chunks, 1, memory_order_relaxed) >= most &&
	     (buffer->mode == FXT_CIRCULAR || buffer->managed)) ||
	    !fxt_storage_take(&buffer->storage, now_ns, taken)) {
		atomic_fetch_sub_explicit(&buffer->page_chunks, 1, memory_order_relaxed);
		return false;
	}
	/* This is stored before any thread has a page of the chunk. */
	atomic_store_explicit(&buffer->past[taken->number].is_pages, true, memory_order_release);
	/* A manager reads each page by itself from here on. */
	if (buffer->managed)
		fxt_managed_has_pages(buffer, taken->number);
	return true;
}

/* Returns a page that nobody has: one that was given back, or a part of a chunk or of a larger page. */
static uint64_t *take_free_page(struct fxt_buffer *buffer, uint32_t words)
{
	struct fxt_free_pages *pages = free_pages_of(buffer, words);
	uint64_t mask = fxt_lock(&buffer->page_lock), *page = NULL;

	if (pages->count)
		page = pages->list[--pages->count];
	else if (words == FXT_PAGE_WORDS)
		page = carve(&buffer->undivided_chunk, words);
	else
		page = carve(&buffer->undivided_page, words);
	fxt_unlock(&buffer->page_lock, mask);
	return page;
}

/* Gives `words` words from `at` on to be divided, or to be free pages if another thread has done so
 * before. */
static void add_undivided(struct fxt_buffer *buffer, struct fxt_undivided *left, uint64_t *at, uint32_t words,
			  uint32_t page_words)
{
	uint64_t mask = fxt_lock(&buffer->page_lock);
	struct fxt_undivided more = {at, words};
	struct fxt_free_pages *pages = free_pages_of(buffer, page_words);
	uint64_t *page;

	if (!left->words)
		*left = more;
	else
		while ((page = carve(&more, page_words)) && pages->count < FXT_FREE_PAGES_MAX)
			pages->list[pages->count++] = page;
	fxt_unlock(&buffer->page_lock, mask);
}

uint64_t *fxt_buffer_take_page(struct fxt_storage *storage, uint64_t now_ns, uint32_t words,
			       struct fxt_chunk *taken)
{
	struct fxt_buffer *buffer = buffer_of(storage);
	uint64_t *page;

	*taken = (struct fxt_chunk){0};
	if (fxt_may_not_lock())
		return NULL;
	if (buffer->tail_offset)
		return take_tail_page(buffer, words);
	for (;;) {
		page = take_free_page(buffer, words);
		if (page)
			return page;
		page = words == FXT_PAGE_WORDS ? NULL : take_free_page(buffer, FXT_PAGE_WORDS);
		if (page)
			add_undivided(buffer, &buffer->undivided_page, page, FXT_PAGE_WORDS, words);
		else if (take_chunk_of_pages(buffer, now_ns, taken))
			add_undivided(buffer, &buffer->undivided_chunk, taken->base, FXT_CHUNK_WORDS,
				      FXT_PAGE_WORDS);
		else
			return NULL;
	}
}

static void pause_a_little(struct fxt_storage *storage)
{
	static const struct timespec pause = {0, FXT_PAUSE_NS};

	(void)storage;
	FXT_SYSCALL2(SYS_nanosleep, &pause, NULL);
}

const struct fxt_storage_ops fxt_buffer_ops = {
	.take = take,
	.finish = finish,
	.clear = fxt_buffer_clear,
	.take_page = fxt_buffer_take_page,
	.return_page = fxt_buffer_return_page,
	.durable = fxt_buffer_durable,
	.retract = fxt_buffer_retract,
	.failure = failure,
	.none_before = none_before,
	.pause = pause_a_little,
	.after_fork = fxt_buffer_after_fork,
};
