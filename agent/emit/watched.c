/* Records of calls that need a look: calls that are shorter than the threshold, calls that are slow, calls
 * that a trigger may wait for, and calls after which deferred work is due. emit.h calls these functions in
 * the middle of an emission, in any context. */
#include <string.h>
#include <time.h>

#include "agent/base/lazy_table.h"
#include "agent/base/parts.h"
#include "agent/base/stack.h"
#include "call_stack.h"
#include "callers.h"
#include "deferred.h"
#include "emit.h"
#include "explain.h"
#include "function.h"
#include "held_locks.h"
#include "in_progress.h"
#include "trace_file.h"

static bool is_slow(uint64_t duration_ns)
{
	return fxt_agent.config.explain_ns && duration_ns >= fxt_agent.config.explain_ns;
}

/* Counts a call that has gone on in another thread than it began in. What it has done there is no part of the
 * slices of the one, and its begin is none of the other's. */
static uint64_t *give_up(const struct fxt_thread *thread)
{
	if (fxt_agent_file())
		fxt_agent_count(FXT_LOSS_SIGNALS, 1, thread->last_ns);
	return NULL;
}

/* Counts a call that is left out. */
static uint64_t *leave_out(struct fxt_thread *thread, uint64_t end_ns)
{
	fxt_in_progress_settle(thread);
	fxt_thread_filtered(thread);
	fxt_deferred_after(thread, end_ns);
	return NULL;
}

/* -- Calls that do not nest ---------------------------------------------------------------------- */

enum {
	/* So many calls of each kind are known. A call that was interrupted for longer than the others need
	 * for so many is taken to nest. */
	RECENT_CALLS = 1024,
	/* Calls are noted in the order of their ends, except where a handler has come between an end and its
	 * note. So behind so many calls that ended before another one began there are no others. */
	ENDED_BEFORE = 32,
};

/* The latest calls of a thread that runs coroutines. Those that took FXT_SWITCH_NS or longer are kept apart,
 * because the others are many and would push them out. */
struct recent_calls {
	struct calls_ring {
		_Atomic uint32_t next;  /* the number of the call that comes next */
		struct fxt_call_time list[RECENT_CALLS];
	} slow, quick;
};

/* Returns the calling thread's calls, or NULL if it needs none: until it has made a slow call on another
 * stack than its own. From then on none of its calls is usual, so all of them are looked at. */
static struct recent_calls *calls_of(struct fxt_thread *thread, struct fxt_call_time time)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	struct recent_calls *calls = atomic_load_explicit(&thread->recent_calls, memory_order_acquire);
	uint32_t none = 0;

	if (!calls && fxt_has_handlers()) {
		if (fxt_on_own_stack(thread, here) ||
		    (here >= thread->stack.alternate_low && here < thread->stack.alternate_high)) {
			thread->last_slow_call = time;
			return NULL;
		}
		calls = fxt_lazy_table(&thread->recent_calls, sizeof(*calls));
		/* A handler may have switched away when the table was made, and others have noted their
		 * calls. */
		if (calls && atomic_compare_exchange_strong_explicit(&calls->slow.next, &none, 1,
								     memory_order_relaxed,
								     memory_order_relaxed))
			calls->slow.list[0] = thread->last_slow_call;
	}
	if (calls)
		thread->usual_ns = 0;
	return calls;
}

/* Tells whether the second of two calls begins within the first one, or with it, and ends after it. A thread
 * begins two calls at one time only if a handler switched away from one of them when it had just read the
 * clock. Viewers drop one of two such slices. */
static bool overlaps(struct fxt_call_time first, struct fxt_call_time second)
{
	return first.start_ns <= second.start_ns && second.start_ns < first.end_ns &&
	       first.end_ns < second.end_ns;
}

static bool overlap(struct fxt_call_time one, struct fxt_call_time other)
{
	return overlaps(one, other) || overlaps(other, one);
}

/* Tells whether two slices have a moment in common, and the first is not around the second one. */
static bool disturbs(struct fxt_call_time one, struct fxt_call_time other)
{
	return one.start_ns < other.end_ns && one.end_ns > other.start_ns &&
	       !(one.start_ns < other.start_ns && one.end_ns >= other.end_ns);
}

