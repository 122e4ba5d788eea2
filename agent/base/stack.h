/* Stacks: on which one an address lies, whether two frames can be compared, and how much of it is
 * left. Any context. */
#ifndef FXT_STACK_H
#define FXT_STACK_H

#include <signal.h>

#include "agent.h"

/* Tells whether an address lies on the thread's own stack, as far as that is known. */
static inline bool fxt_on_own_stack(const struct fxt_thread *thread, uintptr_t at)
{
	return at >= thread->stack.low && at < thread->stack.high;
}

/* Tells whether the calling thread is on an alternate signal stack. That may lie within another stack. Also
 * true if the kernel cannot be asked. */
static inline bool fxt_on_alternate_stack(void)
{
	stack_t stack;

	return FXT_SYSCALL2(SYS_sigaltstack, NULL, &stack) || stack.ss_flags & SS_ONSTACK;
}

/* Notes where the calling thread's alternate stack is, and whether it lies within what passes for its own
 * stack (fxt_on_own_stack()), or may do so because the kernel cannot be asked. */
static inline void fxt_note_alternate(struct fxt_thread *thread)
{
	stack_t stack;
	bool is_known = !FXT_SYSCALL2(SYS_sigaltstack, NULL, &stack);

	if (is_known && !(stack.ss_flags & SS_DISABLE)) {
		thread->stack.alternate_low = (uintptr_t)stack.ss_sp;
		thread->stack.alternate_high = (uintptr_t)stack.ss_sp + stack.ss_size;
	} else {
		thread->stack.alternate_low = thread->stack.alternate_high = 0;
	}
	thread->stack.alternate_is_within = !is_known ||
					    (thread->stack.alternate_low < thread->stack.high &&
					     thread->stack.alternate_high > thread->stack.low);
}

/* What is known of the stack of a thread whose making was seen. */
struct fxt_known_stack {
	uintptr_t low;                  /* its lowest address; 0: the C library has mapped it */
	size_t bytes;                   /* its size; 0: it is not known */
};

/* Finds where the stack of the calling thread is, whose state this is. Of a thread that has just begun it is
 * known, if `known` is not NULL, and such a thread has no alternate stack. */
void fxt_stack_find(struct fxt_thread *thread, const struct fxt_known_stack *known);
/* Notes what is known of the stack. Returns whether that tells where the stack begins. */
bool fxt_stack_know(struct fxt_thread *thread, const struct fxt_known_stack *known);
/* Finds it in the child of a fork; `returns` is as for fxt_lanes_after_fork(). */
void fxt_stack_find_of_child(struct fxt_thread *thread, bool returns);

/* The slow paths take some 1400 bytes of stack at most, below where they ask. The deepest makes the file
 * larger: it has to know whether the descriptor is still its own. */
enum { FXT_SLOW_PATH_BYTES = 2048 };

/* Tells whether fewer than `bytes` bytes (a page at most) of the stack are left. A thread on its own stack
 * knows it without a system call, unless its alternate stack lies there (interpose/signals/signal_mask.c
 * keeps track of that). A stack that is neither, such as a coroutine's, is asked for a guard page: if it has
 * none, this returns false. It uses integer registers alone. */
FXT_COLD bool fxt_stack_has_less(size_t bytes);

/* Says that stacks of which nothing is known are not asked for a guard page: valgrind reports that memory
 * below the stack pointer was passed to a system call. This is called once, at start. */
void fxt_stack_may_not_read(void);

/* Tells whether the stack is too short for a slow path. Then the record that needs a slow path is dropped
 * and counted. A stack of MINSIGSTKSZ bytes may leave its handler 400, and a thread may need nearly all of
 * its own. */
static inline bool fxt_stack_is_short(void)
{
	return fxt_stack_has_less(FXT_SLOW_PATH_BYTES);
}

#endif
