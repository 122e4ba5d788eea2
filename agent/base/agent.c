/* See agent.h and stack.h: the state that all parts of the agent share, and what they ask of a stack. */
#include "agent.h"

#include "stack.h"

struct fxt_agent fxt_agent = {
	.storage = &fxt_agent.buffer.storage, .buffer.storage.ops = &fxt_buffer_ops, .buffer.fd = -1,
	.statm_fd = -1,
};
__thread struct fxt_thread *fxt_self, *fxt_self_ending, *fxt_self_leaving;

bool fxt_stack_has_less(size_t bytes)
{
	/* The C library gives a thread the stack of one that has ended, if it is not four times as large. */
	enum { LARGER = 4 };
	const struct fxt_thread *thread = fxt_self;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	stack_t stack;

	if (thread && !thread->stack.alternate_is_within && fxt_on_own_stack(thread, here))
		return here - thread->stack.low < bytes;
	/* A handler on a stack that is disarmed meanwhile (SS_AUTODISARM) is not told of it. */
	if (thread && here >= thread->stack.alternate_low && here < thread->stack.alternate_high)
		return here - thread->stack.alternate_low < bytes;
	if (!FXT_SYSCALL2(SYS_sigaltstack, NULL, &stack) && stack.ss_flags & SS_ONSTACK)
		return (uintptr_t)&stack - (uintptr_t)stack.ss_sp < bytes;
	/* Such a stack reaches below what was asked for, and a guard page ends it. */
	return thread && here < thread->stack.low &&
	       thread->stack.low - here < LARGER * (thread->stack.high - thread->stack.low) &&
	       !fxt_is_forbidden(FXT_NO_LOCKS) && !fxt_sys_can_read(here - bytes);
}
