/* Copies a buffer while it is written. fxt_buffer_snapshot() says who calls this and in which context;
 * docs/snapshots.md describes the whole.
 *
 * A chunk is read as its writer committed it: first a header with acquire order, then the words behind it.
 * So what is copied is whole, without any help from the writer. Three things may change while they are
 * read:
 *   - A chunk of the ring may be emptied for another thread. Its turns tell, and it is read again.
 *   - The slots of calls in progress are rewritten in place. The second word of a slot is a time that is
 *     never used twice. The first two words are compared after the slot was copied, and if they differ it is
 *     read again.
 *   - A page of such slots may be given back and divided anew. So page_lock is held while a chunk is read,
 *     and a page that nobody holds is one filler.
 *
 * A call in progress is in its slot until its record is committed. If slots were read only before the
 * chunks, a call that ends in between would be copied twice. If they were read only afterwards, calls would
 * be copied that began after others which are missing. So slots are read twice: a call that was there
 * before any chunk was read, and is there afterwards, was in progress all the time.
 *
 * A thread that needs a chunk which was not read yet waits until it is. If the chunk were given to newer
 * events, the snapshot would have these and lack others before them.
 *
 * The durable area is read last and stands first, so it has everything that was referred to meanwhile.
 */
#include "buffer.h"

#include <errno.h>
#include <string.h>

#include "apart.h"
#include "record_file.h"

enum { TRIES = 8, LEAST_SLOT_WORDS = 4, SLOTS_IN_CHUNK = FXT_CHUNK_WORDS / LEAST_SLOT_WORDS };

/* This holds the calls that were in progress at first. `start_ns` has a time for the place of each slot, at
 * which its call began; 0 means that there was none. It is NULL if there is no memory. */
struct first_look {
	uint64_t *start_ns;
	uint32_t chunks;                /* how many chunks had been divided into pages by then */
	size_t bytes;
};

static uint64_t load(const uint64_t *at, memory_order order)
{
	return atomic_load_explicit((const _Atomic uint64_t *)at, order);
}

/* Copies one record to the file. A record that keeps changing is left out. */
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
		/* The same header may be that of the slot's next call; then the time is another one. */
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

static bool is_open_call(uint64_t header)
{
	return fxt_get_record_type(header) == FXT_RECORD_EVENT &&
	       fxt_get_event_type(header) == FXT_EVENT_DURATION_BEGIN;
}

/* Copies the records of `count` words. Returns false if the words make no sense, because they were changed
 * while they were read. `start_ns` is NULL except for a chunk of pages: there it says, by place, which
 * calls in progress to copy. */
static bool copy_words(struct fxt_record_file *file, const uint64_t *from, size_t count,
		       const uint64_t *start_ns)
{
	size_t at, words;
	uint64_t header;

	for (at = 0; at < count; at += words) {
		header = load(from + at, memory_order_acquire);
		words = fxt_get_record_words(header);
		if (!words || words > count - at)
			return false;
		if (fxt_is_filler(header))
			continue;
		if (start_ns && is_open_call(header) &&
		    load(from + at + 1, memory_order_relaxed) != start_ns[at / LEAST_SLOT_WORDS])
			continue;
		copy_record(file, from + at, header, words);
	}
	return true;
}

static bool is_pages(struct fxt_buffer *buffer, uint32_t number)
{
	return atomic_load_explicit(&buffer->past[number].is_pages, memory_order_acquire);
}

/* Copies a chunk. All records of a chunk fit into the file's memory, so they can be removed from it again
 * if the chunk has changed meanwhile. A chunk that becomes pages meanwhile is left out, because its calls
 * began after the snapshot did. */
static void copy_chunk(struct fxt_buffer *buffer, struct fxt_record_file *file, uint32_t number,
		       const uint64_t *start_ns)
{
	const uint64_t *base = fxt_buffer_chunk(buffer, number);
	struct fxt_chunk_past *past = &buffer->past[number];
	unsigned before, tries;
	size_t used;
	uint64_t mask;

	for (tries = 0; tries < TRIES && (start_ns || !is_pages(buffer, number)); tries++) {
		if (!fxt_record_file_room(file, FXT_CHUNK_WORDS))
			return;
		used = file->used;
		mask = fxt_lock(&buffer->page_lock);
		before = atomic_load_explicit(&past->turns, memory_order_acquire);
		if (copy_words(file, base, FXT_CHUNK_WORDS, start_ns)) {
			atomic_thread_fence(memory_order_acquire);
			if (atomic_load_explicit(&past->turns, memory_order_relaxed) == before &&
			    (start_ns || !is_pages(buffer, number))) {
				fxt_unlock(&buffer->page_lock, mask);
				return;
			}
		}
		fxt_unlock(&buffer->page_lock, mask);
		file->used = used;
	}
}

/* -- Calls in progress -------------------------------------------------------------------------- */

static void note_open_calls(struct fxt_buffer *buffer, uint32_t number, uint64_t *start_ns)
{
	const uint64_t *base = fxt_buffer_chunk(buffer, number);
	uint64_t mask = fxt_lock(&buffer->page_lock), header;
	size_t at, words;

	for (at = 0; at < FXT_CHUNK_WORDS; at += words) {
		header = load(base + at, memory_order_acquire);
		words = fxt_get_record_words(header);
		if (!words || words > FXT_CHUNK_WORDS - at)
			break;
		if (is_open_call(header))
			start_ns[at / LEAST_SLOT_WORDS] = load(base + at + 1, memory_order_relaxed);
	}
	fxt_unlock(&buffer->page_lock, mask);
}

