/* Input and output that goes on by itself: aio.def. */
#include <aio.h>

#include "submit.h"

typedef const struct aiocb *const *aiocb_list;
typedef const struct aiocb64 *const *aiocb64_list;

/* SUBMITS: a request begins before the call, and is over where it is refused; whether it is about a part of a file.
 * The descriptor is in the block: fxt_submit_without_ours().
 * RETURNED: the result of a request, whose end it is; how that failed errno does not say, but aio_error(). */
#define ENTER_SUBMITS(has_range) , fxt_submit(thread_, aiocbp, start_ns_, names_, has_range);
#define CALLEE_SUBMITS(has_range) , submitting_
#define AROUND_SUBMITS(has_range) , SUBMITTING
#define SUBMITTING(type, symbol, ...)                                           \
	static int submitting_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))        \
	{                                                                       \
		fxt_descriptor_leave(aiocbp->aio_fildes);                       \
		return real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));            \
	}
#define FAILURE_SUBMITS(has_range) FAILURE_INT
#define RESULT_SUBMITS(has_range) RESULT_INT
#define AFTER_SUBMITS(has_range)								\
	, if (result_)										\
		fxt_request_end(thread_, (uintptr_t)aiocbp, end_ns_, result_, failure_);
#define FAILURE_RETURNED 0
#define RESULT_RETURNED RESULT_LONG
#define AFTER_RETURNED , fxt_request_end(thread_, (uintptr_t)aiocbp, end_ns_, result_, 0);

#define FXT_TABLE "interpose/tables/aio.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_aio
#include "interpose/engine/reals.inc"
