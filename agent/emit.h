/* The emission path: what a wrapper does with a call that it saw. Inline, and straight: no lock, no atomic
 * read-modify-write, no system call and no allocation until a chunk is full.
 *
 *	thread = fxt_enter(FXT_CAT_io);         NULL: not recorded
 *	start = fxt_now(thread);
 *	... the call ...
 *	end = fxt_now(thread);                  fxt_end() of open.h for a call that was shown as in progress
 *	if ((at = fxt_room(thread, start, end, max_words))) {
 *		at = fxt_put_int(at, FXT_STR_fd, fd);
 *		fxt_complete(thread, at, end, names, arguments);
 *	}
 *
 * Between fxt_room() and fxt_complete() the thread writes to its lane, and a signal handler to the next one.
 */
#ifndef FXT_EMIT_H
#define FXT_EMIT_H

#include <string.h>

#include "agent.h"
#include "clock.h"
#include "deferred.h"

enum {
	FXT_FRAME_WORDS = 5,            /* header, start, inline process and thread, end */
	FXT_INLINE_WORDS = 2,           /* of these, what most threads' events do without */
	FXT_TEXT_MAX_BYTES = 4095,      /* of an inline string argument: a path at its longest */
};

static inline uint64_t fxt_names_of(uint64_t category, uint64_t name)
{
	return fxt_event_category(category) | fxt_event_name(name);
}

static inline bool fxt_is_on(enum fxt_category category)
{
	return atomic_load_explicit(&fxt_gate.mask, memory_order_relaxed) & category;
}

/* The calling thread's state; NULL when it cannot have one now. For who knows that a category is on. */
static inline struct fxt_thread *fxt_enter_on(void)
{
	if (FXT_LIKELY(fxt_self != NULL))
		return fxt_self;
	return fxt_thread_attach();
}

/* The calling thread's state if a category is on, otherwise NULL. */
static inline struct fxt_thread *fxt_enter(enum fxt_category category)
{
	return fxt_is_on(category) ? fxt_enter_on() : NULL;
}

/* The words of an event up to where its names or arguments go; what they replace was behind the last filler. */
static inline uint64_t *fxt_begin_record(struct fxt_thread *thread, struct fxt_lane *lane, uint64_t start_ns)
{
	uint64_t *at = lane->at;

	at[1] = start_ns;
	fxt_lane_look_ahead(at);
	if (FXT_LIKELY(thread->event_thread))
		return at + 2;
	at[2] = thread->pid;
	at[3] = thread->tid;
	return at + 4;
}

/* Room in the current lane for a record of at most `words` beside FXT_FRAME_WORDS; NULL: dropped, and counted. */
static FXT_EMISSION uint64_t *fxt_reserve(struct fxt_thread *thread, uint64_t start_ns, size_t words)
{
	struct fxt_lane *lane = thread->lane;

	fxt_lane_raise(thread, lane);
	if (FXT_UNLIKELY(!fxt_lane_has(lane, words + FXT_FRAME_WORDS + FXT_LINE_WORDS))) {
		lane = fxt_lane_turn(thread, lane, words + FXT_FRAME_WORDS + FXT_LINE_WORDS);
		if (!lane)
			return NULL;
	}
	if (thread->commit & FXT_COMMIT_ALIGNED)
		fxt_lane_align(lane, words + FXT_FRAME_WORDS - FXT_INLINE_WORDS);
	return fxt_begin_record(thread, lane, start_ns);
}

/* The same for what is no call of the program: it is missing where there is no room, and not counted. */
static inline uint64_t *fxt_reserve_extra(struct fxt_thread *thread, uint64_t start_ns, size_t words)
{
	struct fxt_lane *lane = thread->lane;
	uint64_t *at;

	lane->is_extra = true;
	at = fxt_reserve(thread, start_ns, words);
	lane->is_extra = false;
	return at;
}

/* fxt_commit() of a duration-complete event that was slow or may meet a trigger, or that deferred work is due after. */
FXT_COLD void fxt_commit_watched(struct fxt_thread *thread, uint64_t *at, uint64_t header);

/* Commits the record whose words end at `at`, whatever the thread is watched for. */
static FXT_EMISSION void fxt_commit_as_is(struct fxt_thread *thread, uint64_t *at, uint64_t header, unsigned commit)
{
	struct fxt_lane *lane = thread->lane - 1;

	if (commit)
		fxt_lane_commit_aligned(lane, lane->at, (size_t)(at - lane->at), header | thread->event_thread);
	else
		fxt_lane_commit(lane, (size_t)(at - lane->at), header | thread->event_thread);
	lane->events++;
	atomic_signal_fence(memory_order_seq_cst);
	thread->lane = lane;
}

