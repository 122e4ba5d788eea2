/* Makes the wrappers of C11's threads: threads.def. What makes a thread, and what does not return, is written
 * by hand. */
#include <threads.h>

#include "interpose/engine/interpose.h"
#include "interpose/engine/object.h"
#include "thread_start.h"

typedef void (*routine)(void);

#define FXT_TABLE "interpose/tables/threads.def"
#include "interpose/engine/wrappers.inc"

FXT_REAL(int, thrd_create, (thrd_t *thr, thrd_start_t func, void *arg), (thr, func, arg))

/* Makes a thread that begins in thread_start.c, as create() in pthread.c does. */
static int create(struct fxt_thread *self, thrd_t *thr, thrd_start_t func, void *arg)
{
	struct fxt_start *start = fxt_start_take(self, NULL, arg);
	int result;

	if (!start)
		return real_thrd_create(thr, func, arg);
	start->routine.c11 = func;
	result = real_thrd_create(thr, fxt_start_c11, start);
	if (result != thrd_success)
		fxt_start_give_back(start);
	return result;
}

/* thrd_create() is written by hand: what identifies the new thread is known only after the call. */
FXT_EXPORT int thrd_create(thrd_t *thr, thrd_start_t func, void *arg)
{
	struct fxt_thread *self = fxt_enter(FXT_CAT_pthread);
	uint64_t start_ns, end_ns, *at;
	int result;

	if (!self)
		return create(NULL, thr, func, arg);
	start_ns = fxt_now(self);
	result = create(self, thr, func, arg);
	end_ns = fxt_end(self, NULL);
	at = fxt_room(self, start_ns, end_ns, 5, FXT_BIT_pthread);
	if (at) {
		if (result == thrd_success)
			at = fxt_put_uint(at, FXT_STR_thr, (uint64_t)*thr);
		at = fxt_put_pointer(at, FXT_STR_func, (const void *)func);
		at = fxt_put_int(at, FXT_STR_ret, result);
		fxt_complete(self, at, end_ns, FXT_NAMES(pthread, thrd_create),
			     result == thrd_success ? 3 : 2);
	}
	return result;
}

FXT_STAYS(pthread, thrd_exit, thrd_exit, fxt_start_exits(), int, res)

#define FXT_REALS fxt_reals_threads
#include "interpose/engine/reals.inc"
