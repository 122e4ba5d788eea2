/* The child of a fork: see fork.c. */
#ifndef FXT_FORK_H
#define FXT_FORK_H

#include "agent.h"

/* Once: asks the C library to be called in children. It may allocate for that and has a lock, so this is not for the start of the agent,
 * which may come from within an allocator. */
void fxt_fork_start(void);

/* In the child: by the C library's handlers, and by wrappers of calls that run none; the second time it does nothing.
 * `returns`: the child goes on where its parent was, and so in the calls that were in progress there. Any context. */
void fxt_fork_in_child(bool returns);

#endif
