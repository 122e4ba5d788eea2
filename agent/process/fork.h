/* The child of a fork: see fork.c. */
#ifndef FXT_FORK_H
#define FXT_FORK_H

#include "agent/base/agent.h"

/* Asks the C library to be called in children, once. It has a lock for that, and allocates for more than some
 * 48 handlers. */
void fxt_fork_start(void);

/* In the child: by the C library's handlers, and by wrappers of calls that run none; the second time it does
 * nothing. `returns`: the child goes on where its parent was, and so in the calls that were in progress
 * there. Any context. */
void fxt_fork_in_child(bool returns);

#endif
