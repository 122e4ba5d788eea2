/* Call stacks in the trace. Events name a stack by the argument `stack`, a pointer: the id of its innermost
 * node. The trace has two kinds of userspace object records for that:
 *
 *	a node       type `frame`: its caller's id (`parent`), the module (`mapping`), and the address of the
 *	             call's last byte as the module's file has it (`offset`); without a module, in memory
 *	a module     type `module`: its name is the path; where it lies (`base`), and its build id
 *
 * No function has a name in these records: fxt finds names by the files and their build ids. Each record is
 * written once, to the durable area as long as there is room for these, and before the event that names it.
 * Later ones stand in chunks, behind the event; a ring has them in each chunk that uses them. See
 * docs/call-stacks.md.
 *
 *	stack = fxt_call_stack(thread);
 *	... an event with fxt_put_stack(at, FXT_STR_stack, stack), and its commit ...
 *	fxt_call_stack_tell(thread, stack);
 *
 * Any context.
 */
#ifndef FXT_CALL_STACK_H
#define FXT_CALL_STACK_H

#include "emit.h"

/* The ids of nodes and of modules. No program has memory there. */
#define FXT_STACK_ID UINT64_C(0x7fe0000000000000)
#define FXT_STACK_MODULE_ID UINT64_C(0x7fd0000000000000)

enum { FXT_STACK_WORDS = 2 };           /* the size of the argument */

/* Returns the stack of the call that is being recorded, without the frames of this library and of at most
 * `frames` frames: a number; 0: it is not known. If the trace is to have stacks, a stack that there is no
 * room for is counted (FXT_LOSS_STACKS), and what the trace does not have yet of the stack is written if it
 * can be durable. May be called during an emission. */
FXT_COLD uint32_t fxt_call_stack_of(struct fxt_thread *thread, unsigned frames);
/* Does the same with as many frames as a stack can have. Returns 0 if the trace is to have no stacks. */
FXT_COLD uint32_t fxt_call_stack(struct fxt_thread *thread);

/* Writes what the trace does not have yet of a stack that an event names. May not be called during an
 * emission. Does nothing for 0. */
FXT_COLD void fxt_call_stack_tell(struct fxt_thread *thread, uint32_t stack);
/* Does the same for an event that a ring never overwrites: the durable area has room of its own for these. */
FXT_COLD void fxt_call_stack_tell_for_good(struct fxt_thread *thread, uint32_t stack);

/* Stores a stack as an argument at `at`, or nothing if it is 0. Returns where the next argument goes. */
static inline uint64_t *fxt_put_stack(uint64_t *at, uint64_t name, uint32_t stack)
{
	return stack ? fxt_put_pointer(at, name, (const void *)(FXT_STACK_ID + stack)) : at;
}

/* Writes an instant of category agent, now, that says the calling thread's stack: that it is about to wait
 * for another thread (`blocked`), or that the call that it has made has `failed`, with this error (0: none).
 * Returns the stack, or 0. */
FXT_COLD uint32_t fxt_call_stack_say(struct fxt_thread *thread, uint64_t name, int error);

/* Called once, at start. */
void fxt_call_stacks_start(void);

/* Called in the child of a fork, and when recording begins again: the trace has no record yet. */
void fxt_call_stacks_again(void);

#endif
