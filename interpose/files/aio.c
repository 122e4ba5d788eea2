/* Makes the wrappers of <aio.h>, whose calls read and write while the program goes on: aio.def. */
#include <aio.h>
#include <fcntl.h>

#include "submit.h"

typedef const struct aiocb *const *aiocb_list;
typedef const struct aiocb64 *const *aiocb64_list;

/* Kinds of result that only aio.def has.
 * SUBMITS(has_range): an INT, of a call that submits a request, perhaps for a part of a file (`has_range`).
 * The request's lifetime begins before the call, and ends with it if the request is refused. The descriptor
 * is in the control block, where no other number can be given: so ours leaves its number if that is in the
 * block.
 * SYNCS: the same, of aio_fsync(), which looks at the block only if it knows the operation `op`.
 * RETURNED: a LONG, the result of a request, whose lifetime ends here. aio_error() says why a request failed,
 * and errno does not. */
#define ENTER_SUBMITS(has_range) , fxt_submit(thread_, aiocbp, start_ns_, names_, has_range);
#define CALLEE_SUBMITS(has_range) , submitting_
#define AROUND_SUBMITS(has_range) , SUBMITTING
#define SUBMITTING(...) FXT_FIRST_DO(submitting_, fxt_descriptor_leave(aiocbp->aio_fildes), __VA_ARGS__)
#define FAILURE_SUBMITS(has_range) FAILURE_INT
#define RESULT_SUBMITS(has_range) RESULT_INT
#define AFTER_SUBMITS(has_range)								\
	, if (result_)										\
		fxt_request_end(thread_, (uintptr_t)aiocbp, end_ns_, result_, failure_);
#define ENTER_SYNCS ENTER_SUBMITS(false)
#define CALLEE_SYNCS , syncing_
#define AROUND_SYNCS , SYNCING
#define SYNCING(...)										\
	FXT_FIRST_DO(syncing_, if (op == O_SYNC || op == O_DSYNC)				\
		     fxt_descriptor_leave(aiocbp->aio_fildes), __VA_ARGS__)
#define FAILURE_SYNCS FAILURE_INT
#define RESULT_SYNCS RESULT_INT
#define AFTER_SYNCS AFTER_SUBMITS(false)
#define FAILURE_RETURNED 0
#define RESULT_RETURNED RESULT_LONG
#define AFTER_RETURNED , fxt_request_end(thread_, (uintptr_t)aiocbp, end_ns_, result_, 0);

#define FXT_TABLE "interpose/tables/aio.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_aio
#include "interpose/engine/reals.inc"
