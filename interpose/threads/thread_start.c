/* See thread_start.h. Called by the thread that makes another one, and by the new thread. */
/* Wrappers have unwind tables, so the header would make cleanup handlers by means of an unwinder, which would
 * be linked into the library: another one than that which unwinds the thread. Without __EXCEPTIONS it makes
 * them by means of the C library alone. */
#undef __EXCEPTIONS
#include <pthread.h>

#include "thread_start.h"

#include "agent/arrows/flow.h"
#include "agent/arrows/task_life.h"
#include "agent/emit/call_stack.h"
#include "agent/emit/sample.h"
#include "agent/process/locked_memory.h"

/* There is room for so many threads that were made and have not run yet. Of others it is not shown who made
 * them and when they end. */
enum { STARTS = 1024, TRIES = 8 };

static __thread bool begun_here __attribute__((tls_model("initial-exec")));

/* Notes where the stack will be, as far as the attributes say. The functions that this calls do not
 * allocate. */
static void look_at_stack(struct fxt_start *start, const pthread_attr_t *attr)
{
	pthread_attr_t usual;
	void *low = NULL;
	size_t bytes = 0;

	if (!attr) {
		pthread_attr_init(&usual);
		attr = &usual;
	}
	start->stack = (struct fxt_known_stack){0};
	/* If the attributes have no address, `low` is 0 less the size. */
	if (!pthread_attr_getstack(attr, &low, &bytes) && (uintptr_t)low + bytes)
		start->stack.low = (uintptr_t)low;
	else if (!pthread_attr_getstacksize(attr, &bytes))
		start->stack.bytes = bytes;
}

struct fxt_start *fxt_start_take(struct fxt_thread *thread, const pthread_attr_t *attr, void *arg)
{
	static FXT_LARGE struct fxt_start starts[STARTS];
	static atomic_uint next;
	bool hands_on = fxt_gate_hands_on();
	unsigned tries;

	for (tries = 0; tries < TRIES; tries++) {
		struct fxt_start *start = &starts[atomic_fetch_add(&next, 1) % STARTS];

		if (atomic_exchange(&start->in_use, true))
			continue;
		start->arg = arg;
		start->hands_on = hands_on;
		look_at_stack(start, attr);
		start->cause = (struct fxt_cause){0};
		if (thread) {
			uint32_t stack = fxt_call_stack(thread);

			fxt_sample_before_thread();
			fxt_call_stack_tell(thread, stack);
			start->cause = fxt_flow_leave(thread);
			start->cause.stack = stack;
		}
		return start;
	}
	return NULL;
}

/* Does what is due at the thread's first moment. Returns a copy of `start`, which then is free for another
 * thread. */
static struct fxt_start begin(struct fxt_start *start)
{
	struct fxt_start own = {.routine = start->routine, .arg = start->arg, .cause = start->cause,
				.stack = start->stack};
	struct fxt_thread *self;

	if (start->hands_on)
		fxt_gate_inherits();
	atomic_store(&start->in_use, false);
	begun_here = true;
	fxt_may_be_real_time(0);
	self = own.cause.at_ns && fxt_is_on(FXT_CAT_pthread)
		       ? fxt_thread_begins(&own.stack) : NULL;
	if (self) {
		fxt_flow_arrive(self, &own.cause);
		fxt_task_thread_begins(self, own.cause.at_ns, own.cause.stack);
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
