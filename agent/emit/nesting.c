/* See nesting.h. The list of long calls is a ring. A handler that comes between the stores may spoil one entry
 * of it. */
#include "nesting.h"

#include <stdatomic.h>

/* Tells whether the second of two calls begins within the first one and ends after it. */
static bool overlaps(uint64_t first_ns, uint64_t first_end_ns, uint64_t second_ns, uint64_t second_end_ns)
{
	return first_ns < second_ns && second_ns < first_end_ns && first_end_ns < second_end_ns;
}

bool fxt_call_nests(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns)
{
	struct fxt_long_call *own, *call;

	if (!fxt_has_handlers())
		return true;
	/* The call is noted before the others are looked at. If a handler comes in between, and goes on with
	 * another call, one of the two finds the other. Each may have read its end before the other did. */
	own = &thread->long_calls.list[thread->long_calls.next++ % FXT_LONG_CALLS];
	*own = (struct fxt_long_call){start_ns, end_ns};
	atomic_signal_fence(memory_order_seq_cst);
	for (call = thread->long_calls.list; call < thread->long_calls.list + FXT_LONG_CALLS; call++) {
		if (overlaps(call->start_ns, call->end_ns, start_ns, end_ns) ||
		    overlaps(start_ns, end_ns, call->start_ns, call->end_ns)) {
			*own = (struct fxt_long_call){0, 0};
			return false;
		}
	}
	return true;
}
