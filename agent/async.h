/* Lifetimes (async events): their end is always behind their begin in the file.
 *
 * A copy that is made while the program runs reads the file from its beginning on. Of a lifetime whose begin and end lie in two
 * chunks it may have passed the place of the begin before that was written, and come to the end after it was. So where the end would lie in
 * another chunk than the begin, the begin is moved: a filler takes its place, and it stands again before the end. Within a
 * chunk that needs no care: whoever sees no begin sees a filler for all behind it. A process that is killed in between has lost the
 * lifetime. A ring is not to be copied so, and nothing is moved in it.
 *
 *	at = fxt_reserve_extra(...)             the begin of `id`
 *	fxt_async_begins(thread, at, id)        before it is committed
 *	...
 *	fxt_async_ends(thread, id)              before room is taken for the end
 */
#ifndef FXT_ASYNC_H
#define FXT_ASYNC_H

#include "agent.h"

/* The begin of `id` is about to be committed, its words ending at `end`. */
void fxt_async_begins(struct fxt_thread *thread, const uint64_t *end, uint64_t id);

/* The same of a begin that fxt_thread_put_extra() has just put, of so many words. */
void fxt_async_has_begun(struct fxt_thread *thread, size_t words, uint64_t id);

/* The end of `id` is written next, and takes FXT_ASYNC_END_WORDS at most. Any context; costs some system calls where the begin has to be
 * moved. Begins that are long, or 8192 lifetimes old, stay where they are, and so do all where the system calls are forbidden. */
enum { FXT_ASYNC_END_WORDS = 24 };
void fxt_async_ends(struct fxt_thread *thread, uint64_t id);

#endif
