/* Requests of asynchronous input and output (aio) as async events, from the call that submits a request to
 * the one that takes its result. The wrappers of aio.c and versioned.c call this, in any context. */
#ifndef FXT_REQUESTS_H
#define FXT_REQUESTS_H

#include "agent/base/agent.h"

/* The arguments of a request's event. */
struct fxt_request {
	int fd;
	bool has_range;                 /* `bytes` and `offset` are set: it is not about a file as a whole */
	uint64_t bytes;
	int64_t offset;
};

/* Begins the event of a request that is about to be submitted, with its control block, by the call of
 * `names`; the event has that call's name. It is called before the real call, because another thread may
 * take the result before that returns. Requests beyond the table's room have no event. */
void fxt_request_begin(struct fxt_thread *thread, uintptr_t control, uint64_t now_ns, uint64_t names,
		       const struct fxt_request *request);

/* Ends the event of a request, because its result was taken, or because it was refused with errno
 * `failure`. Does nothing if the request is not known. */
void fxt_request_end(struct fxt_thread *thread, uintptr_t control, uint64_t now_ns, int64_t result,
		     int failure);

/* Empties the table because recording begins again. */
void fxt_requests_again(void);

#endif
