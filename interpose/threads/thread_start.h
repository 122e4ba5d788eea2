/* A thread's first instructions, in front of the program's function, and its last behind it: where the arrow from whoever made it ends,
 * and its lifetime lies. The program sees neither: the end is found by a cleanup handler, of which there may be any number, and not by
 * a key, of which there are 1024. Threads are made by two functions whose routines differ in what they return.
 */
#ifndef FXT_THREAD_START_H
#define FXT_THREAD_START_H

#include <pthread.h>

#include "agent/arrows/wait.h"
#include "interpose/engine/interpose.h"

/* What a new thread begins with, until it has. */
struct fxt_start {
	atomic_bool in_use;
	union {
		void *(*posix)(void *);
		int (*c11)(void *);
	} routine;
	void *arg;
	struct fxt_cause cause;
	uintptr_t stack_low;            /* of its stack, which the program has chosen; 0: the C library has, with stack_bytes */
	size_t stack_bytes;
};

/* The calling thread is making another one; `thread` is NULL if it is not recorded, and `attr` may be, as for pthread_create(). Returns what
 * that is given as the argument of fxt_start_posix() or fxt_start_c11(), its routine being the caller's to set; NULL: of this one it is not
 * shown who made it and when it ends. */
struct fxt_start *fxt_start_take(struct fxt_thread *thread, const pthread_attr_t *attr, void *arg);

/* It could not be made. */
static inline void fxt_start_give_back(struct fxt_start *start)
{
	atomic_store(&start->in_use, false);
}

/* Where the new thread begins. */
void *fxt_start_posix(void *start);
int fxt_start_c11(void *start);

/* The calling thread is about to exit. One that did not begin here has no cleanup handler of ours: it ends at once. */
void fxt_start_exits(void);

#endif
