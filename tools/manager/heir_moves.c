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

static uint64_t offset_of(const struct fxt_client *p, uint32_t number)
{
	return p->durable_bytes + (uint64_t)number * FXT_CHUNK_BYTES;
}

static const uint64_t *memory_of(const struct fxt_client *p, uint32_t number)
{
	return (const uint64_t *)(p->memory + p->rolling_offset + (uint64_t)number * FXT_CHUNK_BYTES);
}

/* Returns the state of a chunk that moves, or else FXT_MANAGED_FREE. */
static enum fxt_managed_state moving_state(const struct fxt_client *p, uint32_t number)
{
	const struct fxt_managed_header *header = (const struct fxt_managed_header *)p->memory;
	uint32_t entry = atomic_load_explicit(&p->table[number], memory_order_acquire);

	return fxt_moving_has(entry, (enum fxt_buffering_mode)header->buffering_mode)
		       ? fxt_managed_state_of(entry)
		       : FXT_MANAGED_FREE;
}

/* Closes the open words of a chunk of records. */
static bool complete_chunk(const struct fxt_client *p, uint32_t number, int fd)
{
	static uint64_t file[FXT_CHUNK_WORDS];
	const uint64_t *memory = memory_of(p, number);
	bool is_open = false;

	if (!read_all(fd, file, sizeof(file), offset_of(p, number)))
		return false;
	for (size_t i = 0; i < FXT_CHUNK_WORDS; i++) {
		is_open |= file[i] == FXT_MOVING;
		file[i] = fxt_moving_word(file[i], memory[i]);
	}
	return !is_open || write_words(fd, file, FXT_CHUNK_WORDS, offset_of(p, number));
}

/* -- Pages ---------------------------------------------------------------------------------------
 *
 * Words of pages are never open, because threads read them. If the first word of such a chunk is open in the
 * file, the memory's words count, with two exceptions. A thread may have gone on in the file after it was
 * mapped: then a call has begun there later than the one that the memory has in the same slot, or a count is
 * larger. And the call that the memory has may have ended since: then its event is in the file. */

static bool is_event(uint64_t header, uint64_t type)
{
	return fxt_get_record_type(header) == FXT_RECORD_EVENT && fxt_get_event_type(header) == type;
}

/* Returns whether the file's slot is later than the memory's. */
static bool is_later(const uint64_t *file, const uint64_t *memory)
{
	size_t value = fxt_get_event_thread(memory[0]) ? 3 : 5;

	if (fxt_get_record_words(file[0]) != fxt_get_record_words(memory[0]))
		return false;
	if (is_event(memory[0], FXT_EVENT_COUNTER))
		return file[0] == memory[0] && fxt_get_record_words(file[0]) == FXT_COUNTER_WORDS &&
		       file[value] > memory[value];
	return is_event(memory[0], FXT_EVENT_DURATION_BEGIN) && is_event(file[0], FXT_EVENT_DURATION_BEGIN) &&
	       file[1] > memory[1];
}

/* Returns whether the event is that of the call: name, thread and begin are the same. */
static bool has_ended_by(const uint64_t *call, const uint64_t *event)
{
	return is_event(event[0], FXT_EVENT_DURATION_COMPLETE) && event[1] == call[1] &&
	       call[0] >> 32 == event[0] >> 32 &&
	       fxt_get_event_thread(call[0]) == fxt_get_event_thread(event[0]) &&
	       (fxt_get_event_thread(call[0]) || (call[2] == event[2] && call[3] == event[3]));
}

/* Puts fillers in the place of calls in progress whose events are among these words. */
static void remove_ended(uint64_t *pages, const uint64_t *words)
{
	size_t at, size, i, slot;

	for (at = 0; at < FXT_CHUNK_WORDS; at += size) {
		size = fxt_get_record_words(words[at]);
		if (!size || size > FXT_CHUNK_WORDS - at)
			return;
		if (!is_event(words[at], FXT_EVENT_DURATION_COMPLETE) || size < 3)
			continue;
		for (i = 0; i < FXT_CHUNK_WORDS; i += slot) {
			slot = fxt_get_record_words(pages[i]);
			if (!slot || slot > FXT_CHUNK_WORDS - i)
				break;
			if (slot > 3 && size > 3 && is_event(pages[i], FXT_EVENT_DURATION_BEGIN) &&
			    has_ended_by(pages + i, words + at))
				pages[i] = fxt_filler(slot);
		}
	}
}

/* Closes a chunk of pages, after the chunks of records. */
static bool complete_pages(const struct fxt_client *p, uint32_t number, int fd)
{
	static uint64_t file[FXT_CHUNK_WORDS], pages[FXT_CHUNK_WORDS];
	size_t at, size;

	if (!read_all(fd, file, sizeof(file), offset_of(p, number)))
		return false;
	if (file[0] != FXT_MOVING)
		return true;
	memcpy(pages, memory_of(p, number), sizeof(pages));
	for (at = 0; at < FXT_CHUNK_WORDS; at += size) {
		size = fxt_get_record_words(pages[at]);
		if (!size || size > FXT_CHUNK_WORDS - at)
			break;
		if (at && size > 1 && is_later(file + at, pages + at))
			memcpy(pages + at, file + at, size * FXT_WORD_BYTES);
	}
	for (uint32_t i = 0; i < p->chunks; i++) {
		enum fxt_managed_state state = moving_state(p, i);

		if (state == FXT_MANAGED_FREE || state == FXT_MANAGED_PAGES)
			continue;
		if (!read_all(fd, file, sizeof(file), offset_of(p, i)))
			return false;
		remove_ended(pages, file);
	}
	return write_words(fd, pages, FXT_CHUNK_WORDS, offset_of(p, number));
}

bool fxt_heir_completes(const struct fxt_client *p)
{
	int fd = open_own(p);
	bool is_done = fd >= 0 && complete_counts(p, fd);

	for (uint32_t i = 0; is_done && i < p->chunks; i++) {
		enum fxt_managed_state state = moving_state(p, i);

		if (state != FXT_MANAGED_FREE && state != FXT_MANAGED_PAGES)
			is_done = complete_chunk(p, i, fd);
	}
	for (uint32_t i = 0; is_done && i < p->chunks; i++)
		if (moving_state(p, i) == FXT_MANAGED_PAGES)
			is_done = complete_pages(p, i, fd);
	if (fd >= 0)
		close(fd);
	return is_done;
}
