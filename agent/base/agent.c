/* See agent.h and stack.h: the state that all parts of the agent share, and what they ask of a stack. */
#include "agent.h"

#include <pthread.h>
#include <sys/auxv.h>

#include "stack.h"

enum { DEFAULT_STACK_BYTES = 8 << 20 };

struct fxt_agent fxt_agent = {
	.storage = &fxt_agent.buffer.storage, .buffer.storage.ops = &fxt_buffer_ops, .buffer.fd = -1,
	.statm_fd = -1,
};
__thread struct fxt_thread *fxt_self, *fxt_self_ending, *fxt_self_leaving;

/* Nobody may read below the pointer of a stack of which nothing is known. */
static bool may_not_read;

void fxt_stack_may_not_read(void)
{
	may_not_read = true;
}

/* Does what fxt_stack_has_less() does where the thread does not know on which stack it is. */
static __attribute__((noinline)) bool has_less_elsewhere(uintptr_t here, size_t bytes)
{
	stack_t stack;

	if (!FXT_SYSCALL2(SYS_sigaltstack, NULL, &stack) && stack.ss_flags & SS_ONSTACK)
		return (uintptr_t)&stack - (uintptr_t)stack.ss_sp < bytes;
	return !may_not_read && !fxt_is_forbidden(FXT_NO_LOCKS) && !fxt_sys_can_read(here - bytes);
}

/* What a thread knows takes next to nothing of the stack that is asked about. */
bool fxt_stack_has_less(size_t bytes)
{
	const struct fxt_thread *thread = fxt_self;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (thread && !thread->stack.alternate_is_within && fxt_on_own_stack(thread, here))
		return here - thread->stack.low < bytes;
	/* A handler on a stack that is disarmed meanwhile (SS_AUTODISARM) is not told of it. */
	if (thread && here >= thread->stack.alternate_low && here < thread->stack.alternate_high)
		return here - thread->stack.alternate_low < bytes;
	return has_less_elsewhere(here, bytes);
}

bool fxt_stack_know(struct fxt_thread *thread, const struct fxt_known_stack *known)
{
	/* The descriptor is less than a page, at the end of the pages that the C library has mapped. */
	uintptr_t high = (thread->handle + FXT_PAGE_BYTES - 1) / FXT_PAGE_BYTES * FXT_PAGE_BYTES;

	if (known->low)
		thread->stack.low = known->low;
	else if (known->bytes)
		thread->stack.low = high - known->bytes;
	return known->low || known->bytes;
}

/* Guesses where the thread's stack is. */
static void guess_stack(struct fxt_thread *thread)
{
	struct rlimit limit;
	uintptr_t bytes = DEFAULT_STACK_BYTES, frame = (uintptr_t)__builtin_frame_address(0);

	/* The kernel puts the program's name above the first frame of the first thread; glibc puts a thread's
	 * descriptor above the first frame of the thread. The first thread of a child of fork() is on the
	 * stack of the thread that forked, which may have been another one. */
	if (!fxt_sys_getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur < UINT32_MAX)
		bytes = limit.rlim_cur;
	thread->stack.high = thread->tid == thread->pid && thread->handle - frame >= bytes
				     ? getauxval(AT_EXECFN) : thread->handle;
	thread->stack.low = thread->stack.high > bytes ? thread->stack.high - bytes : 0;
	fxt_note_alternate(thread);
}

void fxt_stack_find(struct fxt_thread *thread, const struct fxt_known_stack *known)
{
	thread->handle = (uintptr_t)pthread_self();
	thread->fiber = NULL;
	thread->stack.high = thread->handle;
	thread->stack.alternate_low = thread->stack.alternate_high = 0;
	thread->stack.alternate_is_within = false;
	if (!known || !fxt_stack_know(thread, known))
		guess_stack(thread);
}

/* In the child of a fork the thread is on the stack that it was on. The child of a clone() begins on another
 * one, which this finds by the present frame: that is near the stack's high end. */
void fxt_stack_find_of_child(struct fxt_thread *thread, bool returns)
{
	enum { ABOVE_BYTES = 65536 };
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	thread->handle = (uintptr_t)pthread_self();
	if (!returns && !fxt_on_own_stack(thread, frame)) {
		thread->stack.high = frame + ABOVE_BYTES;
		thread->stack.low = frame > DEFAULT_STACK_BYTES ? frame - DEFAULT_STACK_BYTES : 0;
	}
	fxt_note_alternate(thread);
}
