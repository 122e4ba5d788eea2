/* Which stack an address lies on: whether two frames can be compared. */
#ifndef FXT_STACK_H
#define FXT_STACK_H

#include <signal.h>

#include "agent.h"

static inline bool fxt_on_own_stack(const struct fxt_thread *thread, uintptr_t at)
{
	return at >= thread->stack_low && at < thread->stack_high;
}

/* Whether the kernel takes this for a handler's stack, which may lie within another, or cannot be asked. */
static inline bool fxt_on_alternate_stack(void)
{
	stack_t stack;

	return FXT_SYSCALL2(SYS_sigaltstack, NULL, &stack) || stack.ss_flags & SS_ONSTACK;
}

#endif
