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

/* What the slow paths take at most is some 600 bytes. */
enum { FXT_SLOW_PATH_BYTES = 1024 };

/* Whether this is a signal handler's stack with less than so many bytes left. */
static inline bool fxt_stack_has_less(size_t bytes)
{
	stack_t stack;

	return !FXT_SYSCALL2(SYS_sigaltstack, NULL, &stack) && stack.ss_flags & SS_ONSTACK &&
	       (uintptr_t)&stack - (uintptr_t)stack.ss_sp < bytes;
}

/* Whether it has too little for a slow path: then what needs one is dropped, and counted. A stack of MINSIGSTKSZ bytes may leave
 * its handler 400. */
static inline bool fxt_stack_is_short(void)
{
	return fxt_stack_has_less(FXT_SLOW_PATH_BYTES);
}

/* The same for where a thread holds a lock, and no system call is to be made if it can be helped: the thread's own stack is none of a
 * handler's, unless the program has put one there. */
static inline bool fxt_stack_may_be_short(const struct fxt_thread *thread)
{
	return !fxt_on_own_stack(thread, (uintptr_t)__builtin_frame_address(0)) && fxt_stack_is_short();
}

#endif
