/* Handles a file that somebody makes shorter while it is mapped (docs/truncation.md). It is called by code
 * that finds the file shorter than it was made, and by the handler of the signal that the kernel sends for a
 * store behind the file's end. Any context may call this.
 *
 * Everything that was mapped from there on becomes private memory at the same addresses, full of zeros.
 * Emissions go on storing there, and nobody reads it: no chunk is handed out any more, and a reader of a
 * chunk stops at a record of size 0. A thread may lose what it has already stored in private memory, because
 * another thread replaces it once more; that was lost anyway.
 */
#include "buffer.h"

#include <errno.h>
#include <string.h>

bool fxt_buffer_is_cut(const struct fxt_buffer *buffer)
{
	return atomic_load_explicit(&buffer->cut, memory_order_acquire);
}

bool fxt_buffer_has_lost(const struct fxt_buffer *buffer, uint32_t number)
{
	uint64_t cut = atomic_load_explicit(&buffer->cut, memory_order_acquire);

	return cut && fxt_buffer_chunk_offset(buffer, number) + FXT_CHUNK_BYTES > cut - 1;
}

/* Cuts the file behind its last record that is whole. The rest of a chunk is one filler, so a chunk that
 * was cut ends with a record that is too long. */
static void mend(struct fxt_buffer *buffer)
{
	const uint64_t magic = FXT_MAGIC_RECORD;
	uint64_t durable_bytes = buffer->durable_words * FXT_WORD_BYTES, start, *words;
	size_t bytes, count, at = 0, n;
	struct stat status;
	int error;

	if (buffer->tail_offset || !fxt_file_is_ours(buffer, buffer->fd) ||
	    fxt_sys_fstat(buffer->fd, &status) || !status.st_size)
		return;
	start = (uint64_t)status.st_size;
	start = start < durable_bytes ? 0 : start - (start - durable_bytes) % FXT_CHUNK_BYTES;
	bytes = (size_t)((uint64_t)status.st_size - start);
	count = bytes / FXT_WORD_BYTES;
	words = bytes ? fxt_sys_mmap(NULL, bytes, PROT_READ, MAP_SHARED, buffer->fd, (off_t)start, &error)
		      : NULL;
	/* Somebody may have written other contents to the file; then it is left alone. Less than a record
	 * may be left of it. */
	if (words && (start || !memcmp(words, &magic, bytes < sizeof(magic) ? bytes : sizeof(magic)))) {
		for (; at < count; at += n) {
			n = fxt_get_record_words(words[at]);
			if (!n || n > count - at)
				break;
		}
		fxt_sys_ftruncate(buffer->fd, (off_t)(start + at * FXT_WORD_BYTES));
	}
	if (words)
		fxt_sys_munmap(words, bytes);
}

bool fxt_buffer_find_cut(struct fxt_buffer *buffer, uint64_t *bytes)
{
	uint64_t mask, cut;

	if (buffer->managed)
		return false;
	mask = fxt_lock(&buffer->extend_lock);
	fxt_file_ready(buffer);
	if (fxt_buffer_is_cut(buffer))
		mend(buffer);
	fxt_file_settle(buffer);
	fxt_unlock(&buffer->extend_lock, mask);
	cut = atomic_load_explicit(&buffer->cut, memory_order_acquire);
	*bytes = cut - 1;
	return cut;
}

/* Makes private memory of those bytes of a mapping that are in [from, to) of the file. The mapping has
 * `bytes` bytes, and begins at `start` in the file. Returns false if the kernel refuses. */
static bool make_private(void *base, uint64_t start, size_t bytes, uint64_t from, uint64_t to)
{
	int error;

	from = from > start ? from - start : 0;
	to = to < start ? 0 : to - start < bytes ? to - start : bytes;
	return from >= to ||
	       fxt_sys_mmap((char *)base + from, to - from, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0, &error);
}

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + FXT_PAGE_BYTES - 1) / FXT_PAGE_BYTES * FXT_PAGE_BYTES;
}

