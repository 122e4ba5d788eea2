/* A program that may not wait for page faults locks its memory, or has a real-time scheduling policy. This
 * keeps the agent's memory out of what is locked, where it would be counted against the program's limit, and
 * populates what the agent is going to touch. The wrappers of mlockall(), munlockall() and the calls that set
 * a policy call these functions, and so does the start of the agent. See docs/locked-memory.md.
 */
#ifndef FXT_LOCKED_MEMORY_H
#define FXT_LOCKED_MEMORY_H

#include <stdbool.h>

/* Called before mlockall(flags). Returns true if it has done what the call does, for the program's memory
 * alone; errno is untouched. Returns false if the program's call is to be made. */
bool fxt_lock_all_begins(int flags);

/* Called after the call. `is_done` tells whether it has succeeded. */
void fxt_lock_all_ends(int flags, bool is_done);

/* Called after munlockall() has succeeded. */
void fxt_unlocked_all(void);

/* Called when the thread with this id (0: the calling thread) may have got a real-time policy, or begun with
 * one. Asks the kernel, and populates the agent's memory if it is so, and if the thread is the program's. */
void fxt_may_be_real_time(int tid);

/* Called when a thread has got this policy. Does the same without asking. */
void fxt_policy_is_set(int policy);

#endif
