/* Makes the wrappers of calls that fork processes, and that ask or change what these may do: process.def. The
 * child of a fork gets a file of its own by way of the C library's fork handlers or, if the call runs none,
 * of its wrapper. */
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "agent/arrows/parent_links.h"
#include "agent/arrows/shared.h"
#include "agent/process/descriptor.h"
#include "agent/process/follow.h"
#include "agent/process/fork.h"
#include "interpose/engine/interpose.h"
#include "interpose/engine/trampoline.h"

FXT_EXPORT pid_t __fork(void);

/* KEPT: an ERROR, of a call that keeps the number of a descriptor for later. Ours leaves that number. */
#define FAILURE_KEPT FAILURE_ERROR
#define RESULT_KEPT RESULT_ERROR
#define CALLEE_KEPT , keeping_
#define AROUND_KEPT , KEEPING
#define KEEPING(...) FXT_FIRST_DO(keeping_, fxt_descriptor_leave(fildes), __VA_ARGS__)

/* PARENT: an INT that is the id of the parent. */
#define FAILURE_PARENT FAILURE_INT
#define RESULT_PARENT RESULT_INT
#define CALLEE_PARENT , parent_by_
#define AROUND_PARENT , PARENT_BY
#define PARENT_BY(type, symbol, ...)                                       \
	static type parent_by_##symbol(void)                               \
	{                                                                  \
		return (type)fxt_shared_parent((uint32_t)real_##symbol()); \
	}
#define FXT_NUMBER_getppid , PARENT_BY_NUMBER
#define PARENT_BY_NUMBER(...) (call_->result = fxt_shared_parent((uint32_t)real_by_number(__VA_ARGS__)))

/* PARTED: an INT, of a call by which the thread leaves what it shares with others. */
#define FAILURE_PARTED FAILURE_INT
#define RESULT_PARTED RESULT_INT
#define CALLEE_PARTED , parting_
#define AROUND_PARTED , PARTING
#define PARTING(...) FXT_FIRST_DO(parting_, part(flags), __VA_ARGS__)
#define FXT_NUMBER_unshare , UNSHARE_BY_NUMBER
#define UNSHARE_BY_NUMBER(flags) (part(flags), (returned_)fxt_by_number_make(call_))

static void part(int flags)
{
	if (flags & CLONE_FILES)
		fxt_descriptor_part();
}

/* ENTERED: an INT, of a call by which the process enters another namespace. */
#define FAILURE_ENTERED FAILURE_INT
#define RESULT_ENTERED RESULT_INT
#define CALLEE_ENTERED , entering_
#define AROUND_ENTERED , FXT_ENTERING
#define FXT_ENTERING(type, symbol, ...)                                         \
	static type entering_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))         \
	{                                                                       \
		return has_entered(real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__)));\
	}
#define FXT_NUMBER_setns , SETNS_BY_NUMBER
#define SETNS_BY_NUMBER(...) ((returned_)has_entered((int)fxt_by_number_make(call_)))

static int has_entered(int result)
{
	if (!result)
		fxt_clock_enters();
	return result;
}

#define FXT_TABLE "interpose/tables/process.def"
#include "interpose/engine/wrappers.inc"

/* -- fork -------------------------------------------------------------------------------------- */

/* Forks, and records the call in the parent alone: the child would record it a second time, and did not begin
 * it. */
static inline pid_t forked(pid_t (*fork_as)(void), uint64_t names)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_process);
	uint64_t start_ns, end_ns, *at;
	struct fxt_birth birth;
	pid_t child;

	if (!thread)
		return fork_as();
	start_ns = fxt_now(thread);
	fxt_birth_begin(thread, &birth, FXT_BIRTH_FORKS);
	child = fork_as();
	if (!child) {
		fxt_birth_forked(&birth);
		return 0;
	}
	end_ns = fxt_end(thread, NULL);
	at = fxt_room(thread, start_ns, end_ns, 2, FXT_BIT_process);
	if (at) {
		at = fxt_put_int(at, FXT_STR_ret, child);
		if (child == -1)
			at = fxt_put_int(at, FXT_STR_errno_, errno);
		fxt_complete(thread, at, end_ns, names, child == -1 ? 2 : 1);
	}
	fxt_birth_end(thread, &birth, child);
	if (child > 0)
		fxt_follow_tell_forked();
	return child;
}

/* Makes the wrapper of a fork. Mostly the C library's handlers have been called already when it returns. But
 * _Fork() runs none, and a constructor may fork before ours has registered one. */
#define FORKS(symbol, event)							\
	FXT_REAL(pid_t, symbol, (void), ())					\
	static pid_t fork_by_##symbol(void)					\
	{									\
		pid_t child = real_##symbol();					\
										\
		if (!child)							\
			fxt_fork_in_child(true, false);				\
		return child;							\
	}									\
	FXT_EXPORT pid_t symbol(void)						\
	{									\
		return forked(fork_by_##symbol, FXT_NAMES(process, event));	\
	}

FORKS(fork, fork)
FORKS(__fork, fork)
FORKS(_Fork, _Fork)

#define real_vfork fxt_real_vfork
#define real___vfork fxt_real___vfork
#define FXT_REALS fxt_reals_process
#include "interpose/engine/reals.inc"
