/* See heir_parts.h. A program that was killed while it moved its memory to a file of its own has left what
 * counts in both (writer/buffer_managed.h). This goes on where the program has stopped. The file is neither
 * mapped nor believed: nothing of it is replaced but what the move left open, and only if it begins as the
 * memory does. So a program cannot make the heir write to anything but a trace of its own. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"
#include "heir_parts.h"
#include "tools/common/message.h"
#include "writer/buffer_managed.h"

static bool read_all(int fd, void *data, size_t bytes, uint64_t offset)
{
	ssize_t n;

	for (size_t done = 0; done < bytes; done += (size_t)n) {
		n = pread(fd, (char *)data + done, bytes - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return false;
	}
	return true;
}

static bool write_all(int fd, const void *data, size_t bytes, uint64_t offset)
{
	ssize_t n;

	for (size_t done = 0; done < bytes; done += (size_t)n) {
		n = pwrite(fd, (const char *)data + done, bytes - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return false;
	}
	return true;
}

/* Writes `count` words, the first of them last: it makes the others count. */
static bool write_words(int fd, const uint64_t *words, size_t count, uint64_t offset)
{
	return write_all(fd, words + 1, (count - 1) * FXT_WORD_BYTES, offset + FXT_WORD_BYTES) &&
	       write_all(fd, words, FXT_WORD_BYTES, offset);
}

static const uint64_t *durable_of(const struct fxt_client *p)
{
	return (const uint64_t *)(p->memory + p->durable_offset);
}

/* Returns whether the file begins as the memory's durable area does. */
static bool begins_alike(const struct fxt_client *p, int fd)
{
	uint64_t bytes = p->counters_offset;
	bool is_alike = bytes > FXT_WORD_BYTES && durable_of(p)[0] == FXT_MAGIC_RECORD;
	void *begin = is_alike ? fxt_alloc(bytes, 1) : NULL;

	is_alike = begin && read_all(fd, begin, bytes, 0) && memcmp(begin, durable_of(p), bytes) == 0;
	free(begin);
	return is_alike;
}

/* Opens the file that the header names, or returns -1. */
static int open_own(const struct fxt_client *p)
{
	const struct fxt_managed_header *header = (const struct fxt_managed_header *)p->memory;
	char path[FXT_MANAGED_PATH_BYTES];
	struct stat status;
	int fd;

	memcpy(path, header->file_path, sizeof(path));
	path[sizeof(path) - 1] = '\0';
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_dev == header->file_device &&
	    status.st_ino == header->file_inode && begins_alike(p, fd))
		return fd;
	close(fd);
	return -1;
}

/* Closes the counts of losses. */
static bool complete_counts(const struct fxt_client *p, int fd)
{
	const uint64_t *memory = durable_of(p) + p->counters_offset / FXT_WORD_BYTES;
	size_t count = p->counters_bytes / FXT_WORD_BYTES;
	uint64_t slot[FXT_COUNTER_WORDS];

	for (size_t i = 0; i + FXT_COUNTER_WORDS <= count; i += FXT_COUNTER_WORDS) {
		uint64_t offset = p->counters_offset + i * FXT_WORD_BYTES;

		if (!read_all(fd, slot, sizeof(slot), offset))
			return false;
		for (size_t k = 0; k < FXT_COUNTER_WORDS; k++)
			slot[k] = fxt_moving_count(k, slot[k], memory[i + k]);
		if (!write_words(fd, slot, FXT_COUNTER_WORDS, offset))
			return false;
	}
	return true;
}

/* Closes the open words of a chunk. Pages are a whole. */
static bool complete_chunk(const uint64_t *memory, bool is_pages, int fd, uint64_t offset)
{
	static uint64_t file[FXT_CHUNK_WORDS];
	bool is_open = false;

	if (!read_all(fd, file, sizeof(file), offset))
		return false;
	if (is_pages)
		return file[0] != FXT_MOVING || write_words(fd, memory, FXT_CHUNK_WORDS, offset);
	for (size_t i = 0; i < FXT_CHUNK_WORDS; i++) {
		is_open |= file[i] == FXT_MOVING;
		file[i] = fxt_moving_word(file[i], memory[i]);
	}
	return !is_open || write_words(fd, file, FXT_CHUNK_WORDS, offset);
}

bool fxt_heir_completes(const struct fxt_client *p)
{
	const struct fxt_managed_header *header = (const struct fxt_managed_header *)p->memory;
	enum fxt_buffering_mode mode = (enum fxt_buffering_mode)header->buffering_mode;
	int fd = open_own(p);
	bool is_done = fd >= 0 && complete_counts(p, fd);

	for (uint32_t i = 0; is_done && i < p->chunks; i++) {
		uint32_t entry = atomic_load_explicit(&p->table[i], memory_order_acquire);
		uint64_t at = (uint64_t)i * FXT_CHUNK_BYTES;

		if (fxt_moving_has(entry, mode))
			is_done = complete_chunk((const uint64_t *)(p->memory + p->rolling_offset + at),
						 fxt_managed_state_of(entry) == FXT_MANAGED_PAGES, fd,
						 p->durable_bytes + at);
	}
	if (fd >= 0)
		close(fd);
	return is_done;
}
