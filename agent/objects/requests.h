/* Asynchronous input and output (aio) as async events: from the call that submits a request to the one that
 * takes its result. Called by the wrappers of aio.c and versioned.c; any context.
 */
#ifndef FXT_REQUESTS_H
#define FXT_REQUESTS_H

#include "agent/base/agent.h"

/* What a request says of itself. */
struct fxt_request {
	int fd;
	bool has_range;                 /* not where it is about a file as a whole */
	uint64_t bytes;
	int64_t offset;
};

/* The request of a control block is about to be submitted by the call of `names`, which the event is named
 * after. Before the real call: another thread may take the result before that returns. As many as the table
 * has room for have events. */
void fxt_request_begin(struct fxt_thread *thread, uintptr_t control, uint64_t now_ns, uint64_t names, const struct fxt_request *request);

/* Its result was taken, or it was refused with errno `failure`. Does nothing when it is not known. */
void fxt_request_end(struct fxt_thread *thread, uintptr_t control, uint64_t now_ns, int64_t result, int failure);

/* In the child of a fork, which inherits none. */
void fxt_requests_after_fork(void);

#endif
