/* Short slices that arrows leave from and arrive at, and the arrows. Viewers draw an arrow from the slice a flow began in to the one it
 * ended in, where that begins later; so a call that lets others go on holds a slice `released` before it does, and one
 * that waited a slice `resumed` at its end. Written before the real call that releases: whoever goes on may be in the trace
 * first otherwise, and alone in it if the process is killed then.
 */
#ifndef FXT_FLOW_H
#define FXT_FLOW_H

#include "emit.h"
#include "wait.h"

#define FXT_FLOW_NAMES(category, name) fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_##category, FXT_STR_##name)

/* A slice without arguments ("Duration complete event"). False: dropped, and counted. */
bool fxt_flow_slice(struct fxt_thread *thread, uint64_t names, uint64_t start_ns, uint64_t end_ns);

/* "Flow begin event" in the slice that begins at `at_ns`, and "Flow end event", each right behind that slice's record. */
void fxt_flow_begin(struct fxt_thread *thread, uint64_t names, uint64_t at_ns, uint64_t flow);
void fxt_flow_end(struct fxt_thread *thread, uint64_t names, uint64_t at_ns, uint64_t flow);

/* The calling thread is about to let go on who waits for `object`, if anybody does. `cause` has since_ns and place where they are
 * known; fxt_is_waited_for() is tested by the caller. Any context. */
void fxt_flow_release(struct fxt_thread *thread, uintptr_t object, enum fxt_release how, struct fxt_cause cause);

/* fxt_wait_begin() and fxt_wait_end() of the calling thread. It may be cancelled in between, or jump away: then it waits no more when it
 * waits for something else, or ends. */
void fxt_wait_enter(struct fxt_thread *thread, uintptr_t object, uintptr_t lock);
bool fxt_wait_leave(struct fxt_thread *thread, uintptr_t object, uint64_t start_ns, struct fxt_cause *cause);
void fxt_wait_abandon(struct fxt_thread *thread);

/* A call that waited from `start_ns` to `end_ns`, the record of which was just committed, went on because of `count` causes. */
void fxt_flow_resume(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, const struct fxt_cause *causes,
		     unsigned count);

#endif
