/* See flow.h. The waits of threads begin and end here, and the records of arrows are written here. */
#include "flow.h"

#include <errno.h>
#include <sched.h>

#include "agent/emit/call_stack.h"
#include "agent/emit/clock.h"
#include "agent/emit/emit.h"
#include "parent_links.h"
#include "shared.h"
#include "writer/fxt_encode.h"

/* This bit in waits_for says that the object is a lock that one thread has at a time. No address of a program
 * has the bit. */
#define FOR_LOCK ((uintptr_t)1 << 63)

/* The size of an arrow's records: the slice that it begins in, its two ends and a wakeup. The arrows of one
 * wait share the slice that they end in. */
enum {
	WAKEUP_WORDS = 5,
	ARROW_WORDS = 3 * FXT_FRAME_WORDS + WAKEUP_WORDS + 4 * FXT_LANE_SLACK_WORDS,
};

/* Commits an event without arguments, of a thread of any process. `extra` is the end of a slice, or the id of
 * a flow. */
static inline void put(struct fxt_thread *thread, struct fxt_lane *lane, uint32_t pid, uint32_t tid,
		       enum fxt_event_type type, uint64_t name, uint64_t at_ns, uint64_t extra)
{
	const bool is_short = thread->event_thread && tid == thread->tid && pid == thread->pid;
	const size_t words = is_short ? FXT_FRAME_WORDS - FXT_INLINE_WORDS : FXT_FRAME_WORDS;
	uint64_t *at = fxt_lane_place(lane, words);

	at[1] = at_ns;
	if (!is_short) {
		at[2] = pid;
		at[3] = tid;
	}
	at[words - 1] = extra;
	fxt_lane_commit(lane, at, words,
			fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(type) |
				fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_agent, name) |
				(is_short ? thread->event_thread : 0));
}

/* Commits a scheduling record, which says who woke this thread, and on which processor. */
static void put_wakeup(struct fxt_thread *thread, struct fxt_lane *lane, const struct fxt_cause *cause)
{
	struct fxt_arg waker = {FXT_ARG_KOID, FXT_INDEXED(FXT_STR_waker), .u64 = cause->tid};
	uint64_t record[WAKEUP_WORDS], *at;
	size_t words;

	if (!cause->cpu_and_1)
		return;
	words = fxt_encode_thread_wakeup(record, WAKEUP_WORDS, cause->at_ns, (uint16_t)(cause->cpu_and_1 - 1),
					 thread->tid, (struct fxt_args){1, &waker});
	if (!words)
		return;
	at = fxt_lane_place(lane, words);
	memcpy(at + 1, record + 1, (words - 1) * FXT_WORD_BYTES);
	fxt_lane_commit(lane, at, words, record[0]);
}

/* The C library reads the number from memory that it shares with the kernel, so this costs no system call. */
uint32_t fxt_flow_cpu(void)
{
	int error, cpu;

	if (FXT_LIKELY(!fxt_is_on(FXT_CAT_sched)) || fxt_is_filtered())
		return 0;
	error = errno;
	cpu = sched_getcpu();
	errno = error;
	return (uint32_t)(cpu + 1);
}

static void sign(struct fxt_thread *thread, struct fxt_cause *cause)
{
	cause->at_ns = fxt_now(thread);
	cause->pid = thread->pid;
	cause->tid = thread->tid;
	cause->cpu_and_1 = fxt_flow_cpu();
}

void fxt_flow_release_lock(struct fxt_thread *thread, uintptr_t lock, struct fxt_cause cause)
{
	sign(thread, &cause);
	if (fxt_wait_lock_left(lock, &cause))
		thread->last_ns += 2;
}

void fxt_flow_release(struct fxt_thread *thread, uintptr_t object, enum fxt_release how,
		      struct fxt_cause cause)
{
	sign(thread, &cause);
	/* Nothing else of this thread begins at the times that are handed out. */
	thread->last_ns += 2 * (uint64_t)fxt_wait_release(object, how, &cause);
}

struct fxt_cause fxt_flow_leave(struct fxt_thread *thread)
{
	struct fxt_cause cause = {
		.at_ns = fxt_now(thread), .pid = thread->pid, .tid = thread->tid,
		.cpu_and_1 = fxt_flow_cpu()};

	thread->last_ns += 2;
	return cause;
}

void fxt_flow_first_moment(struct fxt_thread *thread, const struct fxt_cause *cause, uint64_t *after_ns,
			   uint64_t *end_ns)
{
	/* A thread or process has to begin later than the call that makes it, even if their clocks differ a
	 * little. */
	if (thread->last_ns < cause->at_ns + 2)
		thread->last_ns = cause->at_ns + 2;
	*after_ns = fxt_now(thread);
	thread->last_ns += 2;
	*end_ns = fxt_now(thread);
}

