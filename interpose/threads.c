/* C11's threads: threads.def, and the one that does not return. */
#include <threads.h>

#include "interpose.h"
#include "object.h"

typedef void (*routine)(void);

#define FXT_TABLE "threads.def"
#include "wrappers.inc"

FXT_REAL(void, thrd_exit, (int res), (res))

/* It stays in progress until the thread is gone: agent/thread.c closes it. */
FXT_EXPORT void thrd_exit(int res)
{
	struct fxt_thread *thread_ = fxt_enter(FXT_CAT_pthread);

	if (thread_) {
		const uint64_t names_ = FXT_NAMES(pthread, thrd_exit);
		uint64_t start_ns_ = fxt_now(thread_);

		BLOCKS(res);
	}
	real_thrd_exit(res);
	__builtin_unreachable();
}

#define FXT_REALS fxt_reals_threads
#include "reals.inc"
