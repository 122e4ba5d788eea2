/* A thread's first instructions, in front of the program's function: where the arrow from whoever made it ends, and
 * its lifetime begins. Threads are made by two functions whose routines differ in what they return.
 */
#ifndef FXT_THREAD_START_H
#define FXT_THREAD_START_H

#include "agent/wait.h"
#include "interpose.h"

/* What a new thread begins with, until it has. */
struct fxt_start {
	atomic_bool in_use;
	union {
		void *(*posix)(void *);
		int (*c11)(void *);
	} routine;
	void *arg;
	struct fxt_cause cause;
};

/* The calling thread is making another one. Returns what that is given as the argument of fxt_start_posix() or
 * fxt_start_c11(), its routine being the caller's to set; NULL: of this one it is not shown who made it. */
struct fxt_start *fxt_start_take(struct fxt_thread *thread, void *arg);

/* It could not be made. */
static inline void fxt_start_give_back(struct fxt_start *start)
{
	atomic_store(&start->in_use, false);
}

/* Where the new thread begins. */
void *fxt_start_posix(void *start);
int fxt_start_c11(void *start);

#endif
