/* Creates the trace file: fxt_buffer_create(). The thread that records first in a process calls this, with
 * signals blocked. */
#include "buffer.h"

#include <errno.h>
#include <string.h>

#include "apart.h"

uint64_t fxt_buffer_durable_bytes(const struct fxt_buffer_config *config)
{
	uint64_t bytes = config->bytes / 16 & ~(uint64_t)(FXT_CHUNK_BYTES - 1);

	return bytes < FXT_DURABLE_MIN_BYTES ? FXT_DURABLE_MIN_BYTES
	       : bytes > FXT_DURABLE_MAX_BYTES ? FXT_DURABLE_MAX_BYTES : bytes;
}

/* Returns how many chunks threads may hold before they share them. In a ring it is as many as there can be,
 * because the last events of a thread stay while it holds their chunk: the others are enough for the threads
 * that are busy. */
static uint32_t plenty(const struct fxt_buffer *buffer)
{
	enum { USUAL = 32 };

	if (buffer->mode == FXT_CIRCULAR)
		return buffer->limit - buffer->limit / 4;
	return buffer->limit / 4 < USUAL ? buffer->limit / 4 : USUAL;
}

/* Makes the tables that are not in the file: windows, the past of chunks, free pages, the ring's order. Only
 * the parts that are used cost memory, and the first two, of which every process uses the beginning, are side
 * by side. */
int fxt_buffer_make_tables(struct fxt_buffer *buffer)
{
	size_t windows = ((size_t)buffer->limit + FXT_WINDOW_CHUNKS - 1) / FXT_WINDOW_CHUNKS;
	size_t window_bytes = windows * sizeof(struct fxt_window);
	size_t page_bytes = FXT_FREE_PAGES_MAX * sizeof(uint64_t *);
	size_t past_bytes = buffer->limit * sizeof(*buffer->past);
	char *memory;

	buffer->memory_bytes = window_bytes + 2 * page_bytes + past_bytes + fxt_ring_bytes(buffer->limit);
	memory = fxt_sys_memory(buffer->memory_bytes);
	if (!memory)
		return -ENOMEM;
	buffer->windows = (struct fxt_window *)memory;
	memory += window_bytes;
	buffer->past = (struct fxt_chunk_past *)memory;
	memory += past_bytes;
	buffer->free_pages.list = (uint64_t **)memory;
	buffer->free_small_pages.list = (uint64_t **)(memory + page_bytes);
	fxt_ring_init(&buffer->ring, memory + 2 * page_bytes, buffer->limit);
	atomic_store_explicit(&buffer->storage.plenty, plenty(buffer), memory_order_relaxed);
	return 0;
}

void fxt_buffer_lay_prologue(struct fxt_buffer *buffer, const struct fxt_buffer_config *config)
{
	buffer->storage.prologue = buffer->durable;
	fxt_sys_madvise(buffer->durable, config->prologue_bytes, MADV_POPULATE_WRITE);
	buffer->prologue_words = config->write_prologue(buffer->durable);
	if (config->overwritten)
		memcpy(buffer->overwritten.record, config->overwritten, sizeof(buffer->overwritten.record));
	if (buffer->prologue_words < FXT_RECORD_MAX_WORDS)
		buffer->durable[buffer->prologue_words] =
			fxt_filler(FXT_RECORD_MAX_WORDS - buffer->prologue_words);
	buffer->durable_at = buffer->prologue_words;
	buffer->durable_region_end = FXT_RECORD_MAX_WORDS;
}

void fxt_buffer_lay_regions(struct fxt_buffer *buffer)
{
	size_t at, words;

	for (at = buffer->durable_region_end; at < buffer->durable_words; at += words) {
		words = buffer->durable_words - at;
		if (words > FXT_RECORD_MAX_WORDS)
			words = FXT_RECORD_MAX_WORDS;
		buffer->durable[at] = fxt_filler(words);
	}
}

/* Reserves the durable area, maps it, and stores its records and fillers. The file has no name yet. */
static int make_durable(struct fxt_buffer *buffer, const struct fxt_buffer_config *config)
{
	size_t bytes = buffer->durable_words * FXT_WORD_BYTES;
	int error;

	error = buffer->in_memory ? -EOPNOTSUPP : fxt_sys_fallocate(buffer->fd, 0, 0, (off_t)bytes);
	if (error == -EOPNOTSUPP || error == -ENOSYS)
		error = fxt_file_append_pages(buffer->fd, 0, (unsigned)(bytes / FXT_PAGE_BYTES));
	if (error)
		return error;
	buffer->durable = buffer->in_memory ? fxt_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
							   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &error)
					    : fxt_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
							   buffer->fd, 0, &error);
	if (!buffer->durable)
		return error;
	fxt_sys_madvise(buffer->durable, bytes, MADV_DONTDUMP);
	/* Without this advice each first touch of a filler below would read ahead. That takes ten times as
	 * long, at every program's start. */
	fxt_sys_madvise(buffer->durable, bytes, MADV_RANDOM);
	fxt_buffer_lay_prologue(buffer, config);
	fxt_buffer_lay_regions(buffer);
	if (!buffer->in_memory)
		return 0;
	error = fxt_buffer_save_new(buffer);
	if (!error)
		fxt_buffer_keep_spare(buffer);
	return error;
}

static int create(struct fxt_buffer *buffer, const struct fxt_buffer_config *config)
{
	size_t path_bytes = strlen(config->path) + 1;
	bool nameless;
	struct stat status;
	int error;

	if (path_bytes > sizeof(buffer->path))
		return -ENAMETOOLONG;
	memset(buffer, 0, offsetof(struct fxt_buffer, path));
	memcpy(buffer->path, config->path, path_bytes);
	buffer->storage.ops = &fxt_buffer_ops;
	buffer->mode = config->mode;
	buffer->durable_words = fxt_buffer_durable_bytes(config) / FXT_WORD_BYTES;
	buffer->limit = (uint32_t)((config->bytes - fxt_buffer_durable_bytes(config)) / FXT_CHUNK_BYTES);

	buffer->fd = fxt_file_open(buffer->path, &nameless);
	if (buffer->fd < 0)
		return buffer->fd;
	if (fxt_opens_here())
		fxt_file_take(buffer, buffer->fd);
	error = fxt_sys_fstat(buffer->fd, &status);
	buffer->device = status.st_dev;
	buffer->inode = status.st_ino;
	buffer->in_memory = config->in_memory || !fxt_file_promises(buffer->fd);
	if (!error)
		error = fxt_buffer_make_tables(buffer);
	if (!error)
		error = make_durable(buffer, config);
	if (!error && nameless)
		error = fxt_file_publish(buffer->fd, buffer->path);
	if (!error)
		fxt_file_settle(buffer);
	if (error) {
		if (!nameless)
			fxt_sys_unlink(buffer->path);
		fxt_sys_close(buffer->fd);
		fxt_buffer_forget(buffer);
	}
	return error;
}

struct creation {
	struct fxt_buffer *buffer;
	const struct fxt_buffer_config *config;
};

static long create_apart(void *argument)
{
	const struct creation *creation = argument;

	return create(creation->buffer, creation->config);
}

int fxt_buffer_create(struct fxt_buffer *buffer, const struct fxt_buffer_config *config)
{
	struct creation creation = {buffer, config};
	int error;

	if (fxt_opens_here())
		return create(buffer, config);
	/* No descriptor is left: a file that grows is opened by its path each time. */
	error = (int)fxt_apart_always(create_apart, &creation);
	buffer->fd = -1;
	return error;
}
