/* Lifetimes of threads and of children, as async events. A thread's (pthread:thread) lasts from its making
 * to its end; a child's (process:child) from its making to the call that reaped it. A lifetime that never
 * ends was still running, or was never reaped, when the trace ended. Ids are made like those of flows: no
 * other process has them. Lifetimes are no calls of the program.
 *
 * A begin that finds no room has no end either. Wrappers call this, in any context, and also where locks
 * are forbidden.
 */
#ifndef FXT_TASK_LIFE_H
#define FXT_TASK_LIFE_H

#include "agent/emit/emit.h"

/* Begins the lifetime of the calling thread, which was made at `at_ns`. */
void fxt_task_thread_begins(struct fxt_thread *thread, uint64_t at_ns, uint32_t stack);
/* Ends the lifetime of the calling thread. */
void fxt_task_thread_ends(struct fxt_thread *thread);

/* Begins the lifetime of a child that was made at `at_ns`. The end is found by `pid`. A handler or another
 * thread may have reaped the child already; then its end is written here. */
void fxt_task_child_begins(struct fxt_thread *thread, uint64_t at_ns, uint32_t pid);
/* Ends the lifetime of a child that was reaped at `end_ns`. `status` is as wait() has it. */
void fxt_task_child_ends(struct fxt_thread *thread, uint64_t end_ns, uint32_t pid, int status);

/* Begins the lifetime of a child whose pid the caller does not get to know. Returns what
 * fxt_task_hidden_ends() takes; 0 if the lifetime did not begin. */
uint64_t fxt_task_hidden_begins(struct fxt_thread *thread, uint64_t at_ns);
/* Ends that lifetime. If the child's pid is not known now either, `pid` is 0 and `status` is -1. */
void fxt_task_hidden_ends(struct fxt_thread *thread, uint64_t life, uint64_t end_ns, uint32_t pid,
			  int status);

/* Says that a child is being made from here on (`more` is 1), or is no longer being made (-1). A child that
 * is reaped in between may be that one. */
void fxt_task_expect(int more);

/* Empties the table in the child of a fork, which has no children. */
void fxt_task_after_fork(void);

#endif
