/* Which stack an address lies on, whether two frames can be compared, and how much is left of one. */
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

/* Whether the calling thread's alternate stack lies within what passes for its own (fxt_on_own_stack()), or
 * the kernel cannot be asked. */
static inline bool fxt_alternate_is_within(const struct fxt_thread *thread)
{
	stack_t stack;

	if (FXT_SYSCALL2(SYS_sigaltstack, NULL, &stack))
		return true;
	return !(stack.ss_flags & SS_DISABLE) && (uintptr_t)stack.ss_sp < thread->stack_high &&
	       (uintptr_t)stack.ss_sp + stack.ss_size > thread->stack_low;
}

/* What the slow paths take at most is some 600 bytes. */
enum { FXT_SLOW_PATH_BYTES = 1024 };

/* Whether this is a signal handler's stack with less than so many bytes left. A thread that is on its own
 * stack knows without a system call that it is not, unless its alternate stack lies there (interpose/signals/signal_mask.c
 * keeps note of that). */
static inline bool fxt_stack_has_less(size_t bytes)
{
	const struct fxt_thread *thread = fxt_self;
	stack_t stack;

	if (thread && !thread->alternate_is_within && fxt_on_own_stack(thread, (uintptr_t)__builtin_frame_address(0)))
		return false;
	return !FXT_SYSCALL2(SYS_sigaltstack, NULL, &stack) && stack.ss_flags & SS_ONSTACK &&
	       (uintptr_t)&stack - (uintptr_t)stack.ss_sp < bytes;
}

/* Whether it has too little for a slow path: then what needs one is dropped, and counted. A stack of
 * MINSIGSTKSZ bytes may leave its handler 400. */
static inline bool fxt_stack_is_short(void)
{
	return fxt_stack_has_less(FXT_SLOW_PATH_BYTES);
}

#endif
