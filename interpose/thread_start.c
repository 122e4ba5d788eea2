/* See thread_start.h. Called by whoever makes a thread, and by the thread. */
#include "thread_start.h"

#include "agent/flow.h"
#include "agent/life.h"

/* So many threads that were made and did not run yet; of others it is not shown who made them. */
enum { STARTS = 256, TRIES = 8 };

struct fxt_start *fxt_start_take(struct fxt_thread *thread, void *arg)
{
	static struct fxt_start starts[STARTS];
	static atomic_uint next;
	unsigned tries;

	for (tries = 0; tries < TRIES; tries++) {
		struct fxt_start *start = &starts[atomic_fetch_add(&next, 1) % STARTS];

		if (atomic_exchange(&start->in_use, true))
			continue;
		start->arg = arg;
		start->cause = fxt_flow_leave(thread);
		return start;
	}
	return NULL;
}

/* The thread's first moment. `start` is free for another one after it. */
static struct fxt_start begin(struct fxt_start *start)
{
	struct fxt_start own = {.routine = start->routine, .arg = start->arg, .cause = start->cause};
	struct fxt_thread *self;

	atomic_store(&start->in_use, false);
	self = fxt_enter(FXT_CAT_pthread);
	if (self) {
		fxt_flow_arrive(self, &own.cause);
		fxt_life_thread_begins(self, own.cause.at_ns);
	}
	return own;
}

void *fxt_start_posix(void *start)
{
	struct fxt_start own = begin(start);

	return own.routine.posix(own.arg);
}

int fxt_start_c11(void *start)
{
	struct fxt_start own = begin(start);

	return own.routine.c11(own.arg);
}
