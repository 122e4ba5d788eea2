/* Makes a small file smaller: at a normal exit fillers and unused strings are left out
 * (fxt_buffer_rewrite() in buffer.h).
 *
 * The new file is written beside the old one and renamed over it, so the name never stands for anything but
 * a whole trace. A helper (apart.h) does that: who kills the process does not kill the helper, so no file is
 * left under another name. The only thread of the process calls this, with signals blocked.
 */
#include "buffer.h"

#include <errno.h>
#include <string.h>

#include "apart.h"
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
static FXT_LARGE unsigned char used[(FXT_STRING_MAX_INDEX + 1) / 8];

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

struct rewriting {
	struct fxt_buffer *buffer;
	const uint64_t *file;           /* the old file, mapped */
	size_t words, max_words;
	struct stat written;            /* what the new file is */
	uint64_t bytes;
};

/* Writes the new file and puts it in the place of the old one. As far as the file system can do that, the
 * file has no name before it is whole. */
static int replace(struct rewriting *rewriting, int fd, bool nameless)
{
	static FXT_LARGE char hidden[FXT_PATH_BYTES];
	const char *path = rewriting->buffer->path;
	struct fxt_record_file output;
	int error = fxt_record_file_open(&output, fd, 0);

	if (!error && !copy_records(rewriting->buffer, rewriting->file, rewriting->words,
				    rewriting->max_words, &output))
		error = -EINVAL;
	fxt_record_file_close(&output);
	rewriting->bytes = output.offset;
	if (!error)
		error = fxt_sys_fstat(fd, &rewriting->written);
	if (!error && !still_ours(rewriting->buffer))
		error = -ESTALE;
	if (!error)
		error = fxt_file_hide(fd, path, nameless, hidden);
	if (!error) {
		nameless = false;
		error = fxt_sys_rename(hidden, path);
	}
	if (error)
		fxt_file_discard(path, nameless);
	return error;
}

static long rewrite(void *argument)
{
	struct rewriting *rewriting = argument;
	bool nameless;
	int fd, error;

	/* A signal to the process group does not reach the helper then. */
	FXT_SYSCALL2(SYS_setpgid, 0, 0);
	fd = fxt_file_open_hidden(rewriting->buffer->path, &nameless);
	if (fd < 0)
		return fd;
	error = replace(rewriting, fd, nameless);
	fxt_sys_close(fd);
	return error;
}

/* Takes the new file, which is opened when something is recorded after this. Hardly any program does that. */
static void take(struct fxt_buffer *buffer, const struct rewriting *rewriting)
{
	fxt_sys_close(buffer->fd);
	buffer->fd = -1;
	buffer->device = rewriting->written.st_dev;
	buffer->inode = rewriting->written.st_ino;
	buffer->tail_offset = rewriting->bytes;
	atomic_store_explicit(&buffer->cursor, 0, memory_order_relaxed);
}

bool fxt_buffer_rewrite(struct fxt_buffer *buffer, uint64_t max_bytes)
{
	/* This is static because a stack may be short. */
	static struct rewriting rewriting;
	struct stat status;
	void *file = NULL;
	int error = -EINVAL;

	if (buffer->tail_offset || buffer->managed || !fxt_file_ready(buffer) || !still_ours(buffer) ||
	    fxt_sys_fstat(buffer->fd, &status))
		return false;
	if (!buffer->left_out)
		buffer->left_out = fxt_sys_memory(LEFT_OUT_BYTES);
	if (buffer->left_out)
		file = fxt_sys_mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, buffer->fd, 0,
				    &error);
	if (!file)
		return false;
	rewriting = (struct rewriting){.buffer = buffer,
				       .file = file,
				       .words = (size_t)status.st_size / FXT_WORD_BYTES,
				       .max_words = max_bytes / FXT_WORD_BYTES};
	error = (int)fxt_apart_from_locks(rewrite, &rewriting);
	fxt_sys_munmap(file, (size_t)status.st_size);
	if (error)
		return false;
	take(buffer, &rewriting);
	return true;
}
