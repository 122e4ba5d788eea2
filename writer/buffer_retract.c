/* Retracts a record that was committed, for the sake of programs that copy the file: retract() of storage.h.
 * The chunk may be finished, and its window unmapped. Any context may call this. */
#include "buffer.h"

#include <string.h>

bool fxt_is_event_of(const uint64_t *record, size_t words, uint64_t last)
{
	return record[words - 1] == last && fxt_get_record_words(record[0]) == words &&
	       fxt_get_record_type(record[0]) == FXT_RECORD_EVENT;
}

/* Reads the record and puts a filler in its place. Returns false if it is not the record that was meant. */
static bool take_back(uint64_t *there, uint64_t *record, size_t words, uint64_t last)
{
	memcpy(record, there, words * FXT_WORD_BYTES);
	if (!fxt_is_event_of(record, words, last))
		return false;
	atomic_store_explicit((_Atomic uint64_t *)there, fxt_filler(words), memory_order_release);
	return true;
}

/* Does what take_back() does where the window is unmapped, by mapping the pages for the moment. Writing by
 * the descriptor might exceed the process's limit for file sizes, which kills. */
static bool take_back_unmapped(struct fxt_buffer *buffer, uint64_t offset, uint64_t *record, size_t words,
			       uint64_t last)
{
	size_t within = offset % FXT_PAGE_BYTES, bytes = within + words * FXT_WORD_BYTES;
	uint64_t mask = fxt_lock(&buffer->extend_lock);
	char *pages = NULL;
	bool done = false;
	int error;

	if (fxt_file_ready(buffer))
		pages = fxt_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, buffer->fd,
				     (off_t)(offset - within), &error);
	fxt_file_settle(buffer);
	if (pages) {
		done = take_back((uint64_t *)(pages + within), record, words, last);
		fxt_sys_munmap(pages, bytes);
	}
	fxt_unlock(&buffer->extend_lock, mask);
	return done;
}

bool fxt_buffer_retract(struct fxt_storage *storage, uint32_t number, size_t at, uint64_t *record,
			size_t words, uint64_t last)
{
	struct fxt_buffer *buffer = (struct fxt_buffer *)storage;
	uint64_t mask, offset = fxt_buffer_chunk_offset(buffer, number) + at * FXT_WORD_BYTES;
	struct fxt_window *window;
	bool done;

	if (buffer->mode == FXT_CIRCULAR || fxt_is_forbidden(FXT_NO_CALLS) || fxt_may_not_lock())
		return false;
	/* A manager may have saved a chunk that is finished. */
	if (buffer->managed && (number >= buffer->limit || !fxt_managed_is_held(buffer, number)))
		return false;
	/* Signals are blocked until the end, because the child of a handler that forks would retract the
	 * record as well. */
	mask = fxt_sys_block_signals();
	window = &buffer->windows[number / FXT_WINDOW_CHUNKS];
	/* In the child of a fork the chunk may be one of the parent. */
	if (buffer->tail_offset || number >= atomic_load_explicit(&buffer->extended, memory_order_acquire)) {
		done = false;
	} else if (fxt_window_keep(window)) {
		done = take_back(fxt_buffer_chunk(buffer, number) + at, record, words, last);
		fxt_window_finish(window);
		/* A chunk that was saved has the record in the file as well. */
		if (done && buffer->in_memory)
			fxt_buffer_take_back_saved(buffer, offset, record, words, last, true);
	} else if (buffer->in_memory) {
		done = fxt_buffer_take_back_saved(buffer, offset, record, words, last, false);
	} else {
		done = take_back_unmapped(buffer, offset, record, words, last);
	}
	fxt_sys_restore_signals(mask);
	return done;
}
