/* These functions draw the arrows between parents and children: from the call that made a process to the
 * process's first moment, and from its end to the call that reaped it. See docs/parents.md.
 *
 * A forked child has in its copy of memory who made it. A child that was executed, and the process that reaps
 * a child, find what they need in the section `parents` of the memory that the processes of a run share
 * (shared.h). It has an entry for each child. The parent makes the entry before the call that makes the
 * child (the child of a vfork makes it, before it executes a program); the child takes it at its start, and
 * writes down its end there; the process that reaps the child frees it. A child that was killed has left no
 * end, so no arrow leads to the call that reaped it. No process owns an entry: each change is one
 * compare-and-swap of its word, in which there is a generation. If a process is killed, its entries stay
 * behind, and other processes take them when they find no free ones.
 *
 * All functions may be called in any context.
 */
#ifndef FXT_PARENT_LINKS_H
#define FXT_PARENT_LINKS_H

#include "flow.h"

/* The ways in which a child is made. */
enum fxt_birth_how {
	FXT_BIRTH_FORKS,                /* the child goes on in a copy of the parent's memory */
	FXT_BIRTH_EXECUTES,             /* the child begins with a program, and finds its entry itself */
	FXT_BIRTH_HIDDEN,               /* it begins with a program, and the caller does not know its pid */
};

/* A child that is being made by the calling thread. */
struct fxt_birth {
	struct fxt_cause cause;
	uint64_t entry;                 /* a reference to the child's entry; 0: there is none */
};

/* Makes the entry of a child that the calling thread is about to make. Called before the real call, within
 * the call's slice. A birth that is left by a jump or a cancellation is over when the thread begins the next
 * one. */
void fxt_birth_begin(struct fxt_thread *thread, struct fxt_birth *birth, enum fxt_birth_how how);

/* Called in the parent after the real call: `child` is what the call returned, the child's pid or -1. */
void fxt_birth_end(struct fxt_thread *thread, const struct fxt_birth *birth, int child);

/* Called in a forked child at its first moment: takes the child's entry, and asks for the arrow as deferred
 * work. Does nothing if the child is not recorded. */
void fxt_birth_forked(const struct fxt_birth *birth);

/* Writes the arrow to a forked child's first moment, if it is due and the child has a file. Called as
 * deferred work, after the child's first record: most children execute a program or end without one. */
void fxt_birth_tell(struct fxt_thread *thread);

/* Called after the call that was to make a child of FXT_BIRTH_HIDDEN; `made` says whether it did. Begins the
 * child's lifetime, and returns the `life` that fxt_child_ended() takes, which is 0 if none began. */
uint64_t fxt_birth_hidden(struct fxt_thread *thread, const struct fxt_birth *birth, bool made);

/* Does what fxt_child_reaped() does, for a child of FXT_BIRTH_HIDDEN. `status` is -1 if it is not known. */
void fxt_child_ended(struct fxt_thread *thread, const struct fxt_birth *birth, uint64_t life, int status,
		     uint64_t start_ns, uint64_t after_ns, uint64_t end_ns);

/* Called in the child of a vfork that is about to execute a program: makes the child's entry, for that
 * program, and notes the child in the state of the parent's thread. `pid` is the child's. */
void fxt_birth_vforked(struct fxt_thread *thread, uint32_t pid);

/* Ends a child's lifetime and writes the arrow from its end. The calling thread has reaped the child in a
 * call from `start_ns` to `end_ns`; `status` is wait()'s, and `after_ns` is as for fxt_flow_resume(). */
void fxt_child_reaped(struct fxt_thread *thread, int pid, int status, uint64_t start_ns, uint64_t after_ns,
		      uint64_t end_ns);

/* Called when the process has begun to run this program: looks for the process's entry, and writes the arrow
 * from the call that made the process. */
void fxt_parent_start(void);

/* Writes down the process's end in its entry: the calling thread is about to end the process. Before
 * that it does what fxt_birth_tell() does. */
void fxt_parent_leave(struct fxt_thread *thread);

/* Takes the end back, because the call that would have ended the process has failed. */
void fxt_parent_stay(void);

/* Frees the entry of the child that the thread was making, because the thread is in no such call any more. */
void fxt_parent_forget(struct fxt_thread *thread);

/* Called in the child of a fork: forgets the parent's own entry. */
void fxt_parent_after_fork(void);

/* Names a thread of another process, from which an arrow leaves, if that process has no file in the trace
 * that could name it. It gets this program's name, because it is a fork of this program. */
void fxt_parent_name(struct fxt_thread *thread, uint32_t pid, uint32_t tid);

#endif
