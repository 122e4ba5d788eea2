/* Copying a buffer while it is written: see fxt_buffer_snapshot() in buffer.h.
 *
 * A chunk is read as its writer committed it: a header with acquire order first, then the words behind it, so that what
 * is copied is whole without any word from the writer. Three things move under the reader:
 *   - a chunk of the ring may be emptied for somebody else: its turns tell, and it is read again;
 *   - the slots of calls in progress are rewritten in place: a slot's first two words, of which the second is a time that is
 *     never used twice, are compared after it was copied, and it is read again;
 *   - a page of such slots may be given back and divided anew: page_lock is held while a chunk is read, and a page that nobody
 *     holds is one filler.
 *
 * A thread that needs a chunk that was not read yet waits until it is: were it given to newer events, these would be there
 * and others before them not.
 *
 * The durable area is read last and stands first: whatever was referred to meanwhile is in it.
 */
#include "buffer.h"

#include <errno.h>
#include <string.h>

#include "record_file.h"

enum { TRIES = 8 };

static uint64_t load(const uint64_t *at, memory_order order)
{
	return atomic_load_explicit((const _Atomic uint64_t *)at, order);
}

/* One record to the file, unless it is changing: then its slot is left out for this time. */
static void copy_record(struct fxt_record_file *file, const uint64_t *record, uint64_t header, size_t words)
{
	uint64_t *room = fxt_record_file_room(file, words);
	unsigned tries;
	size_t i;

	for (tries = 0; room && tries < TRIES; tries++) {
		room[0] = header;
		for (i = 1; i < words; i++)
			room[i] = load(record + i, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		/* The same header may be the next call's, whose time is then there too. */
		if (load(record, memory_order_acquire) == header &&
		    (words == 1 || load(record + 1, memory_order_relaxed) == room[1])) {
			fxt_record_file_filled(file, words);
			return;
		}
		header = load(record, memory_order_acquire);
		if (fxt_is_filler(header) || fxt_get_record_words(header) != words)
			return;
	}
}

/* False when the words make no sense: they are not the ones that were there when the reading began. */
static bool copy_words(struct fxt_record_file *file, const uint64_t *from, size_t count)
{
	size_t at, words;
	uint64_t header;

	for (at = 0; at < count; at += words) {
		header = load(from + at, memory_order_acquire);
		words = fxt_get_record_words(header);
		if (!words || words > count - at)
			return false;
		if (!fxt_is_filler(header))
			copy_record(file, from + at, header, words);
	}
	return true;
}

/* As many records as a chunk may have fit into the file's memory, so that taking them back is possible. */
static void copy_chunk(struct fxt_buffer *buffer, struct fxt_record_file *file, uint32_t number)
{
	const uint64_t *base = fxt_buffer_chunk(buffer, number);
	struct fxt_chunk_past *past = &buffer->past[number];
	unsigned before, tries;
	size_t used;
	uint64_t mask;

	for (tries = 0; tries < TRIES; tries++) {
		if (!fxt_record_file_room(file, FXT_CHUNK_WORDS))
			return;
		used = file->used;
		mask = fxt_lock(&buffer->page_lock);
		before = atomic_load_explicit(&past->turns, memory_order_acquire);
		if (copy_words(file, base, FXT_CHUNK_WORDS)) {
			atomic_thread_fence(memory_order_acquire);
			if (atomic_load_explicit(&past->turns, memory_order_relaxed) == before) {
				fxt_unlock(&buffer->page_lock, mask);
				return;
			}
		}
		fxt_unlock(&buffer->page_lock, mask);
		file->used = used;
	}
}

/* Fillers over words [from, to) of the file; what they span may be a hole. */
static int fill(int fd, uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t words = to - from < FXT_RECORD_MAX_WORDS ? to - from : FXT_RECORD_MAX_WORDS;
		uint64_t header = fxt_filler(words);
		struct iovec word = {&header, sizeof(header)};
		ssize_t n = fxt_sys_pwritev(fd, &word, 1, (off_t)(from * FXT_WORD_BYTES));

		if (n == -EINTR)
			continue;
		if (n != sizeof(header))
			return n < 0 ? (int)n : -ENOSPC;
		from += words;
	}
	return 0;
}

/* First what may be overwritten soonest. Then what is held, or was when it was to be read: who gives such a chunk back does
 * not find it opened before the end. */
static void copy_ring(struct fxt_buffer *buffer, struct fxt_record_file *file)
{
	uint64_t position, end = fxt_ring_close(&buffer->ring, &position);
	unsigned snapshot = ++buffer->snapshots;
	uint32_t number;

	for (; !file->error && position < end; position++) {
		if (fxt_ring_at(&buffer->ring, position, &number)) {
			copy_chunk(buffer, file, number);
			buffer->past[number].saved = snapshot;
		}
		fxt_ring_open(&buffer->ring, position + 1);
	}
	for (number = 0; !file->error && number < buffer->limit; number++)
		if (buffer->past[number].saved != snapshot)
			copy_chunk(buffer, file, number);
	fxt_ring_open(&buffer->ring, UINT64_MAX);
}

static void copy_chunks(struct fxt_buffer *buffer, struct fxt_record_file *file)
{
	uint64_t i, count = atomic_load_explicit(&buffer->cursor, memory_order_acquire);

	for (i = 0; !file->error && i < count && i < buffer->limit; i++)
		copy_chunk(buffer, file, (uint32_t)i);
}

static int write_snapshot(struct fxt_buffer *buffer, int fd)
{
	struct fxt_record_file file;
	int error = fxt_record_file_open(&file, fd, buffer->durable_words * FXT_WORD_BYTES);

	/* The durable area's last filler covers words that are not written, and there may be nothing behind it. */
	if (!error)
		error = fxt_sys_ftruncate(fd, (off_t)file.offset);
	if (!error) {
		(buffer->mode == FXT_CIRCULAR ? copy_ring : copy_chunks)(buffer, &file);
		error = file.error;
	}
	if (!error)
		error = fxt_record_file_flush(&file);
	if (!error) {
		file.offset = 0;
		copy_words(&file, buffer->durable, buffer->durable_words);
		error = fxt_record_file_flush(&file);
	}
	if (!error)
		error = fill(fd, file.offset / FXT_WORD_BYTES, buffer->durable_words);
	fxt_record_file_close(&file);
	return error;
}

int fxt_buffer_snapshot(struct fxt_buffer *buffer, char *path)
{
	struct rlimit limit;
	bool nameless;
	int fd, error;

	/* Streaming files are whole at any time, and their windows are not all mapped. */
	if (buffer->mode == FXT_STREAMING || buffer->tail_offset)
		return -EINVAL;
	/* Past this limit the kernel does not only refuse: it sends SIGXFSZ. */
	if (!fxt_sys_getrlimit(RLIMIT_FSIZE, &limit) &&
	    (buffer->durable_words + (uint64_t)buffer->limit * FXT_CHUNK_WORDS) * FXT_WORD_BYTES > limit.rlim_cur)
		return -EFBIG;
	fd = fxt_file_open_hidden(path, &nameless);
	if (fd < 0)
		return fd;
	fd = fxt_file_move_high(fd);
	error = write_snapshot(buffer, fd);
	if (!error)
		error = fxt_file_reveal(fd, path, nameless);
	if (error)
		fxt_file_discard(path, nameless);
	fxt_sys_close(fd);
	return error;
}
