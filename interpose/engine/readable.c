/* Tells whether memory can be read: see readable.h. Wrappers call this before or after the real call, in any
 * context; errno stays as it is. */
#include "readable.h"

#include "agent/base/agent.h"
#include "writer/sys.h"

bool fxt_readable(const struct fxt_thread *thread, const void *memory, size_t bytes)
{
	uintptr_t at = (uintptr_t)memory, frame = (uintptr_t)__builtin_frame_address(0), end;

	if (!memory || __builtin_add_overflow(at, bytes, &end))
		return false;
	if (thread && at >= frame && frame >= thread->stack.low && end <= thread->stack.high)
		return true;
	return fxt_sys_can_read(at) &&
	       (at / FXT_PAGE_BYTES == (end - 1) / FXT_PAGE_BYTES || fxt_sys_can_read(end - 1));
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