/* Commits the record whose words end at `at`. */
static FXT_EMISSION void fxt_commit(struct fxt_thread *thread, uint64_t *at, uint64_t header)
{
	unsigned commit = thread->commit;

	if (FXT_UNLIKELY(commit & FXT_COMMIT_WATCHED))
		fxt_commit_watched(thread, at, header);
	else
		fxt_commit_as_is(thread, at, header, commit);
}

/* The same of what is no call of the program: a ring that overwrites it has lost none. */
static inline void fxt_commit_uncounted(struct fxt_thread *thread, uint64_t *at, uint64_t header)
{
	thread->lane[-1].events--;
	fxt_commit(thread, at, header);
}

/* Whether a call that took so long needs no look. Where short ones do none is usual, nor for threads whose koids are inline. */
static FXT_EMISSION bool fxt_is_usual(const struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns)
{
	return FXT_LIKELY(end_ns - start_ns < thread->usual_ns);
}

/* fxt_room() for a call that is not usual. */
FXT_COLD uint64_t *fxt_room_unusual(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, size_t words);

/* Room for a call's record, unless it was shorter than the threshold. NULL: nothing to write. */
static FXT_EMISSION uint64_t *fxt_room(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, size_t words)
{
	uint64_t *at;

	if (!fxt_is_usual(thread, start_ns, end_ns))
		return fxt_room_unusual(thread, start_ns, end_ns, words);
	at = fxt_reserve(thread, start_ns, words);
	if (FXT_UNLIKELY(!at))
		fxt_deferred_after(thread, end_ns);
	return at;
}

/* Commits a duration-complete event ("Duration complete event") whose arguments end at `at`. */
static FXT_EMISSION void fxt_complete(struct fxt_thread *thread, uint64_t *at, uint64_t end_ns, uint64_t names,
				unsigned arguments)
{
	*at++ = end_ns;
	fxt_commit(thread, at, fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(FXT_EVENT_DURATION_COMPLETE) |
				       fxt_event_args(arguments) | names);
}

/* -- The same in the common case ---------------------------------------------------------------- */

/* Where the event of a call goes, and what is known of the lane meanwhile. */
struct fxt_spot {
	struct fxt_lane *lane;
	uint64_t *at, *arguments;
	intptr_t room;                  /* as fxt_lane_room() */
	unsigned commit;
};

/* Without the event: as it was. */
static FXT_EMISSION void fxt_quick_leave(struct fxt_thread *thread, const struct fxt_spot *spot)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->lane = spot->lane;
}

/* Room for a call's event with at most `words` beside FXT_FRAME_WORDS, which do not take more than a cache line together. False, and
 * nothing has changed, when it is not the common case: for fxt_room() then. Nor is it for a thread whose koids are inline. */
static FXT_EMISSION bool fxt_quick_reserve(struct fxt_thread *thread, uint64_t start_ns, size_t words, struct fxt_spot *spot)
{
	struct fxt_lane *lane = thread->lane;

	spot->lane = lane;
	spot->commit = thread->commit;
	if (FXT_UNLIKELY(spot->commit & ~(unsigned)FXT_COMMIT_ALIGNED))
		return false;
	fxt_lane_raise(thread, lane);
	spot->at = lane->at;
	spot->room = fxt_lane_room(lane, spot->at);
	if (FXT_UNLIKELY(spot->room <= (intptr_t)((words + FXT_FRAME_WORDS + 2 * FXT_LINE_WORDS) * FXT_WORD_BYTES))) {
		fxt_quick_leave(thread, spot);
		return false;
	}
	/* To the head of a line, where it is already as a rule: what is quick takes more than half of one. */
	if (spot->commit && FXT_UNLIKELY((uintptr_t)spot->at % FXT_LINE_BYTES)) {
		fxt_lane_align(lane, FXT_LINE_WORDS);
		spot->at = lane->at;
	}
	spot->at[1] = start_ns;
	fxt_lane_look_ahead(spot->at);
	spot->arguments = spot->at + 2;
	return true;
}

/* The same of a call that is over. */
static FXT_EMISSION bool fxt_quick_room(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, size_t words,
					struct fxt_spot *spot)
{
	return fxt_is_usual(thread, start_ns, end_ns) && fxt_quick_reserve(thread, start_ns, words, spot);
}

