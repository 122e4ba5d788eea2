/* Leaves a function whose frame pointer is not known, by the call that has entered it. Of a thread that does
 * not run, the kernel tells two registers alone: the stack pointer and the address. */
#ifndef FXT_TOOLS_UNWIND_CALL_H
#define FXT_TOOLS_UNWIND_CALL_H

#include "spaces.h"
#include "unwind_stack.h"

/* Finds the frame of a function that keeps a frame pointer, and that begins at `function` in the process's
 * memory, and leaves it. The frame ends with what its caller had in that register, and a return address
 * behind an instruction that calls this function: by its address, or by way of a word that has its address,
 * as linkage tables do; or that calls in such a way a function which hands over to this one by a jump. So no
 * other words of the stack pass for it. Returns false if there is no such frame, as for a function that was
 * called by a pointer. */
bool fxt_unwind_by_call(struct fxt_unwind *unwind, const struct fxt_space *space, uint64_t function);

#endif
