/* Arrows from the call that let a waiting thread go on to the call in which that thread waited. See
 * docs/waits.md.
 *
 * Viewers draw an arrow from the slice in which a flow begins to the slice in which it ends, if that one
 * begins later. So the call that waited has a slice `resumed` at its end, and the call that let it go on has
 * a slice `released`. The thread that waited writes all of this when it goes on, and writes the other
 * thread's part in that thread's name: only then it is known who let whom go on, and an arrow is in the trace
 * whole or not at all. The slices have the category agent, because they are no calls of the program.
 *
 * With the category sched, each arrow to a thread that waited also has a scheduling record, which says who
 * woke whom, when, and on which processor.
 *
 * The wrappers of calls that wait or let others go on call these functions, in any context.
 */
#ifndef FXT_FLOW_H
#define FXT_FLOW_H

#include "agent/emit/emit.h"
#include "wait.h"

/* The most causes that one wait has: a signal, and a lock that had to be taken again. */
enum { FXT_CAUSES_MAX = 2 };

/* Leaves word for the threads that wait for `object` and that the calling thread is about to let go on.
 * `cause` has since_ns and place if they are known. The caller has tested fxt_is_waited_for(). */
void fxt_flow_release(struct fxt_thread *thread, uintptr_t object, enum fxt_release how,
		      struct fxt_cause cause);

/* Does what fxt_flow_release() does, for a lock that one thread has at a time: see wait.h. */
void fxt_flow_release_lock(struct fxt_thread *thread, uintptr_t lock, struct fxt_cause cause);

/* Returns a cause from which an arrow can leave now, with a time that is kept free for it: the calling thread
 * is about to make another thread or process. If none is made, no arrow leaves, and that does no harm. */
struct fxt_cause fxt_flow_leave(struct fxt_thread *thread);

/* Returns the number of the calling thread's processor plus 1; 0: it is not known, or sched is off. */
uint32_t fxt_flow_cpu(void);

/* Finds the times that fxt_flow_resume() takes, for an arrow to the first moment of the calling thread.
 * `cause` is the call that made the thread. */
void fxt_flow_first_moment(struct fxt_thread *thread, const struct fxt_cause *cause, uint64_t *after_ns,
			   uint64_t *end_ns);

/* Writes the arrow to the first moment of the calling thread. */
void fxt_flow_arrive(struct fxt_thread *thread, const struct fxt_cause *cause);

/* These do what fxt_wait_begin() and fxt_wait_end() do, and note in the thread's state what it waits for. A
 * thread may be cancelled in between, or jump away. Then its wait ends when it begins another one, or ends:
 * fxt_wait_abandon() does that. */
void fxt_wait_enter(struct fxt_thread *thread, uintptr_t object, uintptr_t lock);
/* Does the same, and says with which call stack the thread waits: what it waits for may never come. Returns
 * that stack, or 0. */
uint32_t fxt_wait_enter_blocked(struct fxt_thread *thread, uintptr_t object, uintptr_t lock);
bool fxt_wait_leave(struct fxt_thread *thread, uintptr_t object, uint64_t start_ns, uint64_t end_ns,
		    struct fxt_cause *cause);
void fxt_wait_abandon(struct fxt_thread *thread);

/* These do what the functions above do, for a lock that one thread has at a time: see wait.h. */
void fxt_wait_enter_lock(struct fxt_thread *thread, uintptr_t lock);
bool fxt_wait_leave_lock(struct fxt_thread *thread, uintptr_t lock, uint64_t start_ns, uint64_t end_ns,
			 struct fxt_cause *cause);

/* Writes the arrows to a recorded call of the calling thread that waited until `end_ns`. It went on because
 * of `count` causes. `after_ns` is the thread's last time before `end_ns`: everything that the thread or a
 * signal handler has recorded within the wait is not later. */
void fxt_flow_resume(struct fxt_thread *thread, uint64_t after_ns, uint64_t end_ns,
		     const struct fxt_cause *causes, unsigned count);

#endif