/* Returns whether one of the ring's calls, but for `own`, conflicts with what took that time. */
static bool any(struct calls_ring *ring, const struct fxt_call_time *own, struct fxt_call_time time,
		bool (*conflicts)(struct fxt_call_time, struct fxt_call_time))
{
	const uint32_t next = atomic_load_explicit(&ring->next, memory_order_relaxed);
	const struct fxt_call_time *call;
	unsigned i, ended_before = 0;

	for (i = 1; i <= RECENT_CALLS && ended_before < ENDED_BEFORE; i++) {
		call = &ring->list[(next - i) % RECENT_CALLS];
		ended_before = call->end_ns <= time.start_ns ? ended_before + 1 : 0;
		if (call != own && conflicts(*call, time))
			return true;
	}
	return false;
}

/* Notes what took that time, and tells whether no noted call conflicts with it; if one does, it is forgotten.
 * The call is noted before the others are looked at. If a handler comes in between, and goes on with another
 * call, one of the two finds the other. Each may have read its end before the other did. */
static bool fits(struct recent_calls *calls, struct fxt_call_time time,
		 bool (*conflicts)(struct fxt_call_time, struct fxt_call_time))
{
	struct calls_ring *ring = time.end_ns - time.start_ns < FXT_SWITCH_NS ? &calls->quick : &calls->slow;
	struct fxt_call_time *own;

	own = &ring->list[atomic_fetch_add_explicit(&ring->next, 1, memory_order_relaxed) % RECENT_CALLS];
	*own = time;
	atomic_signal_fence(memory_order_seq_cst);
	if (!any(&calls->slow, own, time, conflicts) && !any(&calls->quick, own, time, conflicts))
		return true;
	own->start_ns = own->end_ns = 0;
	return false;
}

bool fxt_call_nests(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns)
{
	const struct fxt_call_time time = {start_ns, end_ns};
	struct recent_calls *calls = calls_of(thread, time);

	return !calls || fits(calls, time, overlap);
}

bool fxt_call_is_alone(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns)
{
	struct recent_calls *calls = atomic_load_explicit(&thread->recent_calls, memory_order_acquire);

	return !calls || fits(calls, (struct fxt_call_time){start_ns, end_ns}, disturbs);
}

/* -- Room ---------------------------------------------------------------------------------------- */

uint64_t *fxt_room_kept(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, size_t words)
{
	if (end_ns - start_ns >= fxt_agent.config.least_stack_ns) {
		thread->commit |= FXT_COMMIT_WATCHED;
		words += FXT_STACK_WORDS;
	}
	if (is_slow(end_ns - start_ns)) {
		thread->commit |= FXT_COMMIT_WATCHED;
		words += FXT_EXPLAIN_WORDS;
	} else if (fxt_agent.config.triggers.count) {
		thread->commit |= FXT_COMMIT_WATCHED;
	}
	return fxt_reserve(thread, start_ns, words);
}

uint64_t *fxt_room_left(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, size_t words,
			enum fxt_category_bit category)
{
	if (fxt_has_moved(thread))
		return give_up(thread);
	if (start_ns < thread->born_ns)
		start_ns = fxt_in_progress_start_in_child(thread, end_ns);
	if (end_ns - start_ns < fxt_agent.config.threshold_ns[category])
		return leave_out(thread, end_ns);
	if ((end_ns - start_ns >= FXT_SWITCH_NS || thread->recent_calls) &&
	    !fxt_call_nests(thread, start_ns, end_ns)) {
		fxt_in_progress_settle(thread);
		fxt_thread_dropped(thread, FXT_LOSS_SIGNALS);
		fxt_deferred_after(thread, end_ns);
		return NULL;
	}
	return fxt_room_kept(thread, start_ns, end_ns, words);
}

/* -- Samples ------------------------------------------------------------------------------------- */

enum { SAMPLE_WORDS = FXT_STACK_WORDS + 2 };    /* the stack, and how many calls the sample stands for */

