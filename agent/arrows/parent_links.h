/* Who is whose child: arrows from the call that made a process to its first moment, and from its end to the
 * call that reaped it.
 *
 * A forked process knows by its copy of memory who made it. What a process that was executed, and whoever
 * reaps one, has to know stands in the section `kin` of the memory that a run's processes share (shared.h):
 * an entry for each child, made by its parent before the call, taken by the child at its start, given its end
 * by the child, and taken away by whoever reaps it. A child that was killed has left no end, and so no arrow.
 * An entry belongs to nobody: what changes it is one compare-and-swap of its word, with a generation in it,
 * so a process that is killed leaves an entry that is of no use, until others need it.
 *
 * All of these may be called in any context.
 */
#ifndef FXT_KIN_H
#define FXT_KIN_H

#include "flow.h"

/* How a child is made. */
enum fxt_birth_how {
	FXT_BIRTH_FORKS,                /* it goes on in a copy of our memory */
	FXT_BIRTH_EXECUTES,             /* it begins with a program, and finds its entry itself */
	FXT_BIRTH_HIDDEN,               /* the same, and the caller does not get to know its pid */
};

/* A child that is being made by the calling thread. */
struct fxt_birth {
	struct fxt_cause cause;
	uint64_t kin;                   /* its entry; 0: there is none */
};

/* Before the real call, within the call's slice. One that is left by a jump or a cancellation is over when
 * the thread makes the next. */
void fxt_birth_begin(struct fxt_thread *thread, struct fxt_birth *birth, enum fxt_birth_how how);

/* After it: `child` is what it returned, and not 0. */
void fxt_birth_end(struct fxt_thread *thread, const struct fxt_birth *birth, int child);

/* In a forked child: its first moment. Does nothing in one that is not recorded. The arrow is written as the
 * thread's deferred work, when the child has recorded something: most children only execute a program or
 * end. */
void fxt_birth_forked(const struct fxt_birth *birth);
void fxt_birth_tell(struct fxt_thread *thread);

/* Of one that is FXT_BIRTH_HIDDEN: it was made, and the call that made it is over (or, `made` being false, it
 * was not). What its end is told of by, or 0. */
uint64_t fxt_birth_hidden(struct fxt_thread *thread, const struct fxt_birth *birth, bool made);
/* It was reaped; otherwise as fxt_child_reaped(). `status` is -1 where it is not known. */
void fxt_child_ended(struct fxt_thread *thread, const struct fxt_birth *birth, uint64_t life, int status, uint64_t start_ns,
		     uint64_t after_ns, uint64_t end_ns);

/* In the child of a vfork, which is going to execute a program: who it is, to its parent's thread and to the
 * program. */
void fxt_birth_vforked(struct fxt_thread *thread, uint32_t pid);

/* The calling thread has reaped a child with this status, as wait() has it, in a call from `start_ns` to
 * `end_ns`; `after_ns` as for fxt_flow_resume(). */
void fxt_child_reaped(struct fxt_thread *thread, int pid, int status, uint64_t start_ns, uint64_t after_ns, uint64_t end_ns);

/* The process has begun to run this program: where the arrow from who made it ends. */
void fxt_kin_start(void);

/* The process is about to end, by the calling thread. */
void fxt_kin_leave(struct fxt_thread *thread);

/* It does not end after all: the call that would have ended it has failed. */
void fxt_kin_stay(void);

/* The thread is in no call that makes a child. */
void fxt_kin_forget(struct fxt_thread *thread);

/* In the child of a fork. */
void fxt_kin_after_fork(void);

/* Names another process's thread, which an arrow leaves from, where the trace has no file of that: it is a
 * fork of this program. */
void fxt_kin_name(struct fxt_thread *thread, uint32_t pid, uint32_t tid);

#endif
