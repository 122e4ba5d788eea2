/* Grows the trace file, and gives back what is not used of it. The other files of the buffer call this, in
 * any context that buffer.h allows. */
#include <errno.h>
#include <string.h>

#include "buffer.h"

enum {
	/* The file grows by GROW_CHUNKS chunks at once, and by GROW_FIRST_CHUNKS at first. */
	GROW_CHUNKS = 4,                /* one large folio where there are such; takes some 25 microseconds */
	GROW_FIRST_CHUNKS = 2,          /* a small program's thread and its calls in progress take two */
	/* The most chunks that are in stock, so that threads rarely wait for growth. */
	AHEAD_MAX_CHUNKS = 12,
	VFORK_CHUNKS = 4,               /* the child of a vfork has these for some three thousand calls */
	RETRY_NS = 100 * 1000 * 1000,
};

static void *map_window(struct fxt_buffer *buffer, off_t offset, int *error)
{
	int flags = buffer->in_memory ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
	char *at = NULL;

#ifdef FXT_CHECKING
	at = fxt_sys_mmap(NULL, FXT_WINDOW_BYTES + 2 * FXT_PAGE_BYTES, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, error);
	if (!at)
		return NULL;
	at += FXT_PAGE_BYTES;
	flags |= MAP_FIXED;
#endif
	return fxt_sys_mmap(at, FXT_WINDOW_BYTES, PROT_READ | PROT_WRITE, flags,
			    buffer->in_memory ? -1 : buffer->fd, buffer->in_memory ? 0 : offset, error);
}

static int map_windows(struct fxt_buffer *buffer, uint32_t from, uint32_t to)
{
	int error = 0;
	uint32_t i;

	for (i = from / FXT_WINDOW_CHUNKS; i <= (to - 1) / FXT_WINDOW_CHUNKS; i++) {
		struct fxt_window *window = &buffer->windows[i];
		void *base;

		if (atomic_load_explicit(&window->base, memory_order_relaxed))
			continue;
		base = map_window(buffer, (off_t)fxt_buffer_chunk_offset(buffer, i * FXT_WINDOW_CHUNKS),
				  &error);
		if (!base)
			return error;
		/* Core dumps do not get the window: they are about the program, and the trace is a file
		 * already. */
		fxt_sys_madvise(base, FXT_WINDOW_BYTES, MADV_DONTDUMP);
		atomic_store_explicit(&window->base, base, memory_order_release);
	}
	return 0;
}

/* Fills a new chunk of a buffer in memory as it is in the file, and joins its pages in the file. */
static int lay_in_memory(struct fxt_buffer *buffer, uint32_t number)
{
	const uint64_t filler = fxt_filler(FXT_CHUNK_WORDS - 1);

	memcpy(fxt_buffer_chunk(buffer, number), fxt_file_fresh_chunk, FXT_CHUNK_BYTES);
	return fxt_file_write(buffer->fd, fxt_buffer_chunk_offset(buffer, number), &filler, sizeof(filler));
}

int fxt_buffer_grow(struct fxt_buffer *buffer, uint32_t to)
{
	uint32_t from = atomic_load_explicit(&buffer->extended, memory_order_relaxed), i;
	int error;

	if (!fxt_file_ready(buffer))
		return -EBADF;
	error = map_windows(buffer, from, to);
	if (!error)
		error = fxt_file_append_pages(buffer->fd, fxt_buffer_chunk_offset(buffer, from),
					      (to - from) * FXT_CHUNK_PAGES);
	for (i = from; !error && buffer->in_memory && i < to; i++)
		error = lay_in_memory(buffer, i);
	/* The pages that were appended were given back, and with them the spare behind the end. */
	if (error && buffer->has_spare)
		fxt_buffer_keep_spare(buffer);
	if (error)
		return error;
	for (i = from; i < to; i++)
		fxt_chunk_empty(fxt_buffer_chunk(buffer, i), FXT_CHUNK_WORDS);
	atomic_store_explicit(&buffer->extended, to, memory_order_release);
	return 0;
}

