/* Lifetimes, as async events: of threads from their making to their end (pthread:thread), of children from
 * their making to the call that reaped them (process:child). What begins and never ends was still running, or
 * never reaped, when the trace ended. Ids are as flows' are: no other process has them. They are no calls of
 * the program.
 *
 * A beginning that found no room has no end either. Any context; where locks are forbidden too.
 */
#ifndef FXT_LIFE_H
#define FXT_LIFE_H

#include "agent/emit/emit.h"

/* The calling thread was made at `at_ns`; and it ends. */
void fxt_life_thread_begins(struct fxt_thread *thread, uint64_t at_ns);
void fxt_life_thread_ends(struct fxt_thread *thread);

/* A child was made at `at_ns`. The end is told of by its pid; it may have been, by a handler or another
 * thread. */
void fxt_life_child_begins(struct fxt_thread *thread, uint64_t at_ns, uint32_t pid);
/* A child was reaped at `end_ns` with `status`, as wait() has it. */
void fxt_life_child_ends(struct fxt_thread *thread, uint64_t end_ns, uint32_t pid, int status);

/* A child whose pid the caller does not get to know. Returns what its end is told of by; 0: it did not
 * begin. */
uint64_t fxt_life_hidden_begins(struct fxt_thread *thread, uint64_t at_ns);
/* `pid` is 0 if it is not known either now, `status` -1. */
void fxt_life_hidden_ends(struct fxt_thread *thread, uint64_t life, uint64_t end_ns, uint32_t pid, int status);

/* A child is being made from here on, or not any more: one that is reaped meanwhile may be that one. */
void fxt_life_expect(int more);

/* In the child of a fork: it has no children. */
void fxt_life_after_fork(void);

#endif
