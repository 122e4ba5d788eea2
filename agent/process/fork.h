/* Puts the agent in order in the child of a fork: see fork.c. */
#ifndef FXT_FORK_H
#define FXT_FORK_H

#include "agent/base/agent.h"

/* Registers a handler by which the C library calls fxt_fork_in_child(). Called once, at start. The C library
 * takes a lock for this, and allocates if there are more than some 48 handlers. */
void fxt_fork_start(void);

/* Makes the agent's state that of a child. The C library's handler calls it in the child, and so do the
 * wrappers of calls that run no handlers; a second call does nothing. `returns` says whether the child goes
 * on where its parent was, and so in the calls that were in progress there. A child that `shares` its
 * parent's table of descriptors (CLONE_FILES) records nothing: it may neither open nor close any, because
 * the parent would see that. May be called in any context. */
void fxt_fork_in_child(bool returns, bool shares);

/* Returns whether this process shares its table of descriptors with its parent, for a child whose making was
 * not seen. */
bool fxt_fork_has_shared(void);

/* Returns whether the child goes on where its parent was. Called in the child, which has one thread, while
 * its parts are put in order. */
bool fxt_fork_returns(void);

#endif
