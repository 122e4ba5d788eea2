/* Handles the control blocks of <aio.h>. The wrappers of what submits them use this: aio.c, and lio_listio in
 * versioned.c. */
#ifndef FXT_SUBMIT_H
#define FXT_SUBMIT_H

#include <aio.h>

#include "agent/objects/requests.h"
#include "interpose/engine/interpose.h"

/* Begins the lifetime of a request. `control` is a struct aiocb or aiocb64, which are the same here; one that
 * cannot be read is left to the C library. `has_range` says whether the request is about a part of a file. */
static inline void fxt_submit(struct fxt_thread *thread, const void *control, uint64_t now_ns, uint64_t names,
			      bool has_range)
{
	const struct aiocb *block = control;
	struct fxt_request request;

	static_assert(sizeof(struct aiocb) == sizeof(struct aiocb64), "one layout");
	if (!fxt_readable(thread, block, sizeof(*block)))
		return;
	/* The request moves bytes that are not seen, so a stream is given up. */
	if (has_range && FXT_UNLIKELY(fxt_endpoint(block->aio_fildes)))
		fxt_endpoint_unseen(block->aio_fildes);
	request = (struct fxt_request){block->aio_fildes, has_range, block->aio_nbytes, block->aio_offset};
	fxt_request_begin(thread, (uintptr_t)block, now_ns, names, &request);
	fxt_fd_buffered(thread, block->aio_fildes);
}

/* Begins the lifetimes of the requests in a list of `count` control blocks. */
static inline void fxt_submit_list(struct fxt_thread *thread, const void *control_list, int count,
				   uint64_t now_ns)
{
	const struct aiocb *const *list = control_list;
	int i;

	for (i = 0; i < count && fxt_readable(thread, &list[i], sizeof(*list)); i++) {
		if (!fxt_readable(thread, list[i], sizeof(*list[i])) || list[i]->aio_lio_opcode == LIO_NOP)
			continue;
		fxt_submit(thread, list[i], now_ns,
			   list[i]->aio_lio_opcode == LIO_READ ? FXT_NAMES(io, aio_read)
							       : FXT_NAMES(io, aio_write),
			   true);
	}
}

/* Moves the trace's descriptor away if its number is in one of the control blocks. The C library reads the
 * blocks without a check of addresses, so this does too. */
static inline void fxt_submit_without_ours(const void *control_list, int count)
{
	const struct aiocb *const *list = control_list;
	int i;

	for (i = 0; i < count; i++)
		if (list[i] && list[i]->aio_lio_opcode != LIO_NOP)
			fxt_descriptor_leave(list[i]->aio_fildes);
}

#endif
