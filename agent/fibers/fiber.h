/* Instrumented functions that run on stacks of fibers: coroutines and the like, which a thread goes on
 * with by putting another stack in place of its own. docs/fibers.md. The hooks of -finstrument-functions
 * and those of interpose/functions/ call this where a function is not on its thread's own stack; any
 * context.
 *
 * Each fiber has a stack of calls of its own, and its functions are events of a track of its own. How
 * the program switches does not matter: a fiber is known by where the hook's frame lies. */
#ifndef FXT_FIBER_H
#define FXT_FIBER_H

#include "agent/base/stack.h"
#include "agent/emit/function.h"

/* Says what became of a function that is entered. */
enum fxt_fiber_entry {
	FXT_FIBER_ELSEWHERE,            /* nothing: it is on the thread's own stack, or on its signal stack */
	FXT_FIBER_ENTERED,              /* it is in progress in a fiber */
	FXT_FIBER_LEFT_OUT,             /* it is in a fiber, and has no entry there: it was counted */
};

/* How the end of a function is seen. */
enum fxt_fiber_hook {
	FXT_FIBER_EXIT_HOOK,            /* by a hook of its own */
	FXT_FIBER_RETURN_WORD,          /* by a thunk in its return word, which is its frame */
	FXT_FIBER_TAIL_CALL,            /* by that of the function that it is the tail call of */
};

/* Returns whether a function with this frame may be on a fiber, or the last entry of the thread may be that
 * of a function on a fiber. If not, the next functions need not be called. */
static inline bool fxt_fiber_is_near(const struct fxt_thread *thread, uintptr_t frame)
{
	return !fxt_on_own_stack(thread, frame) || !fxt_on_own_stack(thread, thread->open[-1].frame);
}

/* Enters a function; the parameters are those of fxt_function_enter(). */
enum fxt_fiber_entry fxt_fiber_enter(struct fxt_thread *thread, uintptr_t frame, uintptr_t site,
				     uintptr_t address, uintptr_t call_site, enum fxt_fiber_hook hook);

/* Ends a function. Returns false, with nothing changed, if it is on no fiber. */
bool fxt_fiber_leave(struct fxt_thread *thread, uintptr_t frame, uintptr_t address);

/* Ends the function whose return address stood at `return_word`, and those that it is the tail call of.
 * Returns false, with nothing changed, if the word is on no fiber. */
bool fxt_fiber_leave_word(struct fxt_thread *thread, uintptr_t return_word);

/* Ends the fibers whose stacks are in memory that the program frees: they never go on. A block is about to be
 * freed; pages have been unmapped, and may be another thread's already. */
FXT_COLD void fxt_fibers_freed(struct fxt_thread *thread, const void *memory, size_t bytes, bool is_block);

/* Called in the child of a fork: its fibers go on, in a file that knows nothing of them yet. */
void fxt_fibers_after_fork(void);
/* Called when the file has been rewritten, and the process is about to end: no page is the file's any
 * more. */
void fxt_fibers_after_rewrite(void);

/* Make the slots say that all fibers' functions ended at end_ns, or show them in progress again: see
 * fxt_in_progress_end() and fxt_in_progress_go_on(). */
FXT_COLD void fxt_fibers_end(uint64_t end_ns, uint64_t name);
FXT_COLD void fxt_fibers_go_on(void);

#endif
