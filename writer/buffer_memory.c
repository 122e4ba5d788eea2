/* Saves a buffer in memory into its file (docs/memory-buffer.md). The other files of the buffer call this,
 * in any context that buffer.h allows.
 *
 * The file looks as if it were mapped, but lags behind: every store to it is a write, which fails where a
 * store to a mapping would kill. It is valid between any two writes. A chunk that is not saved yet is one
 * filler in the file. The pages behind that filler are written first, and the page with the filler last.
 * The durable area is written page by page from its end backwards for the same reason.
 */
#include "buffer.h"

#include <errno.h>
#include <linux/falloc.h>
#include <string.h>

/* The number of words at the prologue's end that may be rewritten in place. It is more than the counters have
 * (agent/emit/trace_file.c). */
enum { COUNTERS_WORDS = 256 };

/* These are the types, by fstatfs(), of file systems on which a store to a mapping may be a SIGBUS. Those
 * that copy on write need new space for each block that is written again, and those on another machine may
 * not have any. */
static const uint32_t without_promise[] = {
	0x9123683e /* btrfs */, 0x2fc12fc1 /* ZFS */, 0xca451a4e /* bcachefs */, 0xf2f52010 /* F2FS */,
	0x3434 /* NILFS */, 0x6969 /* NFS */, 0xff534d42 /* CIFS */, 0xfe534d42 /* SMB2 */, 0x517b /* SMB */,
	0x01021997 /* 9P */, 0x65735546 /* FUSE */, 0x00c36400 /* Ceph */, 0x5346414f /* AFS */,
	0x0bd00bd0 /* Lustre */, 0x786f4256 /* VirtualBox */,
};

bool fxt_file_promises(int fd)
{
	long status[32] = {0};          /* struct statfs, whose first word is the type */
	size_t i;

	if (FXT_SYSCALL2(SYS_fstatfs, fd, status))
		return true;
	for (i = 0; i < sizeof(without_promise) / sizeof(*without_promise); i++)
		if ((uint32_t)status[0] == without_promise[i])
			return false;
	return true;
}

