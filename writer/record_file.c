/* Writes records by way of a small memory. record_file.h says who may call this. */
#include "record_file.h"

#include <errno.h>
#include <string.h>

#include "fxt_format.h"
#include "sys.h"

enum { MEMORY_BYTES = 128 << 10 };

int fxt_record_file_open(struct fxt_record_file *file, int fd, uint64_t offset)
{
	*file = (struct fxt_record_file){.fd = fd, .offset = offset, .bytes = fxt_sys_memory(MEMORY_BYTES)};
	if (!file->bytes)
		file->error = -ENOMEM;
	return file->error;
}

int fxt_record_file_flush(struct fxt_record_file *file)
{
	size_t done = 0;

	while (!file->error && done < file->used) {
		struct iovec rest = {file->bytes + done, file->used - done};
		ssize_t n = fxt_sys_pwritev(file->fd, &rest, 1, (off_t)file->offset);

		if (n == -EINTR)
			continue;
		if (n <= 0) {
			file->error = n < 0 ? (int)n : -ENOSPC;
			break;
		}
		done += (size_t)n;
		file->offset += (uint64_t)n;
	}
	file->used = 0;
	return file->error;
}

uint64_t *fxt_record_file_room(struct fxt_record_file *file, size_t count)
{
	if (file->used + count * FXT_WORD_BYTES > MEMORY_BYTES)
		fxt_record_file_flush(file);
	return file->error ? NULL : (uint64_t *)(file->bytes + file->used);
}

void fxt_record_file_filled(struct fxt_record_file *file, size_t count)
{
	file->used += count * FXT_WORD_BYTES;
}

void fxt_record_file_put(struct fxt_record_file *file, const uint64_t *words, size_t count)
{
	uint64_t *room = fxt_record_file_room(file, count);

	if (!room)
		return;
	memcpy(room, words, count * FXT_WORD_BYTES);
	fxt_record_file_filled(file, count);
}

void fxt_record_file_close(struct fxt_record_file *file)
{
	if (file->bytes)
		fxt_sys_munmap(file->bytes, MEMORY_BYTES);
	file->bytes = NULL;
}
