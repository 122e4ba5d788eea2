/* Lifetimes (async events): their end is always behind their begin in the file.
 *
 * A copy that is made while the program runs reads the file from its beginning on. Of a lifetime whose begin
 * and end lie in two chunks it may have passed the place of the begin before that was written, and come to
 * the end after it was. So where the end would lie in another chunk than the begin, the begin is moved: a
 * filler takes its place, and it stands again before the end. Within a chunk that needs no care: whoever sees
 * no begin sees a filler for all behind it. A process that is killed in between has lost the lifetime. A ring
 * is not to be copied so, and nothing is moved in it.
 *
 *	at = fxt_reserve_extra(thread, now_ns, words + 1)
 *	...                                             arguments
 *	fxt_async_commit_begin(thread, at, id, names, arguments)
 *
 *	at = fxt_async_reserve_end(thread, now_ns, words, id)
 *	...
 *	fxt_async_commit_end(thread, at, id, names, arguments)
 *
 * Neither is a call of the program: one that found no room is missing, and nobody counts it.
 */
#ifndef FXT_ASYNC_H
#define FXT_ASYNC_H

#include "emit.h"

/* The argument `pid`, whose lifetime it is, with its words at most: viewers draw lifetimes beside processes
 * and not within them. */
enum { FXT_ASYNC_OWNER_WORDS = 2 };

static inline uint64_t *fxt_async_put_owner(const struct fxt_thread *thread, uint64_t *at)
{
	return fxt_put_uint(at, FXT_STR_pid, thread->pid);
}

enum { FXT_ASYNC_MOVED_WORDS = 52 };    /* a longer begin is not moved */

/* Commits the begin of `id`: its words are stored up to `at`, and one more has been reserved, for the id.
 * `names` is what fxt_names_of() gives. */
void fxt_async_commit_begin(struct fxt_thread *thread, uint64_t *at, uint64_t id, uint64_t names, unsigned arguments);

/* Room for the end of `id`, whose arguments take `words`. Any context; costs some system calls where the
 * begin has to be moved. Begins that are 8192 lifetimes old stay where they are, and so do all where the
 * system calls are forbidden. NULL: there is no room. */
uint64_t *fxt_async_reserve_end(struct fxt_thread *thread, uint64_t now_ns, size_t words, uint64_t id);

/* Commits it, its words being stored up to `at`. */
void fxt_async_commit_end(struct fxt_thread *thread, uint64_t *at, uint64_t id, uint64_t names, unsigned arguments);

#endif