/* Grows the file by one step. The caller holds extend_lock. */
static int grow_step(struct fxt_buffer *buffer, uint64_t now_ns)
{
	uint32_t from = atomic_load_explicit(&buffer->extended, memory_order_relaxed);
	uint32_t step = from < 2 * GROW_CHUNKS ? GROW_FIRST_CHUNKS : GROW_CHUNKS;
	int error;

	if (step > buffer->limit - from)
		step = buffer->limit - from;
	error = fxt_file_grow(buffer, from + step);
	fxt_file_settle(buffer);
	atomic_store_explicit(&buffer->failure, error, memory_order_relaxed);
	if (error)
		atomic_store_explicit(&buffer->retry_ns, now_ns + RETRY_NS, memory_order_relaxed);
	return error;
}

static bool may_grow(const struct fxt_buffer *buffer, uint64_t now_ns)
{
	return now_ns >= atomic_load_explicit(&buffer->retry_ns, memory_order_relaxed);
}

bool fxt_buffer_grow_for(struct fxt_buffer *buffer, uint32_t number, uint64_t now_ns)
{
	uint64_t mask;
	int error = 0;

	if (fxt_is_forbidden(FXT_NO_GROWTH)) {
		atomic_store_explicit(&buffer->failure, -EPERM, memory_order_relaxed);
		return false;
	}
	if (!may_grow(buffer, now_ns) || fxt_may_not_lock())
		return false;
	mask = fxt_lock(&buffer->extend_lock);
	while (!error && number >= atomic_load_explicit(&buffer->extended, memory_order_relaxed))
		error = grow_step(buffer, now_ns);
	fxt_unlock(&buffer->extend_lock, mask);
	return !error;
}

/* Grows the file until chunk `number` exists, unless another thread grows it right now. */
static void stock_up(struct fxt_buffer *buffer, uint64_t number, uint64_t now_ns)
{
	uint32_t extended = atomic_load_explicit(&buffer->extended, memory_order_relaxed);
	uint64_t mask;

	if (number < extended || extended >= buffer->limit || !may_grow(buffer, now_ns) ||
	    fxt_is_forbidden(FXT_NO_GROWTH) || !fxt_trylock(&buffer->extend_lock, &mask))
		return;
	do {
		extended = atomic_load_explicit(&buffer->extended, memory_order_relaxed);
	} while (number >= extended && extended < buffer->limit && !grow_step(buffer, now_ns));
	fxt_unlock(&buffer->extend_lock, mask);
}

void fxt_buffer_grow_ahead(struct fxt_buffer *buffer, uint32_t number, uint64_t now_ns)
{
	stock_up(buffer, number + (number / 2 < AHEAD_MAX_CHUNKS ? number / 2 : AHEAD_MAX_CHUNKS), now_ns);
}

void fxt_buffer_grow_before_vfork(struct fxt_buffer *buffer, uint64_t now_ns)
{
	uint64_t number = atomic_load_explicit(&buffer->cursor, memory_order_relaxed), mask;

	if (!buffer->managed) {
		if (!buffer->tail_offset)
			stock_up(buffer, number + VFORK_CHUNKS - 1, now_ns);
		return;
	}
	/* Another thread may be leaving the manager, and holds the lock meanwhile. */
	mask = fxt_lock(&buffer->extend_lock);
	if (buffer->managed)
		fxt_managed_before_vfork(buffer, now_ns);
	fxt_unlock(&buffer->extend_lock, mask);
}

void fxt_buffer_reserve(struct fxt_buffer *buffer)
{
	uint64_t mask = fxt_lock(&buffer->extend_lock);

	if (buffer->mode != FXT_STREAMING && !buffer->tail_offset && !buffer->managed &&
	    atomic_load_explicit(&buffer->extended, memory_order_relaxed) < buffer->limit)
		fxt_file_grow(buffer, buffer->limit);
	fxt_file_settle(buffer);
	fxt_unlock(&buffer->extend_lock, mask);
}

void fxt_buffer_trim(struct fxt_buffer *buffer)
{
	uint64_t mask = fxt_lock(&buffer->extend_lock),
		 used = atomic_load_explicit(&buffer->cursor, memory_order_relaxed);

	if (!buffer->tail_offset && !buffer->managed && fxt_file_ready(buffer) &&
	    used < atomic_load_explicit(&buffer->extended, memory_order_relaxed)) {
		atomic_store_explicit(&buffer->extended, (uint32_t)used, memory_order_release);
		fxt_sys_ftruncate(buffer->fd, (off_t)fxt_buffer_chunk_offset(buffer, (uint32_t)used));
	}
	fxt_file_settle(buffer);
	fxt_unlock(&buffer->extend_lock, mask);
}
