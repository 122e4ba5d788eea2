/* See transfer.h. These are the paths of descriptors that lead to a known stream. */
#include "transfer.h"

#include <errno.h>
#include <stdio.h>
#include <sys/signalfd.h>

#include "agent/arrows/signal_senders.h"
#include "agent/base/stack.h"
#include "name_file.h"

/* Returns an eventfd's count; -1: it is not known, or larger than the trace can tell. */
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

/* Returns how many messages were moved. A result of 0 breaks the direction, because an empty message, the
 * end and a read that wanted nothing look alike. */
static int64_t one(fxt_stream side, int64_t result, bool reads)
{
	if (!result)
		fxt_stream_break(side, reads, !reads);
	return result > 0;
}

/* Returns how much was moved, in the stream's own unit. */
static int64_t amount(fxt_stream side, int64_t result, const void *at, bool reads)
{
	int64_t count;

	if (fxt_stream_has_messages(side))
		return one(side, result, reads);
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
	struct fxt_stream_writer who = {.pid = thread->pid, .tid = thread->tid, .cpu_and_1 = fxt_flow_cpu()};

	/* In the child of a vfork the number may stand for another descriptor than in the table. */
	if (!fxt_fds_are_ours(thread)) {
		if (fxt_endpoint(fd) != FXT_ENDPOINT_NAME)
			fxt_stream_break(fxt_endpoint(fd), false, true);
		return;
	}
	if (fxt_endpoint(fd) == FXT_ENDPOINT_NAME) {
		writing->transfer.stream = FXT_ENDPOINT_NAME;
		writing->named_tid = fxt_name_file_tid(fd);
		return;
	}
	/* The arrow leaves the call 1 ns behind its begin, which is the last time that this thread took.
	 * Nothing else of this thread begins there. */
	who.at_ns = thread->last_ns + 1;
	thread->last_ns += 3;
	fxt_stream_write_begin(fxt_endpoint(fd), who, &writing->transfer);
	writing->pid = thread->pid;
}

void fxt_writing_end(struct fxt_thread *thread, const struct fxt_writing *writing, int64_t result,
		     const void *from)
{
	if (writing->transfer.stream == FXT_ENDPOINT_NAME) {
		if (result > 0)
			fxt_name_file_tell((struct fxt_thread *)thread, writing->named_tid, from,
					   (size_t)result);
		return;
	}
	/* If a handler has forked within the call, the call is over in the parent and not here. */
	if (writing->pid == thread->pid)
		fxt_stream_write_end(&writing->transfer,
				     amount(writing->transfer.stream, result, from, false));
}

void fxt_reading_begin(struct fxt_thread *thread, int fd, struct fxt_reading *reading)
{
	if (!fxt_fds_are_ours(thread)) {
		fxt_stream_break(fxt_endpoint(fd), true, false);
		return;
	}
	reading->start_ns = thread->last_ns;
	reading->pid = thread->pid;
	reading->found = 0;
	if (fxt_endpoint(fd) == FXT_ENDPOINT_SIGNALS)
		reading->transfer.stream = FXT_ENDPOINT_SIGNALS;
	else
		fxt_stream_read_begin(fxt_endpoint(fd), &reading->transfer);
}

/* Finds the senders of the signals that a read of a signalfd has stored at `to`. */
static void find_senders(struct fxt_thread *thread, struct fxt_reading *reading, int64_t bytes,
			 const void *to)
{
	struct signalfd_siginfo signal;
	struct fxt_cause cause;
	siginfo_t info;

	for (; to && bytes >= (int64_t)sizeof(signal); bytes -= (int64_t)sizeof(signal)) {
		memcpy(&signal, to, sizeof(signal));
		to = (const char *)to + sizeof(signal);
		info.si_signo = (int)signal.ssi_signo;
		info.si_code = signal.ssi_code;
		info.si_pid = (pid_t)signal.ssi_pid;
		if (reading->found == FXT_CAUSES_MAX ||
		    !fxt_signal_taken(thread, reading->start_ns, &info, &cause))
			continue;
		reading->writers[reading->found++] = (struct fxt_stream_writer){
			.pid = cause.pid, .tid = cause.tid, .cpu_and_1 = cause.cpu_and_1,
			.at_ns = cause.at_ns};
	}
}

void fxt_reading_end(struct fxt_thread *thread, struct fxt_reading *reading, int64_t result, const void *to,
		     uint64_t wanted)
{
	fxt_stream side = reading->transfer.stream;
	bool emptied = result < 0 ? errno == EAGAIN : (uint64_t)result < wanted || is_event(side);

	if (reading->pid != thread->pid)
		return;
	if (side == FXT_ENDPOINT_SIGNALS)
		find_senders(thread, reading, result, to);
	else
		reading->found = fxt_stream_read_end(&reading->transfer, amount(side, result, to, true),
						     emptied, &reading->writers[0]);
}

/* Draws the arrows from what `reading` has found. */
static __attribute__((noinline)) void draw(struct fxt_thread *thread, const struct fxt_reading *reading,
					   uint64_t end_ns)
{
	struct fxt_cause causes[FXT_CAUSES_MAX];
	const struct fxt_stream_writer *writer = reading->writers;
	unsigned i;

	for (i = 0; i < reading->found && i < FXT_CAUSES_MAX; i++, writer++)
		/* The reader did not sleep for bytes that were there already. */
		causes[i] = (struct fxt_cause){.at_ns = writer->at_ns, .pid = writer->pid, .tid = writer->tid,
					       .cpu_and_1 = writer->at_ns < reading->start_ns ? 0
							    : writer->cpu_and_1};
	fxt_flow_resume(thread, reading->after_ns, end_ns, causes, i);
}

/* The arrows alone take some 500 bytes of stack before anything looks for room. */
void fxt_reading_arrow(struct fxt_thread *thread, const struct fxt_reading *reading, uint64_t end_ns)
{
	if (!fxt_stack_is_short())
		draw(thread, reading, end_ns);
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