/* Makes private memory of everything that is mapped of [from, to) in the file. Both are whole pages.
 * Returns false if the kernel refuses. */
static bool leave_file(struct fxt_buffer *buffer, uint64_t from, uint64_t to)
{
	uint32_t windows = (buffer->limit + FXT_WINDOW_CHUNKS - 1) / FXT_WINDOW_CHUNKS, i;
	uint64_t durable_bytes = buffer->durable_words * FXT_WORD_BYTES;
	bool done = !buffer->durable || make_private(buffer->durable, 0, durable_bytes, from, to);

	for (i = 0; i < windows; i++) {
		struct fxt_window *window = &buffer->windows[i];
		uint64_t start = fxt_buffer_chunk_offset(buffer, i * FXT_WINDOW_CHUNKS);
		void *base;

		if (start + FXT_WINDOW_BYTES <= from || start >= to || !fxt_window_keep(window))
			continue;
		base = atomic_load_explicit(&window->base, memory_order_acquire);
		if (base)
			done &= make_private(base, start, FXT_WINDOW_BYTES, from, to);
		fxt_window_finish(window);
	}
	return done;
}

bool fxt_buffer_cut(struct fxt_buffer *buffer, uint64_t bytes)
{
	uint64_t before = atomic_load_explicit(&buffer->cut, memory_order_relaxed);

	do {
		if (before && before <= bytes + 1)
			return true;
	} while (!atomic_compare_exchange_weak_explicit(&buffer->cut, &before, bytes + 1,
							memory_order_acq_rel, memory_order_relaxed));
	/* Nothing is to be done if the buffer is in memory, or nothing of it is mapped. */
	return buffer->in_memory || !buffer->windows ||
	       leave_file(buffer, whole_pages(bytes), before ? whole_pages(before - 1) : UINT64_MAX);
}

uint64_t fxt_buffer_file_bytes(const struct fxt_buffer *buffer)
{
	if (buffer->managed)
		return 0;
	if (buffer->tail_offset)
		return buffer->tail_offset;
	return fxt_buffer_chunk_offset(buffer, atomic_load_explicit(&buffer->extended, memory_order_acquire));
}

/* Returns the offset in the file of an address in a mapping of the buffer; UINT64_MAX if the address is in
 * none. */
static uint64_t offset_of(const struct fxt_buffer *buffer, uintptr_t at)
{
	uint32_t windows = (buffer->limit + FXT_WINDOW_CHUNKS - 1) / FXT_WINDOW_CHUNKS, i;

	if (buffer->durable && at - (uintptr_t)buffer->durable < buffer->durable_words * FXT_WORD_BYTES)
		return at - (uintptr_t)buffer->durable;
	for (i = 0; i < windows; i++) {
		uintptr_t base =
			(uintptr_t)atomic_load_explicit(&buffer->windows[i].base, memory_order_relaxed);

		if (base && at - base < FXT_WINDOW_BYTES)
			return fxt_buffer_chunk_offset(buffer, i * FXT_WINDOW_CHUNKS) + (at - base);
	}
	return UINT64_MAX;
}

bool fxt_buffer_fault(struct fxt_buffer *buffer, uintptr_t at)
{
	uintptr_t page = at & ~(uintptr_t)(FXT_PAGE_BYTES - 1);
	uint64_t offset = buffer->windows ? offset_of(buffer, page) : UINT64_MAX;

	if (offset == UINT64_MAX && fxt_range_is_empty(fxt_place_first((struct fxt_range){page, page + 1})))
		return false;
	/* The page itself comes first: if the file was found cut before, everything behind it is private
	 * memory already. */
	if (!make_private((void *)page, 0, FXT_PAGE_BYTES, 0, FXT_PAGE_BYTES))
		return false;
	return offset == UINT64_MAX || fxt_buffer_cut(buffer, offset);
}