void fxt_flow_arrive(struct fxt_thread *thread, const struct fxt_cause *cause)
{
	uint64_t after_ns, end_ns;

	fxt_flow_first_moment(thread, cause, &after_ns, &end_ns);
	fxt_flow_resume(thread, after_ns, end_ns, cause, 1);
}

void fxt_wait_abandon(struct fxt_thread *thread)
{
	struct fxt_cause cause;

	/* Takes the cause out of the table, if there is one: it is of no use to other threads. */
	if (thread->waits_for & FOR_LOCK)
		fxt_wait_got_lock(thread->waits_for & ~FOR_LOCK, 0, 0, &cause);
	else if (thread->waits_for && fxt_wait_end(thread->waits_for, 0, 0, &cause) && cause.lock)
		fxt_wait_got_lock(cause.lock, 0, 0, &cause);
	thread->waits_for = 0;
}

void fxt_wait_enter_lock(struct fxt_thread *thread, uintptr_t lock)
{
	fxt_wait_abandon(thread);
	fxt_wait_for_lock(lock);
	thread->waits_for = lock | FOR_LOCK;
}

bool fxt_wait_leave_lock(struct fxt_thread *thread, uintptr_t lock, uint64_t start_ns, uint64_t end_ns,
			 struct fxt_cause *cause)
{
	/* A handler that waited for something meanwhile has ended this wait. */
	if (thread->waits_for != (lock | FOR_LOCK))
		return false;
	thread->waits_for = 0;
	return fxt_wait_got_lock(lock, start_ns, end_ns, cause);
}

void fxt_wait_enter(struct fxt_thread *thread, uintptr_t object, uintptr_t lock)
{
	fxt_wait_abandon(thread);
	if (fxt_wait_begin(object, lock))
		thread->waits_for = object;
}

uint32_t fxt_wait_enter_blocked(struct fxt_thread *thread, uintptr_t object, uintptr_t lock)
{
	uint32_t stack = fxt_call_stack_say(thread, FXT_STR_blocked, 0);

	fxt_wait_enter(thread, object, lock);
	return stack;
}

bool fxt_wait_leave(struct fxt_thread *thread, uintptr_t object, uint64_t start_ns, uint64_t end_ns,
		    struct fxt_cause *cause)
{
	/* A handler that waited for something meanwhile has ended this wait. */
	if (thread->waits_for != object)
		return false;
	thread->waits_for = 0;
	return fxt_wait_end(object, start_ns, end_ns, cause);
}

void fxt_flow_resume(struct fxt_thread *thread, uint64_t after_ns, uint64_t end_ns,
		     const struct fxt_cause *causes, unsigned count)
{
	uint64_t from_ns = after_ns, flows[FXT_CAUSES_MAX];
	struct fxt_lane *lane;
	unsigned i;

	for (i = 0; i < count; i++) {
		if (!fxt_shared_may_be(causes[i].at_ns, end_ns))
			return;
		if (causes[i].at_ns + 1 > from_ns)
			from_ns = causes[i].at_ns + 1;
	}
	/* The slice `resumed` begins later than the slices that its arrows come from, and later than what is
	 * within the call. That is impossible if two clocks differ by more than the wait's duration. */
	if (!count || ++from_ns >= end_ns || !fxt_call_is_alone(thread, from_ns, end_ns))
		return;
	for (i = 0; i < count; i++)
		if (causes[i].pid != thread->pid)
			fxt_parent_name(thread, causes[i].pid, causes[i].tid);
	/* All is one emission: so a ring overwrites all of it or nothing, and no handler takes the room of a
	 * part. */
	lane = fxt_open_lane(thread, FXT_FRAME_WORDS + ARROW_WORDS * count, false);
	if (!lane)
		return;
	for (i = 0; i < count; i++) {
		flows[i] = fxt_flow_id();
		put(thread, lane, causes[i].pid, causes[i].tid, FXT_EVENT_DURATION_COMPLETE, FXT_STR_released,
		    causes[i].at_ns, causes[i].at_ns + 1);
		put(thread, lane, causes[i].pid, causes[i].tid, FXT_EVENT_FLOW_BEGIN, FXT_STR_wakes,
		    causes[i].at_ns, flows[i]);
	}
	put(thread, lane, thread->pid, thread->tid, FXT_EVENT_DURATION_COMPLETE, FXT_STR_resumed, from_ns,
	    end_ns);
	for (i = 0; i < count; i++) {
		put(thread, lane, thread->pid, thread->tid, FXT_EVENT_FLOW_END, FXT_STR_wakes, end_ns,
		    flows[i]);
		put_wakeup(thread, lane, &causes[i]);
	}
	fxt_close_lane(lane, 0);
}
