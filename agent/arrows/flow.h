/* Arrows from what let a waiting thread go on to where it went on. Viewers draw one from the slice a flow
 * began in to the one it ended in, where that begins later: so a call that waited holds a slice `resumed` at
 * its end, and the call that let it go on a slice `released`. All of it is written by the thread that waited,
 * once it goes on, in the other's name too: only then it is known who let whom go on, and an arrow is in the
 * trace whole or not at all. Category agent: these are no calls of the program.
 *
 * With the category sched each arrow to a thread that waited has a scheduling record as well: who woke whom,
 * when, on which processor.
 */
#ifndef FXT_FLOW_H
#define FXT_FLOW_H

#include "agent/emit/emit.h"
#include "wait.h"

enum { FXT_CAUSES_MAX = 2 };    /* of one wait: a signal, and the lock that had to be taken again */

/* The calling thread is about to let go on who waits for `object`, if anybody does. `cause` has since_ns and
 * place where they are known; fxt_is_waited_for() is tested by the caller. Any context. */
void fxt_flow_release(struct fxt_thread *thread, uintptr_t object, enum fxt_release how, struct fxt_cause cause);

/* The same of a lock that one thread has at a time: wait.h. */
void fxt_flow_release_lock(struct fxt_thread *thread, uintptr_t lock, struct fxt_cause cause);

/* The calling thread is about to make another thread or process: the place an arrow can leave from, and who
 * it leaves. That it does not leave, because nothing is made, changes nothing. */
struct fxt_cause fxt_flow_leave(struct fxt_thread *thread);

/* The processor the calling thread is on, and 1; 0: that is not known, or nobody wants to know. */
uint32_t fxt_flow_cpu(void);

/* The first moment of the calling thread, which was made by `cause`: for fxt_flow_resume(). */
void fxt_flow_first_moment(struct fxt_thread *thread, const struct fxt_cause *cause, uint64_t *after_ns, uint64_t *end_ns);
/* The arrow to it. */
void fxt_flow_arrive(struct fxt_thread *thread, const struct fxt_cause *cause);

/* fxt_wait_begin() and fxt_wait_end() of the calling thread. It may be cancelled in between, or jump away:
 * then it waits no more when it waits for something else, or ends. */
void fxt_wait_enter(struct fxt_thread *thread, uintptr_t object, uintptr_t lock);
bool fxt_wait_leave(struct fxt_thread *thread, uintptr_t object, uint64_t start_ns, uint64_t end_ns, struct fxt_cause *cause);
void fxt_wait_abandon(struct fxt_thread *thread);
/* The same for a lock that one thread has at a time. */
void fxt_wait_enter_lock(struct fxt_thread *thread, uintptr_t lock);
bool fxt_wait_leave_lock(struct fxt_thread *thread, uintptr_t lock, uint64_t start_ns, uint64_t end_ns, struct fxt_cause *cause);

/* A call that waited until `end_ns`, and is recorded, went on because of `count` causes. `after_ns` is the
 * thread's last_ns before that: whatever it, or a handler, has recorded within the wait lies before. */
void fxt_flow_resume(struct fxt_thread *thread, uint64_t after_ns, uint64_t end_ns, const struct fxt_cause *causes,
		     unsigned count);

#endif