/* fxt_complete() of that. */
static FXT_EMISSION void fxt_quick_complete(struct fxt_thread *thread, const struct fxt_spot *spot, uint64_t *at,
					    uint64_t end_ns, uint64_t names, unsigned arguments)
{
	uint64_t header = fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(FXT_EVENT_DURATION_COMPLETE) |
			  fxt_event_args(arguments) | names | thread->event_thread;
	size_t words = (size_t)(at + 1 - spot->at);

	*at = end_ns;
	if (spot->commit) {
		fxt_lane_commit_line(spot->lane, spot->at, words, header);
	} else {
		fxt_lane_commit_within(spot->lane, spot->at, spot->room, words, header);
		/* A ring's, that is: nothing else is overwritten. */
		spot->lane->events++;
	}
	fxt_quick_leave(thread, spot);
}

/* -- Others ------------------------------------------------------------------------------------- */

/* Commits an instant event ("Instant event") that has been given room by fxt_reserve(). */
static inline void fxt_instant(struct fxt_thread *thread, uint64_t *at, uint64_t names, unsigned arguments)
{
	fxt_commit(thread, at, fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(FXT_EVENT_INSTANT) |
				       fxt_event_args(arguments) | names);
}

/* The names of calls that a thread remembers as slow: a bit says that the last one of those it stands for was. */
static inline uint64_t fxt_explain_bit(uint64_t names)
{
	return UINT64_C(1) << fxt_get_event_name(names) % FXT_EXPLAIN_BITS;
}

/* When a call that can block starts: start_ns, or a little later. See explain.h. */
static inline uint64_t fxt_explain_start(struct fxt_thread *thread, uint64_t start_ns, uint64_t names)
{
	if (FXT_UNLIKELY((start_ns >= thread->explain_due_ns) | ((thread->explain_slow & fxt_explain_bit(names)) != 0)))
		return fxt_explain_begin(thread, names);
	return start_ns;
}

/* The start of one, in the common case: false when the clock has to be asked, or the call is to be preceded by a reading. */
static FXT_EMISSION bool fxt_quick_start(struct fxt_thread *thread, uint64_t names, uint64_t *start_ns)
{
	if (FXT_UNLIKELY(!fxt_clock_quick(thread, start_ns)))
		return false;
	*start_ns = fxt_clock_step(thread, *start_ns);
	return FXT_LIKELY((*start_ns < thread->explain_due_ns) & ((thread->explain_slow & fxt_explain_bit(names)) == 0));
}

/* -- Arguments: each returns where the next one goes ------------------------------------------- */

static inline uint64_t fxt_arg_header(enum fxt_arg_type type, unsigned words, uint64_t name)
{
	return fxt_arg_type(type) | fxt_arg_words(words) | fxt_arg_name(name);
}

static inline uint64_t *fxt_put_int(uint64_t *at, uint64_t name, int value)
{
	*at = fxt_arg_header(FXT_ARG_INT32, 1, name) | fxt_arg_value32((uint32_t)value);
	return at + 1;
}

/* A trigger may be waiting for failures. */
FXT_COLD void fxt_watch_failure(struct fxt_thread *thread, int error);

/* How a call failed. */
static inline uint64_t *fxt_put_errno(struct fxt_thread *thread, uint64_t *at, int error)
{
	if (FXT_UNLIKELY(fxt_agent.config.triggers.any_errno))
		fxt_watch_failure(thread, error);
	return fxt_put_int(at, FXT_STR_errno_, error);
}

static inline uint64_t *fxt_put_uint(uint64_t *at, uint64_t name, uint64_t value)
{
	if (FXT_LIKELY(value <= UINT32_MAX)) {
		*at = fxt_arg_header(FXT_ARG_UINT32, 1, name) | fxt_arg_value32(value);
		return at + 1;
	}
	at[0] = fxt_arg_header(FXT_ARG_UINT64, 2, name);
	at[1] = value;
	return at + 2;
}

static inline uint64_t *fxt_put_long(uint64_t *at, uint64_t name, int64_t value)
{
	if (FXT_LIKELY(value >= INT32_MIN && value <= INT32_MAX))
		return fxt_put_int(at, name, (int)value);
	at[0] = fxt_arg_header(FXT_ARG_INT64, 2, name);
	at[1] = (uint64_t)value;
	return at + 2;
}

static inline uint64_t *fxt_put_pointer(uint64_t *at, uint64_t name, const void *value)
{
	at[0] = fxt_arg_header(FXT_ARG_POINTER, 2, name);
	at[1] = (uintptr_t)value;
	return at + 2;
}

/* The bytes of a string that go into a record, and the words it may take. NULL is a string too. */
static inline size_t fxt_text_bytes(const char *text)
{
	return text ? strnlen(text, FXT_TEXT_MAX_BYTES) : 0;
}

/* An inline string of `bytes` from fxt_text_bytes(); what is not UTF-8 in it becomes '?'. */
uint64_t *fxt_put_text(uint64_t *at, uint64_t name, const char *text, size_t bytes);

#endif
