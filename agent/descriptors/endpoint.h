/* Which stream a descriptor leads to: struct fxt_fd's `stream`. It is known where the call was seen that made
 * the stream (pipe, socketpair, connect, accept, eventfd, opening a FIFO), here or in another process, and
 * the descriptor came from there by fork, exec or duplication.
 *
 * Streams are known where both io and net are recorded: bytes of either are moved by calls of both.
 *
 * Called by wrappers, once a descriptor; any context.
 */
#ifndef FXT_ENDPOINT_H
#define FXT_ENDPOINT_H

#include "fds.h"
#include "byte_stream.h"

struct sockaddr;

/* What a signalfd leads to: no stream that there may be. Its number of generation is that of none. */
enum { FXT_ENDPOINT_SIGNALS = 1 };

/* Once, at start: what this process has inherited. */
void fxt_endpoints_start(void);

/* Calls of this process are not recorded from here on. */
void fxt_endpoints_unseen(void);

static inline fxt_stream fxt_endpoint(int fd)
{
	struct fxt_fd *entry = fxt_fd(fd);

	return entry ? atomic_load_explicit(&entry->stream, memory_order_relaxed) : 0;
}

/* Two ends of a pipe, and of a pair of sockets of some kind. */
void fxt_endpoint_pipe(struct fxt_thread *thread, const int fds[2], int flags);
void fxt_endpoint_pair(struct fxt_thread *thread, const int fds[2], int domain, int type);
/* Returns whether what open() returned is a FIFO, as far as anything is to be known; and takes note of
 * one. */
bool fxt_endpoint_is_fifo(struct fxt_thread *thread, int fd);
void fxt_endpoint_fifo(struct fxt_thread *thread, int fd);
/* A socket that is connected, or on its way to be, to `peer`; and one that accept() returned. */
void fxt_endpoint_connected(struct fxt_thread *thread, int fd, const struct sockaddr *peer, size_t bytes);
/* It is not any more, or could not be. */
void fxt_endpoint_disconnected(struct fxt_thread *thread, int fd);
void fxt_endpoint_accepted(struct fxt_thread *thread, int fd);
/* What eventfd() returned. */
void fxt_endpoint_event(struct fxt_thread *thread, int fd, unsigned count, bool by_one);
/* What signalfd() returned. */
void fxt_endpoint_signals(struct fxt_thread *thread, int fd);
/* A descriptor that another process sent, or that came from anywhere. */
void fxt_endpoint_received(struct fxt_thread *thread, int fd);

/* Bytes are moved through it that are not seen: by the C library, for a FILE. */
FXT_COLD void fxt_endpoint_unseen(int fd);
/* The same, if messages are: they go elsewhere, in pieces, or are lost. */
FXT_COLD void fxt_endpoint_astray(int fd);
/* The same of a descriptor that fopen() has just made. */
void fxt_endpoint_buffered(struct fxt_thread *thread, int fd);

#endif
