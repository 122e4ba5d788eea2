/* Runs a thread's first instructions, in front of the program's function, and its last, behind it. There the
 * arrow from the thread that made it ends, and there its lifetime begins and ends. The program sees neither:
 * the end is found by a cleanup handler, of which there may be any number, and not by a key, of which there
 * are 1024. Threads are made by two functions whose routines differ in what they return.
 */
#ifndef FXT_THREAD_START_H
#define FXT_THREAD_START_H

#include <pthread.h>

#include "agent/arrows/wait.h"
#include "interpose/engine/interpose.h"

/* Says what a new thread begins with. It is in use until the thread has begun. */
struct fxt_start {
	atomic_bool in_use;
	bool hands_on;                  /* fxt_gate_hands_on() */
	union {
		void *(*posix)(void *);
		int (*c11)(void *);
	} routine;
	void *arg;
	struct fxt_cause cause;
	struct fxt_known_stack stack;
};

/* Called by a thread that is making another one. `thread` is NULL if the caller is not recorded; `attr` may
 * be NULL, as for pthread_create(). Returns what the new thread is given as the argument of fxt_start_posix()
 * or fxt_start_c11(); the caller sets its routine. Returns NULL if too many threads are being made: then it
 * is not shown who made this one and when it ends. */
struct fxt_start *fxt_start_take(struct fxt_thread *thread, const pthread_attr_t *attr, void *arg);

/* Gives a start back, because the thread could not be made. */
static inline void fxt_start_give_back(struct fxt_start *start)
{
	atomic_store(&start->in_use, false);
}

/* The new thread begins in one of these. */
void *fxt_start_posix(void *start);
int fxt_start_c11(void *start);

/* Called by a thread that is about to exit. If it did not begin here, it has no cleanup handler of ours, so
 * its lifetime ends at once. */
void fxt_start_exits(void);

#endif
