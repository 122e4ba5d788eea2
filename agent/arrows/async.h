/* The begins and ends of lifetimes (async events). An end stands behind its begin in the file, but for the
 * begins that are not moved: see below. The files that write lifetimes call these functions, in any context.
 *
 * A copy that is made while the program runs reads the file from its beginning on. If the begin and the end
 * of a lifetime lie in two chunks, the copy may pass the place of the begin before the begin is written, and
 * come to the place of the end after the end is written. So if the end is going to lie in another chunk than
 * the begin, the begin is moved: a filler takes its place, and it is written again in front of the end.
 * Within one chunk this cannot happen: a copy that does not see the begin sees a filler in its place that
 * covers all behind it. If the process is killed in the middle of a move, the lifetime is lost. A ring is not
 * meant to be copied in this way, so nothing is moved there.
 *
 *	at = fxt_reserve_extra(thread, now_ns, words + 1)
 *	...                                             arguments
 *	fxt_async_commit_begin(thread, at, id, names, arguments)
 *
 *	at = fxt_async_reserve_end(thread, now_ns, words, id)
 *	...
 *	fxt_async_commit_end(thread, at, id, names, arguments)
 *
 * Neither record is a call of the program: one that finds no room is missing, and is not counted.
 */
#ifndef FXT_ASYNC_H
#define FXT_ASYNC_H

#include "agent/emit/emit.h"

/* The largest size of the argument `pid`, which says to which process the lifetime belongs, because viewers
 * draw lifetimes beside processes and not within them. */
enum { FXT_ASYNC_OWNER_WORDS = 2 };

/* Stores the argument `pid` at `at`. Returns where the next argument goes. */
static inline uint64_t *fxt_async_put_owner(const struct fxt_thread *thread, uint64_t *at)
{
	return fxt_put_uint(at, FXT_STR_pid, thread->pid);
}

enum { FXT_ASYNC_MOVED_WORDS = 52 };    /* a longer begin is not moved */

/* Commits the begin of lifetime `id`. Its words are stored up to `at`; one more has been reserved, for the
 * id. `names` is what fxt_names_of() gives. */
void fxt_async_commit_begin(struct fxt_thread *thread, uint64_t *at, uint64_t id, uint64_t names,
			    unsigned arguments);

/* Called when recording begins again: no begin that was written before is moved, because the manager may have
 * saved it. */
void fxt_async_again(void);

/* Says that the trace has no begins of lifetimes from before `id`, which was made by fxt_flow_id() just
 * now. So these get no ends. */
void fxt_async_begin_anew(uint64_t id);

/* Begins the emission of the end of lifetime `id`, whose arguments take at most `words` words. Returns
 * where they go, or NULL if there is no room or the trace has no begin. Moves the begin if that is needed,
 * which costs some system calls. Begins that are followed by 8192 others stay where they are, and so do
 * all where these system calls are forbidden or the stack is short. */
uint64_t *fxt_async_reserve_end(struct fxt_thread *thread, uint64_t now_ns, size_t words, uint64_t id);

/* Commits the end of lifetime `id`, whose words are stored up to `at`. */
void fxt_async_commit_end(struct fxt_thread *thread, uint64_t *at, uint64_t id, uint64_t names,
			  unsigned arguments);

#endif
