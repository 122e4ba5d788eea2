/* Makes a small file smaller: at a normal exit fillers and unused strings are left out
 * (fxt_buffer_rewrite() in buffer.h).
 *
 * The new file is written beside the old one and renamed over it, so the name never stands for anything but
 * a whole trace. The only thread of the process calls this, with signals blocked.
 */
#include "buffer.h"

#include <string.h>

#include "record_file.h"

enum {
	/* This is enough for the strings of the prologue. The names of functions are not kept, because each
	 * chunk that has them defines them again. The strings and the page behind them have to fit under
	 * one filler. */
	LEFT_OUT_BYTES = FXT_CHUNK_BYTES - FXT_PAGE_BYTES,
};

/* -- Which strings are referred to ------------------------------------------------------------- */

/* This is static, and so is the path below, because a signal handler may call _exit() on a stack of 3632
 * bytes. */
static unsigned char used[(FXT_STRING_MAX_INDEX + 1) / 8];

static size_t mark(uint64_t ref)
{
	if (fxt_get_string_ref_inline(ref))
		return fxt_words_of(fxt_get_string_ref_value(ref));
	used[ref / 8] |= (unsigned char)(1u << ref % 8);
	return 0;
}

static void mark_args(const uint64_t *arg, const uint64_t *end, uint64_t count)
{
	while (count-- && arg < end) {
		mark(fxt_get_arg_name(*arg));
		if (fxt_get_arg_type(*arg) == FXT_ARG_STRING)
			mark(fxt_get_arg_string(*arg));
		arg += fxt_get_arg_words(*arg);
	}
}

static void mark_record(const uint64_t *record)
{
	uint64_t header = record[0];
	const uint64_t *end = record + fxt_get_record_words(header);
	size_t at;

	switch (fxt_get_record_type(header)) {
	case FXT_RECORD_EVENT:
		at = fxt_get_event_thread(header) ? 2 : 4;
		at += mark(fxt_get_event_category(header));
		at += mark(fxt_get_event_name(header));
		mark_args(record + at, end, fxt_get_event_args(header));
		break;
	case FXT_RECORD_KERNEL_OBJECT:
		at = 2 + mark(fxt_get_object_name(header));
		mark_args(record + at, end, fxt_get_object_args(header));
		break;
	case FXT_RECORD_USERSPACE_OBJECT:
		at = fxt_get_object_process(header) ? 2 : 3;
		at += mark(fxt_get_object_name(header));
		mark_args(record + at, end, fxt_get_object_args(header));
		break;
	case FXT_RECORD_SCHEDULING:
		/* A switch has two threads, and a wakeup has one. The older record of a switch has no
		 * arguments. */
		if (fxt_get_scheduling_type(header) != FXT_SCHEDULING_LEGACY_SWITCH)
			mark_args(record + (fxt_get_scheduling_type(header) == FXT_SCHEDULING_SWITCH ? 4 : 3),
				  end, fxt_get_scheduling_args(header));
		break;
	case FXT_RECORD_BLOB:
		mark(fxt_get_blob_name(header));
		break;
	default:
		break;
	}
}

/* -- The walk ---------------------------------------------------------------------------------- */

static bool is_unused_string(uint64_t header)
{
	uint64_t index = fxt_get_string_index(header);

	return fxt_get_record_type(header) == FXT_RECORD_STRING && !(used[index / 8] & 1u << index % 8);
}

/* Copies the records that are kept. Returns false if there are too many, or if the file is not what we
 * wrote: then somebody else has written to it, and it is left alone. */
static bool copy_records(struct fxt_buffer *buffer, const uint64_t *file, size_t words, size_t max_words,
			 struct fxt_record_file *output)
{
	size_t at, n, kept = 0;
	int pass;

	memset(used, 0, sizeof(used));
	buffer->left_out_words = 0;
	for (pass = 0; pass < 2; pass++) {
		for (at = 0; at < words; at += n) {
			n = fxt_get_record_words(file[at]);
			if (!n || n > words - at)
				return false;
			if (fxt_is_filler(file[at]))
				continue;
			if (pass == 0) {
				mark_record(file + at);
				kept += n;
				if (kept > max_words)
					return false;
			} else if (!is_unused_string(file[at])) {
				fxt_record_file_put(output, file + at, n);
			} else if (buffer->left_out_words + n <= LEFT_OUT_BYTES / FXT_WORD_BYTES) {
				memcpy(buffer->left_out + buffer->left_out_words, file + at,
				       n * FXT_WORD_BYTES);
				buffer->left_out_words += n;
			}
		}
	}
	return !fxt_record_file_flush(output);
}

static bool still_ours(const struct fxt_buffer *buffer)
{
	struct stat status;

	return !fxt_sys_lstat(buffer->path, &status) && status.st_dev == buffer->device &&
	       status.st_ino == buffer->inode;
}

bool fxt_buffer_rewrite(struct fxt_buffer *buffer, uint64_t max_bytes)
{
	static const char suffix[] = ".tmp";
	static char path[FXT_PATH_BYTES + sizeof(suffix)];
	size_t length = strlen(buffer->path);
	struct fxt_record_file output;
	struct stat status, written;
	uint64_t *file = NULL;
	bool done = false;
	int error = 0, fd = -1;

	if (buffer->tail_offset || buffer->managed || !fxt_file_ready(buffer) || !still_ours(buffer) ||
	    fxt_sys_fstat(buffer->fd, &status))
		return false;
	memcpy(path, buffer->path, length);
	memcpy(path + length, suffix, sizeof(suffix));
	if (!buffer->left_out)
		buffer->left_out = fxt_sys_memory(LEFT_OUT_BYTES);
	file = fxt_sys_mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, buffer->fd, 0, &error);
	if (file && buffer->left_out)
		fd = fxt_sys_open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0) {
		fd = fxt_file_move_high(fd);
		done = !fxt_record_file_open(&output, fd, 0) &&
		       copy_records(buffer, file, (size_t)status.st_size / FXT_WORD_BYTES,
				    max_bytes / FXT_WORD_BYTES, &output) &&
		       !fxt_sys_fstat(fd, &written) && !fxt_sys_rename(path, buffer->path);
		fxt_record_file_close(&output);
		if (!done) {
			fxt_sys_unlink(path);
			fxt_sys_close(fd);
		}
	}
	if (file)
		fxt_sys_munmap(file, (size_t)status.st_size);
	if (!done)
		return false;
	fxt_sys_close(buffer->fd);
	buffer->fd = fd;
	buffer->device = written.st_dev;
	buffer->inode = written.st_ino;
	buffer->tail_offset = output.offset;
	atomic_store_explicit(&buffer->cursor, 0, memory_order_relaxed);
	return true;
}
