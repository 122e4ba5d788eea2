/* Makes the memory of a buffer that a manager saves: fxt_buffer_create_managed(), see buffer.h. Its chunks
 * are handed out by buffer_managed.c. */
#include <errno.h>
#include <linux/memfd.h>
#include <string.h>

#include "buffer_managed.h"

enum { NOEXEC_SEAL = 8 };               /* MFD_NOEXEC_SEAL, which kernels before 6.3 do not know */

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + FXT_PAGE_BYTES - 1) & ~(uint64_t)(FXT_PAGE_BYTES - 1);
}

/* Returns a memfd of this size that nobody can make shorter or longer, or a negative errno. */
static int make_memory(uint64_t bytes)
{
	static const char name[] = "fxt buffer";
	int fd, error;

	if (fxt_sys_is_past_limit(bytes))
		return -EFBIG;
	fd = (int)FXT_SYSCALL2(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING | NOEXEC_SEAL);
	if (fd == -EINVAL)
		fd = (int)FXT_SYSCALL2(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return fd;
	error = fxt_sys_ftruncate(fd, (off_t)bytes);
	if (!error)
		error = (int)FXT_SYSCALL3(SYS_fcntl, fd, F_ADD_SEALS,
					  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	if (!error)
		return fd;
	fxt_sys_close(fd);
	return error;
}

/* Returns where the table of what was taken begins. */
static uint64_t taken_offset(const struct fxt_buffer *buffer)
{
	return FXT_MANAGED_HEADER_BYTES + whole_pages(buffer->limit * sizeof(fxt_managed_entry));
}

/* Returns the size of what is in front of the durable area: the header and the tables. */
static uint64_t front_bytes(const struct fxt_buffer *buffer)
{
	return taken_offset(buffer) + whole_pages(buffer->limit * sizeof(fxt_taken_entry));
}

/* Fills in the header except for the magic number, which is stored when everything else is complete. */
static void describe(struct fxt_buffer *buffer, const struct fxt_buffer_config *config, uint64_t total)
{
	struct fxt_managed_header *header = buffer->header;

	header->version = FXT_MANAGED_VERSION;
	header->buffering_mode = (uint8_t)buffer->mode;
	header->total_size = total;
	header->durable_buffer_size = buffer->durable_words * FXT_WORD_BYTES;
	header->rolling_buffer_size = (uint64_t)buffer->limit / 2 * FXT_CHUNK_BYTES;
	header->table_offset = FXT_MANAGED_HEADER_BYTES;
	header->taken_offset = taken_offset(buffer);
	header->durable_offset = front_bytes(buffer);
	header->rolling_offset = header->durable_offset + header->durable_buffer_size;
	header->chunk_bytes = FXT_CHUNK_BYTES;
	header->chunk_count = buffer->limit;
	header->session = config->session;
	header->outlives_connection = 1;
}

/* Maps the memory by whole windows, because the child of a fork unmaps or replaces it by windows. Nothing
 * touches the part of the mapping that lies behind the memory's end. */
static int map_memory(struct fxt_buffer *buffer, const struct fxt_buffer_config *config, int fd,
		      uint64_t total)
{
	uint32_t windows = (buffer->limit + FXT_WINDOW_CHUNKS - 1) / FXT_WINDOW_CHUNKS, i;
	uint64_t front = total - (uint64_t)buffer->limit * FXT_CHUNK_BYTES;
	uint64_t bytes = front + (uint64_t)windows * FXT_WINDOW_BYTES;
	int error = 0;
	char *base = fxt_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0, &error);

	if (!base)
		return error;
	fxt_sys_madvise(base, bytes, MADV_DONTDUMP);
	buffer->header = (struct fxt_managed_header *)base;
	buffer->managed = true;
	buffer->managed_chunks = buffer->limit;
	describe(buffer, config, total);
	buffer->states = (fxt_managed_entry *)(base + buffer->header->table_offset);
	buffer->taken = (fxt_taken_entry *)(base + buffer->header->taken_offset);
	buffer->front_bytes = front_bytes(buffer);
	buffer->durable = (uint64_t *)(base + buffer->header->durable_offset);
	for (i = 0; i < windows; i++)
		atomic_store_explicit(&buffer->windows[i].base,
				      (uint64_t *)(base + front + (uint64_t)i * FXT_WINDOW_BYTES),
				      memory_order_release);
	fxt_buffer_lay_prologue(buffer, config);
	buffer->header->counters_offset = (buffer->prologue_words - config->counters_words) * FXT_WORD_BYTES;
	buffer->header->counters_size = config->counters_words * FXT_WORD_BYTES;
	atomic_store_explicit(&buffer->header->durable_data_end, buffer->durable_at * FXT_WORD_BYTES,
			      memory_order_release);
	buffer->header->magic = FXT_MANAGED_MAGIC;
	return 0;
}

/* Makes tables that are large enough for the file in which the buffer goes on if the manager dies. That
 * begins with the memory's place, in whole windows (buffer_leave.c). */
static int make_tables(struct fxt_buffer *buffer)
{
	uint32_t limit = buffer->limit;
	int error;

	buffer->limit = fxt_whole_windows(limit) + buffer->file_chunks;
	error = fxt_buffer_make_tables(buffer);
	buffer->limit = limit;
	return error;
}

int fxt_buffer_connect(struct fxt_buffer *buffer, int connection, const _Atomic uint32_t *manager_word)
{
	struct stat status;
	int error = fxt_sys_fstat(connection, &status);

	if (error)
		return error;
	buffer->device = status.st_dev;
	buffer->inode = status.st_ino;
	buffer->fd = connection;
	buffer->manager_word = manager_word;
	return 0;
}

int fxt_buffer_create_managed(struct fxt_buffer *buffer, const struct fxt_buffer_config *config)
{
	uint64_t durable = fxt_buffer_durable_bytes(config), total;
	int fd, error;

	memcpy(buffer->path, config->path, strlen(config->path) + 1);
	buffer->storage.ops = &fxt_managed_ops;
	buffer->mode = config->mode;
	buffer->durable_words = durable / FXT_WORD_BYTES;
	buffer->limit = (uint32_t)((config->bytes - durable) / FXT_CHUNK_BYTES) & ~1u;
	buffer->early_chunks = FXT_MANAGED_LEAST_CHUNKS;
	buffer->waits = config->waits;
	buffer->file_chunks = 0;
	if (buffer->mode == FXT_STREAMING && config->file_bytes > durable)
		buffer->file_chunks = (uint32_t)((config->file_bytes - durable) / FXT_CHUNK_BYTES);
	atomic_store_explicit(&buffer->extended, buffer->limit, memory_order_relaxed);
	total = front_bytes(buffer) + durable + (uint64_t)buffer->limit * FXT_CHUNK_BYTES;
	error = make_tables(buffer);
	fd = error ? error : make_memory(total);
	if (fd < 0)
		return fd;
	error = map_memory(buffer, config, fd, total);
	if (!error)
		return fd;
	fxt_sys_close(fd);
	return error;
}
