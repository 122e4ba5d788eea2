/* Makes the wrappers of pthread_once(), of keys, and of calls that end a thread or let others run:
 * pthread_control.def. pthread_exit(), which does not return, is written by hand. */
/* The header gives this function the assembler name of its successor. Here each name stands for itself. */
#define pthread_yield pthread_yield_of_the_header
#include <pthread.h>
#undef pthread_yield
#include <sched.h>

#include "agent/process/locked_memory.h"
#include "interpose/engine/interpose.h"
#include "interpose/engine/object.h"
#include "thread_start.h"

typedef void (*routine)(void);
typedef void (*destructor)(void *);

/* CANCELS: an ERROR, of a call after which a thread may be cancelled anywhere, and so in the middle of an
 * emission. The agent is told of that before the call. */
#define FAILURE_CANCELS FAILURE_ERROR
#define RESULT_CANCELS RESULT_ERROR
#define CALLEE_CANCELS , announced_
#define AROUND_CANCELS , ANNOUNCED
#define ANNOUNCED(...) FXT_FIRST_DO(announced_, fxt_handlers_begin(), __VA_ARGS__)

/* POLICY, POLICY_ERROR: an INT or ERROR, of a call that gives a thread the scheduling policy `policy`. */
#define FAILURE_POLICY FAILURE_INT
#define RESULT_POLICY RESULT_INT
#define CALLEE_POLICY , policed_
#define AROUND_POLICY , POLICED
#define FAILURE_POLICY_ERROR FAILURE_ERROR
#define RESULT_POLICY_ERROR RESULT_ERROR
#define CALLEE_POLICY_ERROR , policed_
#define AROUND_POLICY_ERROR , POLICED
#define POLICED(type, symbol, ...)                                              \
	static inline type policed_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))   \
	{                                                                       \
		type result = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));     \
										\
		if (!result)                                                    \
			fxt_policy_is_set(policy);                              \
		return result;                                                  \
	}

#define FXT_NUMBER_sched_setscheduler , POLICY_BY_NUMBER
#define FXT_NUMBER_sched_setattr , POLICY_BY_NUMBER
#define POLICY_BY_NUMBER(...) policy_by_number(call_)

/* The kernel knows the policy: it may be in a structure that nobody else reads. */
static int policy_by_number(struct fxt_by_number *call)
{
	int result = (int)fxt_by_number_make(call);

	if (!result)
		fxt_may_be_real_time((int)call->args[0]);
	return result;
}

#define FXT_TABLE "interpose/tables/pthread_control.def"
#include "interpose/engine/wrappers.inc"

FXT_STAYS(pthread, pthread_exit, pthread_exit, fxt_start_exits(), void *, retval)

#define FXT_REALS fxt_reals_pthread_control
#include "interpose/engine/reals.inc"
