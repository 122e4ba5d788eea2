/* What wrappers do around a call that reads or writes a descriptor, for the arrow from the write to the read.
 * For descriptors that lead to no stream that is known (endpoint.h) it is a load and a test.
 *
 * The reader writes all there is of an arrow, in the writer's name too: see flow.h. What a read of a signalfd
 * took has been sent by somebody (signal_senders.h), and is treated alike. Any context.
 */
#ifndef FXT_TRANSFER_H
#define FXT_TRANSFER_H

#include <stddef.h>

#include <bits/types/struct_FILE.h>

#include "endpoint.h"
#include "agent/arrows/flow.h"

struct fxt_writing {
	struct fxt_transfer transfer;
	uint32_t pid;
};

struct fxt_reading {
	struct fxt_transfer transfer;
	struct fxt_stream_writer writers[FXT_CAUSES_MAX];       /* of a stream one at most, of signals as many as fit */
	uint64_t start_ns;
	uint64_t after_ns;              /* the thread's last time before the call's end */
	uint32_t pid;
	uint32_t found;                 /* writers */
};

void fxt_writing_begin(struct fxt_thread *thread, int fd, struct fxt_writing *writing);
void fxt_writing_end(struct fxt_thread *thread, const struct fxt_writing *writing, int64_t result,
			      const void *from);
void fxt_reading_begin(struct fxt_thread *thread, int fd, struct fxt_reading *reading);
void fxt_reading_end(struct fxt_thread *thread, struct fxt_reading *reading, int64_t result, const void *to,
			      uint64_t wanted);
void fxt_reading_arrow(struct fxt_thread *thread, const struct fxt_reading *reading, uint64_t end_ns);

/* Before the real call, its start being the thread's last time; after it; and after its event. */
static inline void fxt_writes(struct fxt_thread *thread, int fd, struct fxt_writing *writing)
{
	writing->transfer.stream = 0;
	if (fxt_endpoint(fd))
		fxt_writing_begin(thread, fd, writing);
}

/* The same, of a call that may write what it has in several pieces. */
static inline void fxt_writes_pieces(struct fxt_thread *thread, int fd, struct fxt_writing *writing)
{
	writing->transfer.stream = 0;
	if (fxt_endpoint(fd)) {
		fxt_endpoint_astray(fd);
		fxt_writing_begin(thread, fd, writing);
	}
}

/* `from`: what it wrote, if that is in one piece; an eventfd's count is in it. */
static inline void fxt_wrote(struct fxt_thread *thread, const struct fxt_writing *writing, int64_t result, const void *from)
{
	if (writing->transfer.stream)
		fxt_writing_end(thread, writing, result, from);
}

static inline void fxt_reads(struct fxt_thread *thread, int fd, struct fxt_reading *reading)
{
	reading->transfer.stream = 0;
	if (fxt_endpoint(fd))
		fxt_reading_begin(thread, fd, reading);
}

/* `wanted`: how much it would have taken; 0: not known. */
static inline void fxt_has_read(struct fxt_thread *thread, struct fxt_reading *reading, int64_t result, const void *to,
				uint64_t wanted)
{
	if (reading->transfer.stream)
		fxt_reading_end(thread, reading, result, to, wanted);
}

static inline void fxt_arrow(struct fxt_thread *thread, const struct fxt_reading *reading, uint64_t end_ns)
{
	if (reading->transfer.stream && reading->found)
		fxt_reading_arrow(thread, reading, end_ns);
}

/* A call is about to read or write `file`, a FILE of the C library; NULL is all there are. */
FXT_COLD void fxt_file_unseen(const void *file);
static inline void fxt_file_moves(const struct _IO_FILE *file)
{
	if (FXT_UNLIKELY(!file || fxt_endpoint(file->_fileno)))
		fxt_file_unseen(file);
}

/* The process's end, or something like it: writes what is in the C library's buffers. */
void fxt_files_flushed(void);

#endif
