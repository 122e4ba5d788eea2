/* See transfer.h. */
#include "transfer.h"

#include <errno.h>
#include <stdio.h>

#include "emit.h"
#include "flow.h"

/* An eventfd's count; -1: it is not known, or too much to be told. */
static int64_t count_at(const void *at)
{
	uint64_t count;

	if (!at)
		return -1;
	memcpy(&count, at, sizeof(count));
	return count <= INT64_MAX ? (int64_t)count : -1;
}

static bool is_event(fxt_stream side)
{
	return fxt_stream_kind_of(side) == FXT_STREAM_COUNT || fxt_stream_kind_of(side) == FXT_STREAM_TOKENS;
}

/* What was moved, in the stream's own measure. */
static int64_t amount(fxt_stream side, int64_t result, const void *at)
{
	int64_t count;

	if (result <= 0 || !is_event(side))
		return result;
	count = count_at(at);
	if (count >= 0)
		return count;
	fxt_stream_break(side, true, true);
	return 0;
}

void fxt_writing_begin(struct fxt_thread *thread, int fd, struct fxt_writing *writing)
{
	struct fxt_stream_writer who = {.pid = thread->pid, .tid = thread->tid};

	/* The child of a vfork: whatever the number is there, here it is something else. */
	if (!fxt_fds_are_ours(thread)) {
		fxt_stream_break(fxt_endpoint(fd), false, true);
		return;
	}
	who.at_ns = fxt_now(thread);
	fxt_stream_write_begin(fxt_endpoint(fd), who, &writing->transfer);
	/* Nothing else of this thread begins where the arrow leaves from. */
	thread->last_ns += 2;
	writing->pid = thread->pid;
}

void fxt_writing_end(struct fxt_thread *thread, const struct fxt_writing *writing, int64_t result, const void *from)
{
	/* A handler has forked within the call: it is over in the parent. */
	if (writing->pid == thread->pid)
		fxt_stream_write_end(&writing->transfer, amount(writing->transfer.stream, result, from));
}

void fxt_reading_begin(struct fxt_thread *thread, int fd, struct fxt_reading *reading)
{
	if (!fxt_fds_are_ours(thread)) {
		fxt_stream_break(fxt_endpoint(fd), true, false);
		return;
	}
	fxt_stream_read_begin(fxt_endpoint(fd), &reading->transfer);
	reading->pid = thread->pid;
	reading->is_found = false;
}

void fxt_reading_end(struct fxt_thread *thread, struct fxt_reading *reading, int64_t result, const void *to, uint64_t wanted)
{
	fxt_stream side = reading->transfer.stream;
	bool emptied = result < 0 ? errno == EAGAIN : (uint64_t)result < wanted || is_event(side);

	if (reading->pid != thread->pid)
		return;
	reading->is_found = fxt_stream_read_end(&reading->transfer, amount(side, result, to), emptied, &reading->writer);
}

void fxt_reading_arrow(struct fxt_thread *thread, const struct fxt_reading *reading, uint64_t end_ns)
{
	struct fxt_cause cause = {.at_ns = reading->writer.at_ns, .pid = reading->writer.pid, .tid = reading->writer.tid};

	fxt_flow_resume(thread, reading->after_ns, end_ns, &cause, 1);
}

/* -- The C library's own ----------------------------------------------------------------------- */

void fxt_file_unseen(const void *file)
{
	int fd;

	if (file) {
		fxt_endpoint_unseen(((const struct _IO_FILE *)file)->_fileno);
		return;
	}
	for (fd = 0; fd < 3; fd++)
		fxt_endpoint_unseen(fd);
}

void fxt_files_flushed(void)
{
	if (fxt_endpoint(stdout->_fileno) && stdout->_IO_write_ptr > stdout->_IO_write_base)
		fxt_endpoint_unseen(stdout->_fileno);
}
