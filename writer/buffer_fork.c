/* Treats the buffer in the child of a fork, where it is still the parent's. The child's only thread calls
 * this, in any context. */
#include "buffer.h"

#include <string.h>

/* Replaces a mapping of the file by private memory. If the kernel refuses, nothing can be done. */
static void make_private(void *base, size_t bytes)
{
	int error;

	if (base)
		fxt_sys_mmap(base, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0, &error);
}

/* Makes the buffer one that an interrupted emission can still store to. The emission stores to its chunk
 * and to its slot, which are in windows, and to counters in the durable area. No emission is inside take()
 * or another function of the buffer, because signals are blocked there. */
static void abandon(struct fxt_buffer *buffer)
{
	uint32_t windows = (buffer->limit + FXT_WINDOW_CHUNKS - 1) / FXT_WINDOW_CHUNKS, i;

	if (!buffer->windows)
		return;
	atomic_store_explicit(&buffer->extended, 0, memory_order_relaxed);
	for (i = 0; i < windows; i++)
		make_private(atomic_exchange_explicit(&buffer->windows[i].base, NULL, memory_order_relaxed),
			     FXT_WINDOW_BYTES);
	make_private(buffer->durable, buffer->durable_words * FXT_WORD_BYTES);
	buffer->durable = NULL;
}

void fxt_buffer_after_fork(struct fxt_storage *storage, bool is_interrupted)
{
	struct fxt_buffer *buffer = (struct fxt_buffer *)storage;

	/* Another thread of the parent may have held these locks. */
	fxt_lock_reset(&buffer->durable_lock);
	fxt_lock_reset(&buffer->extend_lock);
	fxt_lock_reset(&buffer->page_lock);
	/* The connection is the parent's. What the child read there, the parent would wait for. */
	buffer->is_deaf = true;
	/* Code that a forking handler has interrupted may be about to append a record there. */
	buffer->durable_at = buffer->durable_region_end = buffer->durable_words;
	if (is_interrupted)
		abandon(buffer);
}

/* A range to unmap. Mappings that lie one behind the other go with one call, because the child of a fork does
 * this before its first record. */
struct unmapping {
	char *from, *end;
};

static void unmap_rest(struct unmapping *range)
{
	if (range->from)
		fxt_sys_munmap(range->from, (size_t)(range->end - range->from));
	range->from = NULL;
}

static void unmap(struct unmapping *range, void *at, size_t bytes)
{
	if (!at)
		return;
	if (!range->from || range->end != at) {
		unmap_rest(range);
		range->from = at;
	}
	range->end = (char *)at + bytes;
}

void fxt_buffer_forget(struct fxt_buffer *buffer)
{
	uint32_t windows = (buffer->limit + FXT_WINDOW_CHUNKS - 1) / FXT_WINDOW_CHUNKS, i;
	struct unmapping range = {NULL, NULL};

	/* The memory of a managed buffer is one mapping, in this order. */
	if (buffer->states)
		unmap(&range, (char *)buffer->states - FXT_MANAGED_HEADER_BYTES, buffer->front_bytes);
	unmap(&range, buffer->durable, buffer->durable_words * FXT_WORD_BYTES);
	for (i = 0; buffer->windows && i < windows; i++)
		unmap(&range, atomic_load_explicit(&buffer->windows[i].base, memory_order_relaxed),
		      FXT_WINDOW_BYTES);
	unmap(&range, buffer->windows, buffer->memory_bytes);
	unmap_rest(&range);
	/* If the file is found to be cut now, nothing of it is mapped. */
	buffer->windows = NULL;
	buffer->durable = NULL;
	/* The descriptor is the child's own copy. The program may have put another file there. */
	if (fxt_file_is_ours(buffer, buffer->fd))
		fxt_sys_close(buffer->fd);
	memset(buffer, 0, sizeof(*buffer));
	buffer->storage.ops = &fxt_buffer_ops;
	buffer->fd = -1;
}