int fxt_file_write(int fd, uint64_t offset, const void *data, size_t bytes)
{
	while (bytes) {
		struct iovec rest = {(void *)(uintptr_t)data, bytes};
		ssize_t n = fxt_sys_pwritev(fd, &rest, 1, (off_t)offset);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n ? (int)n : -ENOSPC;
		data = (const char *)data + n;
		offset += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* Writes a chunk to the file, from memory that nobody changes meanwhile. The file may have an older state
 * of the chunk, so one filler hides that first. */
static int write_chunk(struct fxt_buffer *buffer, uint32_t number, const uint64_t *words)
{
	uint64_t offset = fxt_buffer_chunk_offset(buffer, number);
	const uint64_t filler = fxt_filler(FXT_CHUNK_WORDS - 1);
	int error = fxt_file_write(buffer->fd, offset, &filler, sizeof(filler));

	if (!error)
		error = fxt_file_write(buffer->fd, offset + FXT_PAGE_BYTES, words + FXT_PAGE_WORDS,
				       FXT_CHUNK_BYTES - FXT_PAGE_BYTES);
	return error ? error : fxt_file_write(buffer->fd, offset, words, FXT_PAGE_BYTES);
}

/* Writes the pages that contain words [from, to) of the durable area, the last page first. */
static int write_durable(struct fxt_buffer *buffer, size_t from, size_t to)
{
	size_t page = (to - 1) / FXT_PAGE_WORDS + 1;
	int error = 0;

	while (!error && page-- > from / FXT_PAGE_WORDS)
		error = fxt_file_write(buffer->fd, page * FXT_PAGE_BYTES,
				       buffer->durable + page * FXT_PAGE_WORDS, FXT_PAGE_BYTES);
	return error;
}

/* Writes what was appended to the durable area since the last time, and the counters. The caller holds
 * extend_lock. */
static int save_durable(struct fxt_buffer *buffer)
{
	size_t counters =
		buffer->prologue_words > COUNTERS_WORDS ? buffer->prologue_words - COUNTERS_WORDS : 0;
	uint64_t mask = fxt_lock(&buffer->durable_lock);
	size_t at = buffer->durable_at;
	int error = 0;

	/* The word behind the last record is a filler, or begins the next region. */
	if (at != buffer->durable_saved)
		error = write_durable(buffer, buffer->durable_saved,
				      at < buffer->durable_words ? at + 1 : at);
	if (!error)
		buffer->durable_saved = at;
	if (!error)
		error = write_durable(buffer, counters, buffer->prologue_words);
	fxt_unlock(&buffer->durable_lock, mask);
	return error;
}

int fxt_buffer_save_new(struct fxt_buffer *buffer)
{
	buffer->durable_saved = buffer->durable_at;
	return fxt_file_write(buffer->fd, 0, buffer->durable, buffer->durable_words * FXT_WORD_BYTES);
}

/* Returns the chunk's turns with the top bit set, so that this is never 0. */
static unsigned turn_of(const struct fxt_buffer *buffer, uint32_t number)
{
	return atomic_load_explicit(&buffer->past[number].turns, memory_order_acquire) | FXT_IS_SAVED;
}

int fxt_buffer_save_chunk(struct fxt_buffer *buffer, uint32_t number)
{
	uint64_t mask = fxt_lock(&buffer->extend_lock);
	int error = fxt_file_ready(buffer) ? save_durable(buffer) : -EBADF;

	/* The chunk is written even if the durable area could not be, because an old durable area is better
	 * than no chunk. */
	if (error != -EBADF)
		error = write_chunk(buffer, number, fxt_buffer_chunk(buffer, number));
	buffer->past[number].saved_at = error ? 0 : turn_of(buffer, number);
	fxt_file_settle(buffer);
	fxt_unlock(&buffer->extend_lock, mask);
	return error;
}

enum { LAST = FXT_CHUNK_WORDS - 1, TRIES = 8 };

/* Copies the records of a chunk that are committed. Records do not change once their headers are stored, and
 * the filler to the chunk's end stands where the next record will be. */
static void copy_committed(uint64_t *to, const uint64_t *from)
{
	uint64_t header;
	size_t at, words;

	for (at = 0; at < LAST; at += words) {
		header = atomic_load_explicit((const _Atomic uint64_t *)(from + at), memory_order_acquire);
		words = fxt_get_record_words(header);
		if (!words || at + words > LAST || (fxt_is_filler(header) && at + words == LAST))
			break;
		to[at] = header;
		memcpy(to + at + 1, from + at + 1, (words - 1) * FXT_WORD_BYTES);
	}
	if (at < LAST)
		to[at] = fxt_filler(LAST - at);
	to[LAST] = fxt_filler(1);
}

/* Returns the present state of a chunk that somebody may be writing to. A page of slots is well formed at
 * any time, so it is not copied. A ring may empty the chunk meanwhile; then it is copied again, and after
 * some attempts it counts as empty. */
static const uint64_t *chunk_now(struct fxt_buffer *buffer, uint32_t number)
{
	static FXT_LARGE uint64_t copy[FXT_CHUNK_WORDS];          /* under extend_lock */
	struct fxt_chunk_past *past = &buffer->past[number];
	const uint64_t *base = fxt_buffer_chunk(buffer, number);
	unsigned turns, tries = 0;

	if (atomic_load_explicit(&past->is_pages, memory_order_acquire))
		return base;
	do {
		turns = atomic_load_explicit(&past->turns, memory_order_acquire);
		copy_committed(copy, base);
		atomic_thread_fence(memory_order_acquire);
	} while (turns != atomic_load_explicit(&past->turns, memory_order_relaxed) && ++tries < TRIES);
	if (tries == TRIES)
		copy[0] = fxt_filler(LAST);
	return copy;
}

/* Returns whether the file has the whole chunk: it was finished and saved, and was not emptied since then. */
static bool is_saved(const struct fxt_buffer *buffer, uint32_t number)
{
	return buffer->past[number].saved_at == turn_of(buffer, number);
}

/* Saves everything that is in memory and not in the file. The caller holds extend_lock. */
static int save_all(struct fxt_buffer *buffer)
{
	uint32_t extended = atomic_load_explicit(&buffer->extended, memory_order_acquire), i;
	int failed = save_durable(buffer), error;
	struct fxt_window *window;

	for (i = 0; i < extended; i++) {
		window = &buffer->windows[i / FXT_WINDOW_CHUNKS];
		if (is_saved(buffer, i) || !fxt_window_keep(window))
			continue;
		error = write_chunk(buffer, i, chunk_now(buffer, i));
		failed = failed ? failed : error;
		fxt_window_finish(window);
	}
	return failed;
}

/* The spare lies behind the end that the file may have, where nothing is ever written. The file does not
 * become longer by it, so programs that copy the file do not see it. */
enum { SPARE_BYTES = 1 << 20 };

void fxt_buffer_keep_spare(struct fxt_buffer *buffer)
{
	off_t end = (off_t)fxt_buffer_chunk_offset(buffer, buffer->limit);

	buffer->has_spare = !fxt_sys_fallocate(buffer->fd, FALLOC_FL_KEEP_SIZE, end, SPARE_BYTES);
}

static bool give_up_spare(struct fxt_buffer *buffer)
{
	off_t end = (off_t)fxt_buffer_chunk_offset(buffer, buffer->limit);
	bool had = buffer->has_spare;

	buffer->has_spare = false;
	return had &&
	       !fxt_sys_fallocate(buffer->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, end, SPARE_BYTES);
}

/* Gives the room of chunks that were never handed out back to a file system that is full. Then the counts
 * of losses may find room: a file system that copies on write needs new room for them. Nothing is handed
 * out afterwards. */
static bool give_up_unused(struct fxt_buffer *buffer)
{
	uint64_t from;

	from = atomic_exchange_explicit(&buffer->cursor, buffer->limit, memory_order_relaxed);
	if (from >= atomic_load_explicit(&buffer->extended, memory_order_relaxed))
		return false;
	atomic_store_explicit(&buffer->extended, (uint32_t)from, memory_order_relaxed);
	return !fxt_sys_ftruncate(buffer->fd, (off_t)fxt_buffer_chunk_offset(buffer, (uint32_t)from));
}

int fxt_buffer_save(struct fxt_buffer *buffer)
{
	uint64_t mask;
	int error = -EBADF;

	/* A mapping of the file is the file. To write it from itself would destroy what is there. */
	if (!buffer->in_memory)
		return 0;
	mask = fxt_lock(&buffer->extend_lock);
	if (fxt_file_ready(buffer)) {
		give_up_spare(buffer);
		error = save_all(buffer);
	}
	if ((error == -ENOSPC || error == -EDQUOT) && give_up_unused(buffer))
		error = save_all(buffer);
	fxt_file_settle(buffer);
	fxt_unlock(&buffer->extend_lock, mask);
	return error;
}

/* Sets *is_there to whether the file has this header at `offset`. Returns false if it cannot be read. */
static bool look_for_saved(const struct fxt_buffer *buffer, uint64_t offset, uint64_t header, bool *is_there)
{
	uint64_t there;

	if (FXT_SYSCALL4(SYS_pread64, buffer->fd, &there, sizeof(there), offset) != sizeof(there))
		return false;
	*is_there = there == header;
	return true;
}

static bool read_saved(const struct fxt_buffer *buffer, uint64_t offset, uint64_t *record, size_t words,
		       uint64_t last)
{
	return FXT_SYSCALL4(SYS_pread64, buffer->fd, record, words * FXT_WORD_BYTES, offset) ==
		       (long)(words * FXT_WORD_BYTES) &&
	       fxt_is_event_of(record, words, last);
}

bool fxt_buffer_take_back_saved(struct fxt_buffer *buffer, uint64_t offset, uint64_t *record, size_t words,
				uint64_t last, bool is_read)
{
	const uint64_t filler = fxt_filler(words);
	uint64_t mask = fxt_lock(&buffer->extend_lock);
	bool is_there = true, done;

	done = fxt_file_ready(buffer) && (is_read ? look_for_saved(buffer, offset, record[0], &is_there)
						  : read_saved(buffer, offset, record, words, last));
	if (done && is_there)
		done = !fxt_file_write(buffer->fd, offset, &filler, sizeof(filler));
	fxt_file_settle(buffer);
	fxt_unlock(&buffer->extend_lock, mask);
	return done;
}
