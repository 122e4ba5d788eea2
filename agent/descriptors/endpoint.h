/* The endpoints: which stream each descriptor leads to, and which side of it. The table of descriptors keeps
 * this in struct fxt_fd's `stream`. The stream is known if the call that made it was seen (pipe, socketpair,
 * connect, accept, eventfd, opening a FIFO), in this or another process, and the descriptor came from there
 * by fork, exec, duplication or a message. See docs/streams.md.
 *
 * Streams are known only where both io and net are recorded, because calls of both categories move their
 * bytes.
 *
 * Wrappers call these functions in any context, mostly once for each descriptor.
 */
#ifndef FXT_ENDPOINT_H
#define FXT_ENDPOINT_H

#include "byte_stream.h"
#include "fds.h"

struct sockaddr;

/* The endpoint of a signalfd. It is not that of any stream, because no stream has generation 0. */
enum { FXT_ENDPOINT_SIGNALS = 1 };
/* The endpoint of a file by which a thread is named: name_file.h. */
enum { FXT_ENDPOINT_NAME = 2 };

/* Finds the streams of the descriptors that this process has inherited. Called once, at start. */
void fxt_endpoints_start(void);

/* Gives up all streams that this process has descriptors of: its calls are not recorded from here on. */
void fxt_endpoints_unseen(void);

/* Returns the side of a stream that a descriptor leads to; 0: not known. */
static inline fxt_stream fxt_endpoint(int fd)
{
	struct fxt_fd *entry = fxt_fd(fd);

	return entry ? atomic_load_explicit(&entry->stream, memory_order_relaxed) : 0;
}

/* -- A call has made a stream or a descriptor of one: these note to which stream it leads -------- */

/* Notes the two ends of a new pipe; `flags` are pipe2()'s. */
void fxt_endpoint_pipe(struct fxt_thread *thread, const int fds[2], int flags);

/* Notes the two ends of a new pair of sockets. */
void fxt_endpoint_pair(struct fxt_thread *thread, const int fds[2], int domain, int type);

/* Returns whether a descriptor that open() returned is a FIFO whose stream can be known. */
bool fxt_endpoint_is_fifo(struct fxt_thread *thread, int fd);

/* Notes the stream of a descriptor that open() returned, if it is a FIFO. */
void fxt_endpoint_fifo(struct fxt_thread *thread, int fd);

/* Notes a socket that is connected, or on its way to be, to `peer`. If it had a stream of messages, gives
 * that up. */
void fxt_endpoint_connected(struct fxt_thread *thread, int fd, const struct sockaddr *peer, size_t bytes);

/* Notes that a socket is not connected any more, or could not be. */
void fxt_endpoint_disconnected(struct fxt_thread *thread, int fd);

/* Notes a socket that accept() returned. */
void fxt_endpoint_accepted(struct fxt_thread *thread, int fd);

/* Notes a descriptor that eventfd() returned. `count` is its first value; `by_one` says whether it is a
 * semaphore. */
void fxt_endpoint_event(struct fxt_thread *thread, int fd, unsigned count, bool by_one);

/* Notes a descriptor that signalfd() returned. */
void fxt_endpoint_signals(struct fxt_thread *thread, int fd);

/* Notes a file by which a thread is named. */
void fxt_endpoint_names(int fd);

/* Looks up the stream of a descriptor that another process sent, or that came in a way that was not seen. */
void fxt_endpoint_received(struct fxt_thread *thread, int fd);

/* -- Bytes are not seen: these give a stream up -------------------------------------------------- */

/* Gives up the descriptor's stream: bytes are moved through it that are not seen, as by the C library for a
 * FILE. */
FXT_COLD void fxt_endpoint_unseen(int fd);

/* Gives up the descriptor's stream if it is one of messages: these go elsewhere, in pieces, or are lost. */
FXT_COLD void fxt_endpoint_astray(int fd);

/* Gives up the stream of a descriptor for which a FILE has just been made; it may be a FIFO that fopen()
 * opened. */
void fxt_endpoint_buffered(struct fxt_thread *thread, int fd);

#endif
