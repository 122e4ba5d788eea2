/* Transfers: wrappers call these functions around a call that reads or writes a descriptor, for the arrow
 * from the write to the read. For a descriptor that leads to no known stream (endpoint.h) they cost a load
 * and a test.
 *
 * The reader writes the whole arrow, also the part in the writer's name: flow.h. A read of a signalfd is
 * treated alike, because some thread has sent the signals that it gets (signal_senders.h). Any context.
 */
#ifndef FXT_TRANSFER_H
#define FXT_TRANSFER_H

#include <stddef.h>

#include <bits/types/struct_FILE.h>

#include "agent/arrows/flow.h"
#include "endpoint.h"

struct fxt_writing {
	struct fxt_transfer transfer;
	uint32_t pid;
	uint32_t named_tid;             /* the thread that the file names: name_file.h */
};

struct fxt_reading {
	struct fxt_transfer transfer;
	/* a read of a stream finds at most one; a read of signals finds as many as fit */
	struct fxt_stream_writer writers[FXT_CAUSES_MAX];
	uint64_t start_ns;
	uint64_t after_ns;              /* the thread's last time before the end of the call */
	uint32_t pid;
	uint32_t found;                 /* the number of writers that were found */
};

/* These do the work of the inline functions below for a descriptor that leads to a known stream. */
void fxt_writing_begin(struct fxt_thread *thread, int fd, struct fxt_writing *writing);
void fxt_writing_end(struct fxt_thread *thread, const struct fxt_writing *writing, int64_t result,
			      const void *from);
void fxt_reading_begin(struct fxt_thread *thread, int fd, struct fxt_reading *reading);
void fxt_reading_end(struct fxt_thread *thread, struct fxt_reading *reading, int64_t result, const void *to,
			      uint64_t wanted);
void fxt_reading_arrow(struct fxt_thread *thread, const struct fxt_reading *reading, uint64_t end_ns);

/* fxt_writes() and fxt_reads() are called before the real call, whose start is the thread's last time.
 * fxt_wrote() and fxt_has_read() are called after the real call, and fxt_arrow() after its event. */
static inline void fxt_writes(struct fxt_thread *thread, int fd, struct fxt_writing *writing)
{
	writing->transfer.stream = 0;
	if (fxt_endpoint(fd))
		fxt_writing_begin(thread, fd, writing);
}

/* Does what fxt_writes() does, for a call that may write its bytes in several pieces. A stream of messages is
 * given up, because each piece is a message. */
static inline void fxt_writes_pieces(struct fxt_thread *thread, int fd, struct fxt_writing *writing)
{
	writing->transfer.stream = 0;
	if (fxt_endpoint(fd)) {
		fxt_endpoint_astray(fd);
		fxt_writing_begin(thread, fd, writing);
	}
}

/* `from` points to the bytes that the call wrote, or is NULL if they are not in one piece. */
static inline void fxt_wrote(struct fxt_thread *thread, const struct fxt_writing *writing, int64_t result,
			     const void *from)
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

/* `to` points to the bytes that the call read, or is NULL if they are not in one piece. `wanted` is how many
 * bytes the call would have taken; 0: not known. */
static inline void fxt_has_read(struct fxt_thread *thread, struct fxt_reading *reading, int64_t result,
				const void *to, uint64_t wanted)
{
	if (reading->transfer.stream)
		fxt_reading_end(thread, reading, result, to, wanted);
}

static inline void fxt_arrow(struct fxt_thread *thread, const struct fxt_reading *reading, uint64_t end_ns)
{
	if (reading->transfer.stream && reading->found)
		fxt_reading_arrow(thread, reading, end_ns);
}

/* Gives up the stream of `file`, a FILE of the C library, because a call is about to move bytes that are
 * not seen. NULL stands for all FILEs. Of these, only the FILEs of descriptors 0 to 2 may have a stream:
 * fxt_endpoint_buffered(). */
FXT_COLD void fxt_file_unseen(const void *file);
extern struct _IO_FILE _IO_2_1_stdin_, _IO_2_1_stdout_, _IO_2_1_stderr_;

static inline bool fxt_file_is_standard(const struct _IO_FILE *file)
{
	return file == &_IO_2_1_stdin_ || file == &_IO_2_1_stdout_ || file == &_IO_2_1_stderr_;
}

/* Another FILE is not looked at: it need not be one if the call refuses another argument, or has nothing to
 * do. */
static inline void fxt_file_moves(const struct _IO_FILE *file)
{
	if (FXT_UNLIKELY(!file || (fxt_file_is_standard(file) && fxt_endpoint(file->_fileno))))
		fxt_file_unseen(file);
}

/* Gives up the stream of standard output if its buffer holds bytes. Called where the process ends, and the C
 * library is about to write these bytes. */
void fxt_files_flushed(void);

#endif
