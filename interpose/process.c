/* Processes that are made, waited for and signalled: process.def. The child of a fork gets a file of its own by way of the C
 * library's fork handlers, and of the wrapper of what runs none. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose.h"
#include "trampoline.h"

FXT_EXPORT pid_t __fork(void);
FXT_EXPORT pid_t __wait(int *wstatus);
FXT_EXPORT pid_t __waitpid(pid_t pid, int *wstatus, int options);

/* What a wait says of the child, when there was one. */
#define COUNT_STATUS 0
#define WORDS_STATUS(name) 1
#define MEASURE_STATUS(name)
#define PUT_STATUS(name)                                                \
	if (result_ > 0 && (name)) {                                    \
		at_ = fxt_put_int(at_, FXT_STR_##name, *(name));        \
		arguments_++;                                           \
	}
#define COUNT_CHILD 0
#define WORDS_CHILD(name) 2
#define MEASURE_CHILD(name)
#define PUT_CHILD(name)                                                         \
	if (!result_ && (name) && (name)->si_pid) {                             \
		at_ = fxt_put_int(at_, FXT_STR_child_pid, (name)->si_pid);         \
		at_ = fxt_put_int(at_, FXT_STR_child_status, (name)->si_status);   \
		arguments_ += 2;                                                \
	}

#define FXT_TABLE "process.def"
#include "wrappers.inc"

/* -- fork -------------------------------------------------------------------------------------- */

/* One event, in the parent. The child would give it a second time, and did not begin it. */
static inline pid_t forked(pid_t (*fork_as)(void), uint64_t names)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_process);
	uint64_t start_ns, end_ns, *at;
	pid_t child;

	if (!thread)
		return fork_as();
	start_ns = fxt_now(thread);
	child = fork_as();
	if (!child)
		return 0;
	end_ns = fxt_end(thread, NULL);
	at = fxt_room(thread, start_ns, end_ns, 2);
	if (at) {
		at = fxt_put_int(at, FXT_STR_ret, child);
		if (child == -1)
			at = fxt_put_int(at, FXT_STR_errno_, errno);
		fxt_complete(thread, at, end_ns, names, child == -1 ? 2 : 1);
	}
	return child;
}

FXT_REAL(pid_t, fork, (void), ())
FXT_REAL(pid_t, __fork, (void), ())
FXT_REAL(pid_t, _Fork, (void), ())

FXT_EXPORT pid_t fork(void)
{
	return forked(real_fork, FXT_NAMES(process, fork));
}

FXT_EXPORT pid_t __fork(void)
{
	return forked(real___fork, FXT_NAMES(process, fork));
}

static pid_t fork_without_handlers(void)
{
	pid_t child = real__Fork();

	if (!child)
		fxt_agent_after_fork(true);
	return child;
}

FXT_EXPORT pid_t _Fork(void)
{
	return forked(fork_without_handlers, FXT_NAMES(process, _Fork));
}

#define real_vfork fxt_real_vfork
#define real___vfork fxt_real___vfork
#define FXT_REALS fxt_reals_process
#include "reals.inc"
