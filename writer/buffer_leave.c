/* Gives a buffer whose manager is gone a file of its own: fxt_buffer_leave_manager(), see buffer.h. */
#include <errno.h>
#include <string.h>

#include "apart.h"
#include "buffer.h"

enum { TAKER_TRIES = 1 << 20 };

/* Sees to it that nothing of the chunks that nobody has gets into the file: the manager has saved them, or
 * they were never used. A stream takes none of them again, and they pass for saved. The others are
 * emptied. */
static void leave_out_free(struct fxt_buffer *buffer)
{
	enum fxt_managed_state state;
	uint32_t i;

	for (i = 0; i < buffer->limit; i++) {
		state = fxt_managed_state_of(atomic_load_explicit(&buffer->states[i], memory_order_acquire));
		if (state == FXT_MANAGED_HELD || state == FXT_MANAGED_FULL || state == FXT_MANAGED_PAGES ||
		    state == FXT_MANAGED_TAKEN)
			continue;
		if (buffer->mode == FXT_STREAMING)
			buffer->past[i].saved_at = FXT_IS_SAVED;
		else
			fxt_chunk_empty(fxt_buffer_chunk(buffer, i), FXT_CHUNK_WORDS);
	}
}

/* Makes the file as large as what is in memory, and gives it a name. */
static int make_file(struct fxt_buffer *buffer, uint32_t chunks)
{
	struct stat status;
	bool nameless;
	int fd = fxt_file_open(buffer->path, &nameless), error;

	if (fd < 0)
		return fd;
	if (fxt_opens_here())
		fd = fxt_file_move_high(fd);
	error = fxt_sys_fstat(fd, &status);
	if (!error)
		error = fxt_file_append_pages(fd, 0, (unsigned)(buffer->durable_words / FXT_PAGE_WORDS) +
						     chunks * FXT_CHUNK_PAGES);
	if (!error) {
		buffer->fd = fd;
		buffer->device = status.st_dev;
		buffer->inode = status.st_ino;
		error = fxt_buffer_save_new(buffer);
	}
	if (!error && nameless)
		error = fxt_file_publish(fd, buffer->path);
	if (error && !nameless)
		fxt_sys_unlink(buffer->path);
	if (error) {
		fxt_sys_close(fd);
		buffer->fd = -1;
	}
	return error;
}

struct leaving {
	struct fxt_buffer *buffer;
	uint32_t chunks;
};

static long make_file_apart(void *argument)
{
	const struct leaving *leaving = argument;

	return make_file(leaving->buffer, leaving->chunks);
}

/* Makes this a buffer in memory, of which the file has what is mapped up to chunk `chunks`. A stream goes
 * on with further windows; those chunks of its last window that do not exist are as good as saved. */
static void become_memory(struct fxt_buffer *buffer, uint32_t chunks)
{
	uint32_t i;

	for (i = buffer->limit; i < chunks; i++)
		buffer->past[i].saved_at = FXT_IS_SAVED;
	if (buffer->mode == FXT_STREAMING) {
		atomic_store_explicit(&buffer->cursor, chunks, memory_order_relaxed);
		buffer->limit = buffer->file_limit > chunks ? buffer->file_limit : chunks;
	}
	atomic_store_explicit(&buffer->extended, chunks, memory_order_relaxed);
	atomic_store_explicit(&buffer->failure, 0, memory_order_relaxed);
	atomic_store_explicit(&buffer->retry_ns, 0, memory_order_relaxed);
	buffer->managed = NULL;
	buffer->in_memory = true;
	buffer->storage.ops = &fxt_buffer_ops;
}

/* Waits until no thread is taking a chunk. Returns false if that takes too long. */
static bool wait_for_takers(struct fxt_buffer *buffer)
{
	unsigned tries;

	for (tries = 0; atomic_load(&buffer->takers) && tries < TAKER_TRIES; tries++)
		FXT_SYSCALL0(SYS_sched_yield);
	return !atomic_load(&buffer->takers);
}

int fxt_buffer_leave_manager(struct fxt_buffer *buffer, const char *path)
{
	struct leaving leaving = {buffer, buffer->limit};
	uint64_t extend, durable;
	int error;

	/* From here on nobody takes a chunk, because failure() says that the manager is gone. */
	if (!wait_for_takers(buffer))
		return -EBUSY;
	extend = fxt_lock(&buffer->extend_lock);
	if (fxt_file_is_ours(buffer, buffer->fd))
		fxt_sys_close(buffer->fd);
	buffer->fd = -1;
	memcpy(buffer->path, path, strlen(path) + 1);
	if (buffer->mode == FXT_STREAMING)
		leaving.chunks = (buffer->limit + FXT_WINDOW_CHUNKS - 1) / FXT_WINDOW_CHUNKS *
				 FXT_WINDOW_CHUNKS;
	durable = fxt_lock(&buffer->durable_lock);
	fxt_buffer_lay_regions(buffer);
	leave_out_free(buffer);
	if (fxt_opens_here())
		error = make_file(buffer, leaving.chunks);
	else
		error = (int)fxt_apart_always(make_file_apart, &leaving);
	if (!error) {
		/* The descriptor was closed with the task's table. */
		if (!fxt_opens_here())
			buffer->fd = -1;
		become_memory(buffer, leaving.chunks);
		fxt_file_settle(buffer);
	}
	fxt_unlock(&buffer->durable_lock, durable);
	fxt_unlock(&buffer->extend_lock, extend);
	return error ? error : fxt_buffer_save(buffer);
}
