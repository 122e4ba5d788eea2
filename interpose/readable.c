/* See readable.h. Called by wrappers before or after the real call, in any context; errno stays as it is. */
#include "readable.h"

#include <errno.h>

#include "agent/agent.h"
#include "writer/sys.h"

enum {
	NO_SUCH_HOW = -1,               /* neither SIG_BLOCK, SIG_UNBLOCK nor SIG_SETMASK */
	SIGSET_BYTES = 8,               /* the kernel's, and so what it reads */
};

/* rt_sigprocmask() reads the set before it refuses to do anything with it, and the agent calls it anyhow: a
 * program whose system calls are filtered lives with it. */
static bool kernel_can_read(uintptr_t at)
{
	if (fxt_is_forbidden(FXT_NO_LOCKS))
		return false;
	at -= at % SIGSET_BYTES;
	return FXT_SYSCALL4(SYS_rt_sigprocmask, NO_SUCH_HOW, at, NULL, SIGSET_BYTES) != -EFAULT;
}

bool fxt_readable(const struct fxt_thread *thread, const void *memory, size_t bytes)
{
	uintptr_t at = (uintptr_t)memory, frame = (uintptr_t)__builtin_frame_address(0), end;

	if (!memory || __builtin_add_overflow(at, bytes, &end))
		return false;
	if (at >= frame && frame >= thread->stack_low && end <= thread->stack_high)
		return true;
	return kernel_can_read(at) && kernel_can_read(end - 1);
}

int64_t fxt_time_ns(const struct fxt_thread *thread, const struct timespec *time)
{
	if (!fxt_readable(thread, time, sizeof(*time)))
		return -1;
	return (int64_t)((uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec);
}

int64_t fxt_timeval_ns(const struct fxt_thread *thread, const struct timeval *time)
{
	if (!fxt_readable(thread, time, sizeof(*time)))
		return -1;
	return (int64_t)((uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000);
}
