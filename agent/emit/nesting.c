/* See nesting.h. Each thread that runs coroutines has a list of its latest long calls, which is a ring. */
#include "nesting.h"

#include "agent/base/lazy_table.h"
#include "agent/base/stack.h"

enum {
	/* So many long calls are known, which must be a power of two. A call that was interrupted for longer
	 * than the others need for so many is taken to nest. */
	LONG_CALLS = 1024,
	/* Calls are noted in the order of their ends, except where a handler has come between an end and its
	 * note. So behind so many calls that ended before another one began there are no others. */
	ENDED_BEFORE = 32,
};

struct long_calls {
	_Atomic uint32_t next;          /* the number of the call that comes next */
	struct long_call {
		uint64_t start_ns, end_ns;
	} list[LONG_CALLS];
};

/* Returns the calling thread's list, or NULL if it needs none. */
static struct long_calls *calls_of(struct fxt_thread *thread)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (!fxt_has_handlers())
		return NULL;
	if (!atomic_load_explicit(&thread->long_calls, memory_order_acquire) &&
	    (fxt_on_own_stack(thread, here) ||
	     (here >= thread->stack.alternate_low && here < thread->stack.alternate_high)))
		return NULL;
	return fxt_lazy_table(&thread->long_calls, sizeof(struct long_calls));
}

/* Tells whether the second of two calls begins within the first one and ends after it. */
static bool overlaps(uint64_t first_ns, uint64_t first_end_ns, uint64_t second_ns, uint64_t second_end_ns)
{
	return first_ns < second_ns && second_ns < first_end_ns && first_end_ns < second_end_ns;
}

/* The call is noted before the others are looked at. If a handler comes in between, and goes on with another
 * call, one of the two finds the other. Each may have read its end before the other did. */
bool fxt_call_nests(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns)
{
	struct long_calls *calls = calls_of(thread);
	struct long_call *own, *call;
	unsigned i, ended_before = 0;
	uint32_t next;

	if (!calls)
		return true;
	own = &calls->list[atomic_fetch_add_explicit(&calls->next, 1, memory_order_relaxed) % LONG_CALLS];
	*own = (struct long_call){start_ns, end_ns};
	atomic_signal_fence(memory_order_seq_cst);
	next = atomic_load_explicit(&calls->next, memory_order_relaxed);
	for (i = 1; i <= LONG_CALLS && ended_before < ENDED_BEFORE; i++) {
		call = &calls->list[(next - i) % LONG_CALLS];
		ended_before = call->end_ns <= start_ns ? ended_before + 1 : 0;
		if (overlaps(call->start_ns, call->end_ns, start_ns, end_ns) ||
		    overlaps(start_ns, end_ns, call->start_ns, call->end_ns)) {
			own->start_ns = own->end_ns = 0;
			return false;
		}
	}
	return true;
}
