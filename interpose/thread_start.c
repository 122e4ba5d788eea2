/* See thread_start.h. Called by whoever makes a thread, and by the thread. */
/* Wrappers have unwind tables, so the header would make a cleanup handler of an unwinder's function, which would be linked into the
 * library: another unwinder than that which unwinds the thread. The other way is the C library's alone. */
#undef __EXCEPTIONS
#include <pthread.h>

#include "thread_start.h"

#include "agent/flow.h"
#include "agent/life.h"

/* So many threads that were made and did not run yet; of others it is not shown who made them and when they end. */
enum { STARTS = 1024, TRIES = 8 };

static __thread bool begun_here __attribute__((tls_model("initial-exec")));

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
		start->cause = thread ? fxt_flow_leave(thread) : (struct fxt_cause){0};
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
	begun_here = true;
	self = own.cause.at_ns ? fxt_enter(FXT_CAT_pthread) : NULL;
	if (self) {
		fxt_flow_arrive(self, &own.cause);
		fxt_life_thread_begins(self, own.cause.at_ns);
	}
	return own;
}

static void end(void *unused)
{
	(void)unused;
	fxt_thread_ends();
}

void *fxt_start_posix(void *start)
{
	struct fxt_start own = begin(start);
	void *result;

	pthread_cleanup_push(end, NULL);
	result = own.routine.posix(own.arg);
	pthread_cleanup_pop(true);
	return result;
}

int fxt_start_c11(void *start)
{
	struct fxt_start own = begin(start);
	int result;

	pthread_cleanup_push(end, NULL);
	result = own.routine.c11(own.arg);
	pthread_cleanup_pop(true);
	return result;
}

void fxt_start_exits(void)
{
	if (!begun_here)
		fxt_thread_ends();
}