static void look_first(struct fxt_buffer *buffer, struct first_look *look)
{
	uint32_t number, most = atomic_load_explicit(&buffer->page_chunks, memory_order_relaxed);

	*look = (struct first_look){.bytes = (size_t)most * SLOTS_IN_CHUNK * sizeof(uint64_t)};
	look->start_ns = most ? fxt_sys_memory(look->bytes) : NULL;
	for (number = 0; look->start_ns && number < buffer->limit && look->chunks < most; number++) {
		if (!is_pages(buffer, number))
			continue;
		buffer->past[number].pages_number = look->chunks + 1;
		note_open_calls(buffer, number, look->start_ns + (size_t)look->chunks++ * SLOTS_IN_CHUNK);
	}
}

static void copy_open_calls(struct fxt_buffer *buffer, struct fxt_record_file *file, struct first_look *look)
{
	uint32_t number, found = 0;

	/* The order is the same as at first. Chunks that became pages since then have new calls only. */
	for (number = 0; !file->error && number < buffer->limit && found < look->chunks; number++) {
		if (!is_pages(buffer, number) || buffer->past[number].pages_number != found + 1)
			continue;
		copy_chunk(buffer, file, number, look->start_ns + (size_t)found++ * SLOTS_IN_CHUNK);
	}
	if (look->start_ns)
		fxt_sys_munmap(look->start_ns, look->bytes);
}

/* Stores fillers over words [from, to) of the file. The words that they span may be a hole. */
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

/* Copies a ring: first the chunks that would be overwritten soonest, then those that threads hold, or held
 * when it was their turn to be read. A thread that gives such a chunk back finds the gate closed for it
 * until the end. */
static void copy_ring(struct fxt_buffer *buffer, struct fxt_record_file *file)
{
	/* A chunk that is handed out for the first time from now on is not copied: it has newer events than
	 * some that will be missing. */
	uint64_t count = atomic_load_explicit(&buffer->cursor, memory_order_acquire);
	uint64_t position, end = fxt_ring_close(&buffer->ring, &position);
	unsigned snapshot = ++buffer->snapshots;
	uint32_t number;

	for (; !file->error && position < end; position++) {
		if (fxt_ring_at(&buffer->ring, position, &number)) {
			copy_chunk(buffer, file, number, NULL);
			buffer->past[number].saved = snapshot;
		}
		fxt_ring_open(&buffer->ring, position + 1);
	}
	for (number = 0; !file->error && number < count; number++)
		if (buffer->past[number].saved != snapshot)
			copy_chunk(buffer, file, number, NULL);
	fxt_ring_open(&buffer->ring, UINT64_MAX);
}

static void copy_chunks(struct fxt_buffer *buffer, struct fxt_record_file *file)
{
	uint64_t i, count = atomic_load_explicit(&buffer->cursor, memory_order_acquire);

	for (i = 0; !file->error && i < count && i < buffer->limit; i++)
		copy_chunk(buffer, file, (uint32_t)i, NULL);
}

static int write_snapshot(struct fxt_buffer *buffer, int fd)
{
	struct fxt_record_file file;
	struct first_look look;
	int error = fxt_record_file_open(&file, fd, buffer->durable_words * FXT_WORD_BYTES);

	/* The file gets the durable area's size first: its last filler covers words that are not written,
	 * and nothing may follow them. */
	if (!error)
		error = fxt_sys_is_past_limit(file.offset) ? -EFBIG
							   : fxt_sys_ftruncate(fd, (off_t)file.offset);
	if (!error) {
		look_first(buffer, &look);
		(buffer->mode == FXT_CIRCULAR ? copy_ring : copy_chunks)(buffer, &file);
		copy_open_calls(buffer, &file, &look);
		error = file.error;
	}
	if (!error)
		error = fxt_record_file_flush(&file);
	if (!error) {
		file.offset = 0;
		copy_words(&file, buffer->durable, buffer->durable_words, NULL);
		error = fxt_record_file_flush(&file);
	}
	if (!error)
		error = fill(fd, file.offset / FXT_WORD_BYTES, buffer->durable_words);
	fxt_record_file_close(&file);
	return error;
}

struct saving {
	struct fxt_buffer *buffer;
	char *path;
};

static long save(void *argument)
{
	const struct saving *saving = argument;
	struct fxt_buffer *buffer = saving->buffer;
	char *path = saving->path;
	bool nameless;
	int fd, error;

	fd = fxt_file_open_hidden(path, &nameless);
	if (fd < 0)
		return fd;
	if (fxt_opens_here())
		fd = fxt_file_move_high(fd);
	error = write_snapshot(buffer, fd);
	/* Chunks that became private memory were not copied whole. */
	if (!error && fxt_buffer_is_cut(buffer))
		error = -ESTALE;
	if (!error)
		error = fxt_file_reveal(fd, path, nameless);
	if (error)
		fxt_file_discard(path, nameless);
	fxt_sys_close(fd);
	return error;
}

int fxt_buffer_snapshot(struct fxt_buffer *buffer, char *path)
{
	struct saving saving = {buffer, path};

	/* A streaming file is whole at any time, so nobody needs a snapshot of it; and its windows are not
	 * all mapped. What a manager saves is the manager's to copy. */
	if (buffer->mode == FXT_STREAMING || buffer->tail_offset || buffer->managed)
		return -EINVAL;
	return (int)fxt_apart(save, &saving);
}