/* Returns the processor time that the thread has used; 0: it is not to be had. */
static uint64_t used_ns(void)
{
	struct timespec cpu;

	if (fxt_is_filtered() || FXT_SYSCALL2(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &cpu))
		return 0;
	return (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
}

/* Returns whether calls of this category and duration have samples: those that would have a stack if they had
 * taken longer. Functions that are recorded in the quick way are not counted, so none of them is drawn. */
static bool has_samples(enum fxt_category_bit category, uint64_t ns)
{
	return category != FXT_BIT_function && category != FXT_BIT_plt &&
	       fxt_agent.config.stack_ns[category] != UINT64_MAX && ns < fxt_agent.config.stack_ns[category];
}

/* Finds out what to do with a call that was drawn. Returns how many words a sample adds to its record. */
static size_t draw(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns,
		   enum fxt_category_bit category)
{
	if (!fxt_agent.config.stacks) {
		thread->until_sample = INT64_MAX;
		return 0;
	}
	if (!thread->samples.random) {
		/* Units count from any moment on. */
		thread->until_sample += fxt_call_samples_begin(&thread->samples,
							       end_ns ^ (uint64_t)thread->tid << 32);
		if (thread->until_sample >= 0)
			return 0;
	}
	if (!has_samples(category, end_ns - start_ns)) {
		thread->until_sample = fxt_call_samples_pass(&thread->samples);
		return 0;
	}
	thread->until_sample =
		fxt_call_samples_take(&thread->samples, end_ns - start_ns, end_ns, used_ns());
	thread->samples.end_ns = end_ns;
	thread->commit |= FXT_COMMIT_WATCHED;
	return SAMPLE_WORDS;
}

static uint64_t *put_stands_for(uint64_t *at, double calls)
{
	at[0] = fxt_arg_header(FXT_ARG_DOUBLE, 2, FXT_STR_stands_for);
	memcpy(at + 1, &calls, sizeof(calls));
	return at + 2;
}

uint64_t *fxt_room_unusual(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, size_t words,
			   enum fxt_category_bit category)
{
	if (fxt_has_moved(thread))
		return give_up(thread);
	if (thread->until_sample < 0)
		words += draw(thread, start_ns, end_ns, category);
	/* Functions have a filter of their own. */
	if (fxt_agent.config.filters_callers && category != FXT_BIT_function && category != FXT_BIT_plt &&
	    !fxt_callers_want_this())
		return leave_out(thread, end_ns);
	return fxt_room_left(thread, start_ns, end_ns, words, category);
}

FXT_WIPED _Atomic uint8_t fxt_failures[FXT_FAILURES / 8];
static atomic_bool has_failures;

void fxt_watch_first_failure(struct fxt_thread *thread, int error, uint32_t bit)
{
	atomic_store_explicit(&has_failures, true, memory_order_relaxed);
	atomic_fetch_or_explicit(&fxt_failures[bit / 8], (uint8_t)(1 << bit % 8), memory_order_relaxed);
	if (!fxt_agent.config.stacks)
		return;
	thread->commit |= FXT_COMMIT_WATCHED;
	thread->first_errno = error;
}

void fxt_failures_again(void)
{
	/* Pages that have none are not written to, as they are shared with the parent. */
	if (atomic_exchange_explicit(&has_failures, false, memory_order_relaxed))
		memset((void *)fxt_failures, 0, sizeof(fxt_failures));
}

void fxt_watch_failure(struct fxt_thread *thread, int error)
{
	thread->commit |= FXT_COMMIT_WATCHED;
	thread->watched_errno = error;
}

static bool has_name(const struct fxt_trigger *trigger, const char *name, size_t bytes)
{
	size_t length = strlen(trigger->name);

	return (trigger->is_prefix ? bytes >= length : bytes == length) &&
	       !memcmp(trigger->name, name, length);
}

static bool is_met(const struct fxt_trigger *trigger, uint64_t ns, int error)
{
	switch (trigger->test) {
	case FXT_LONGER:
		return ns > trigger->value;
	case FXT_AT_LEAST:
		return ns >= trigger->value;
	case FXT_SHORTER:
		return ns < trigger->value;
	case FXT_AT_MOST:
		return ns <= trigger->value;
	case FXT_FAILED_WITH:
		return error && (uint64_t)error == trigger->value;
	case FXT_FAILED_OTHERWISE:
		return error && (uint64_t)error != trigger->value;
	}
	return false;
}

/* Returns the name that an event's header refers to, if it is that of a call or of an instrumented function
 * that has an index. Otherwise returns NULL. */
static const char *event_name(uint64_t header, size_t *bytes)
{
	uint64_t index = fxt_get_event_name(header);

	if (fxt_get_string_ref_inline(index) || index < FXT_STR_CALLS)
		return NULL;
	if (index - FXT_STR_CALLS < fxt_agent.calls.count) {
		*bytes = strlen(fxt_agent.calls.list[index - FXT_STR_CALLS]);
		return fxt_agent.calls.list[index - FXT_STR_CALLS];
	}
	return fxt_function_name_of((uint32_t)index, bytes);
}

/* Returns the stack of a call that is about to be committed, and took so long or is a sample; 0: it gets
 * none. */
static uint32_t stack_of(struct fxt_thread *thread, uint64_t header, uint64_t end_ns, uint64_t ns,
			 bool is_sample)
{
	unsigned category = (unsigned)fxt_get_event_category(header) - FXT_STR_CATEGORIES;

	/* The start may have been moved: fxt_room_left(). */
	if (end_ns == thread->left_ns || category >= FXT_CATEGORY_COUNT ||
	    (ns < fxt_agent.config.stack_ns[category] && !is_sample))
		return 0;
	return fxt_call_stack_of(thread, fxt_agent.config.stack_frames[category]);
}

/* Returns whether the call is known not to nest: see FXT_COMMIT_OVERLAPS. */
static bool is_overlap(struct fxt_thread *thread, uint64_t header, uint64_t end_ns)
{
	if (!(thread->commit & FXT_COMMIT_OVERLAPS))
		return false;
	thread->commit &= ~(unsigned)FXT_COMMIT_OVERLAPS;
	return fxt_get_event_type(header) == FXT_EVENT_DURATION_COMPLETE && end_ns == thread->overlaps_ns;
}

/* NOLINTNEXTLINE(misc-no-recursion): see fxt_commit(). */
void fxt_commit_watched(struct fxt_thread *thread, uint64_t *at, uint64_t header)
{
	struct fxt_lane *lane = fxt_lane_of(thread, at);
	bool has_moved = fxt_has_moved(thread);
	uint64_t start_ns = lane ? lane->at[1] : 0, end_ns = at[-1], ns = end_ns - start_ns;
	bool is_latest = end_ns == thread->last_ns, is_sample = false;
	unsigned explained = 0;
	uint32_t stack = 0;
	int error = thread->watched_errno, first_error = thread->first_errno;
	const char *name;
	size_t bytes;
	unsigned i;

	if (!lane) {
		fxt_thread_overtaken(thread, 1);
		fxt_in_progress_settle(thread);
		return;
	}
	if (!has_moved && is_overlap(thread, header, end_ns)) {
		fxt_lane_lower(lane);
		fxt_in_progress_settle(thread);
		fxt_thread_dropped(thread, FXT_LOSS_SIGNALS);
		fxt_deferred_after(thread, end_ns);
		return;
	}
	fxt_lane_goes_on(lane);
	/* Only calls are explained and meet triggers. An emission that goes on in another thread still has
	 * its lane, and nothing else. */
	if (fxt_get_event_type(header) != FXT_EVENT_DURATION_COMPLETE || has_moved) {
		fxt_commit_as(thread, at, header, 1);
		fxt_in_progress_settle(thread);
		return;
	}
	if (!(thread->commit & FXT_COMMIT_DEFERRED))
		thread->commit &= ~(unsigned)FXT_COMMIT_WATCHED;
	thread->watched_errno = thread->first_errno = 0;
	if (start_ns) {
		/* A handler may have come since, and its call has no room for what a sample has. */
		is_sample = thread->samples.end_ns == end_ns;
		stack = stack_of(thread, header, end_ns, ns, is_sample);
		at = fxt_put_stack(at - 1, FXT_STR_stack, stack);
		if (is_sample)
			at = put_stands_for(at, thread->samples.stands_for);
		*at++ = end_ns;
		explained = (stack != 0) + is_sample;
	}
	/* If a fork came in the middle of this record, its start is in the parent's chunk alone: the child
	 * finds 0 here, and nobody reads what it writes. */
	if (start_ns && is_slow(ns) && !fxt_holds_lock(thread) && !fxt_stack_is_short()) {
		/* The explanation goes in front of the end, which is the last word. */
		at = fxt_explain_call(thread, at - 1, start_ns, end_ns, header, &explained);
		*at++ = end_ns;
	}
	fxt_commit_as(thread, at, header + fxt_event_args(explained), 1);
	fxt_in_progress_settle(thread);
	fxt_call_stack_tell(thread, stack);
	if (is_sample) {
		thread->samples.end_ns = 0;
		fxt_call_samples_cost(&thread->samples, fxt_now(thread) - end_ns);
	}
	if (first_error && !fxt_stack_is_short())
		fxt_call_stack_say(thread, FXT_STR_failed, first_error);
	/* The explanation may have read the clock since. */
	if (is_latest)
		fxt_deferred_after(thread, thread->last_ns);
	/* No trigger waits for a call like this one. */
	if (!error && ns < fxt_agent.config.triggers.most_ns && ns >= fxt_agent.config.triggers.least_ns)
		return;
	name = event_name(header, &bytes);
	for (i = 0; name && i < fxt_agent.config.triggers.count; i++) {
		const struct fxt_trigger *trigger = &fxt_agent.config.triggers.list[i];

		if (has_name(trigger, name, bytes) && is_met(trigger, ns, error)) {
			fxt_parts_triggered(thread, trigger, name, bytes, ns, error);
			return;
		}
	}
}
