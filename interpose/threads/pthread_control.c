/* Makes the wrappers of pthread_once(), of keys, and of calls that end a thread or let others run:
 * pthread_control.def. pthread_exit(), which does not return, is written by hand. */
/* The header gives this function the assembler name of its successor. Here each name stands for itself. */
#define pthread_yield pthread_yield_of_the_header
#include <pthread.h>
#undef pthread_yield
#include <sched.h>

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

#define FXT_TABLE "interpose/tables/pthread_control.def"
#include "interpose/engine/wrappers.inc"

FXT_STAYS(pthread, pthread_exit, pthread_exit, fxt_start_exits(), void *, retval)

#define FXT_REALS fxt_reals_pthread_control
#include "interpose/engine/reals.inc"
