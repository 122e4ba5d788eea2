/* Records system calls that the C library has no function for: kernel.def. futex() is written by hand, and
 * named by what it does: by it Firefox and programs in Rust put threads to sleep and wake them without the C
 * library's locks. Arrows lead from the thread that wakes to the one that slept, as for conditions.
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <limits.h>

#include "agent/arrows/flow.h"
#include "agent/descriptors/rings.h"
#include "agent/emit/threads.h"
#include "interpose/engine/forms.h"

typedef uint32_t *futex;

#define NEW_io_uring , fxt_ring_opened(thread_, (int)result_);

#define FXT_TABLE "interpose/tables/kernel.def"
#include "interpose/engine/wrappers.inc"

static inline bool sleeps(int op)
{
	return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET;
}

static inline bool wakes(int op)
{
	return op == FUTEX_WAKE || op == FUTEX_WAKE_BITSET;
}

/* Returns whether the call has a time to wait until or for, in the place of a second value. */
static inline bool has_timeout(int op)
{
	return sleeps(op) || op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2 || op == FUTEX_WAIT_REQUEUE_PI;
}

#define COUNT_TIMEOUT has_timeout(operation_)
#define WORDS_TIMEOUT(name) 2
#define FIRST_TIMEOUT , BEFORE_TIMEOUT
#define BEFORE_TIMEOUT(name) int64_t name##_ns = has_timeout(operation_) ? fxt_time_ns(thread_, name) : 0;
#define MEASURE_TIMEOUT(name)
#define PUT_TIMEOUT(name)              \
	if (has_timeout(operation_)) { \
		PUT_TIME(name)         \
	}

static uint64_t names_of(int operation)
{
	if (sleeps(operation))
		return FXT_NAMES(pthread, futex_wait);
	return wakes(operation) ? FXT_NAMES(pthread, futex_wake) : FXT_NAMES(pthread, futex);
}

#define FUTEX_PARAMETERS							\
	(futex, uaddr, PTR), (int, futex_op, INT), (uint32_t, val, UINT),	\
	(const struct timespec *, timeout, TIMEOUT)

static int traced_futex(struct fxt_by_number *call_, struct fxt_thread *thread_, futex uaddr, int futex_op,
			uint32_t val, const struct timespec *timeout)
{
	int operation_ = futex_op & FUTEX_CMD_MASK, result_;
	const uint64_t names_ = names_of(operation_);
	uint64_t start_ns_, end_ns_, after_ns_;
	struct fxt_in_progress *open_;
	struct fxt_cause cause_;
	bool waits_ = sleeps(operation_);

	FXT_EACH(P_BEFORE, FUTEX_PARAMETERS)
	start_ns_ = fxt_now(thread_);
	open_ = wakes(operation_) ? QUICK : BLOCKS(uaddr);
	if (waits_)
		fxt_wait_enter_blocked(thread_, (uintptr_t)uaddr, 0);
	else if (wakes(operation_) && fxt_is_waited_for((uintptr_t)uaddr))
		fxt_flow_release(thread_, (uintptr_t)uaddr, val == 1 ? FXT_RELEASE_ONE : FXT_RELEASE_ALL,
				 (struct fxt_cause){0});
	result_ = (int)fxt_by_number_make(call_);
	end_ns_ = fxt_end_after(thread_, open_, &after_ns_);
	if (waits_)
		waits_ = fxt_wait_leave(thread_, (uintptr_t)uaddr, start_ns_, end_ns_, &cause_) && !result_;
	FXT_FORM_RECORD_WAIT(INT, FUTEX_PARAMETERS);
	return result_;
}

FXT_BY_HAND_NUMBER(futex)
{
	struct fxt_thread *thread = fxt_enter_first(FXT_CAT_pthread);

	if (thread)
		traced_futex(call, thread, (futex)call->args[0], (int)call->args[1], (uint32_t)call->args[2],
			     (const struct timespec *)call->args[3]);
	else
		fxt_by_number_make(call);
}

/* -- membarrier --------------------------------------------------------------------------------- */

/* Headers older than Linux 6.3 do not have this. */
enum { GET_REGISTRATIONS = 1 << 9 };

/* These bits, which are the kernel's commands, say what the program has registered for. As in the kernel,
 * processes that share memory share this, and a fork copies it. */
static atomic_int registered;

enum {
	/* The kernel counts each of these as the first one, too. */
	PRIVATE_EXPEDITED = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED |
			    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE |
			    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ,
};

/* The agent registers the process for MEMBARRIER_CMD_PRIVATE_EXPEDITED. A program that has not done so itself
 * is refused the command as without the agent, and not told of the agent's registration. */
FXT_BY_HAND_NUMBER(membarrier)
{
	int command = (int)call->args[0];

	if (fxt_by_number_make(call) < 0)
		return;
	if (command & PRIVATE_EXPEDITED)
		atomic_fetch_or(&registered, command);
	if (!fxt_chunks_registered())
		return;
	if (command == MEMBARRIER_CMD_PRIVATE_EXPEDITED &&
	    !(atomic_load(&registered) & MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)) {
		call->result = -1;
		errno = EPERM;
	} else if (command == GET_REGISTRATIONS && !(atomic_load(&registered) & PRIVATE_EXPEDITED)) {
		call->result &= ~(long)MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
	}
}
