/* The emission path: what a wrapper does with a call that it saw. Inline, and straight: no lock, no atomic
 * read-modify-write, no system call and no allocation until a chunk is full.
 *
 *	thread = fxt_enter(FXT_CAT_io);         NULL: not recorded
 *	start = fxt_now(thread);
 *	... the call ...
 *	end = fxt_now(thread);                  fxt_end() of in_progress.h for a call that was shown as in progress
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

#include "agent/base/agent.h"
#include "clock.h"

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

/* The words of a record beside its names and arguments, in this thread's form. */
static inline size_t fxt_frame_words(const struct fxt_thread *thread)
{
	return FXT_LIKELY(thread->event_thread) ? FXT_FRAME_WORDS - FXT_INLINE_WORDS : FXT_FRAME_WORDS;
}

/* The words of an event that begins at `at`, up to where its names or arguments go. */
static inline uint64_t *fxt_begin_record(struct fxt_thread *thread, uint64_t *at, uint64_t start_ns)
{
	at[1] = start_ns;
	if (FXT_LIKELY(thread->event_thread))
		return at + 2;
	at[2] = thread->pid;
	at[3] = thread->tid;
	return at + 4;
}

/* -- Reserve and commit ------------------------------------------------------------------------- */

/* An emission begins: the level is raised, and the lane it was raised from has room for so many words. Of
 * several records each but the first takes FXT_LANE_SLACK_WORDS more. NULL: dropped, and counted if it is a
 * call of the program; the level is as it was. */
static FXT_EMISSION struct fxt_lane *fxt_open_lane(struct fxt_thread *thread, size_t words, bool is_call)
{
	struct fxt_lane *lane = thread->lane;

	fxt_lane_raise(thread, lane);
	if (FXT_LIKELY(fxt_lane_has(lane, words)))
		return lane;
	return fxt_lane_turn(thread, lane, words, is_call);
}

/* It ends. Its record was that of `events` calls of the program, 1 or 0: a ring that overwrites it has lost
 * as many. */
static FXT_EMISSION void fxt_close_lane(struct fxt_thread *thread, struct fxt_lane *lane, unsigned events)
{
	lane->events += events;
	fxt_lane_lower(thread, lane);
}

/* Room in the current lane for a record of at most `words` beside FXT_FRAME_WORDS. NULL: dropped, and counted
 * if it is a call. */
static FXT_EMISSION uint64_t *fxt_reserve_as(struct fxt_thread *thread, uint64_t start_ns, size_t words, bool is_call)
{
	struct fxt_lane *lane = fxt_open_lane(thread, words + FXT_FRAME_WORDS, is_call);

	if (FXT_UNLIKELY(!lane))
		return NULL;
	return fxt_begin_record(thread, fxt_lane_place(lane, words + fxt_frame_words(thread)), start_ns);
}

static FXT_EMISSION uint64_t *fxt_reserve(struct fxt_thread *thread, uint64_t start_ns, size_t words)
{
	return fxt_reserve_as(thread, start_ns, words, true);
}

/* Reserves for a record that is no call of the program: where there is no room it is missing, and nobody
 * counts it. */
static inline uint64_t *fxt_reserve_extra(struct fxt_thread *thread, uint64_t start_ns, size_t words)
{
	return fxt_reserve_as(thread, start_ns, words, false);
}

/* Commits the record whose words end at `at`; `header` lacks its size and thread. */
static FXT_EMISSION void fxt_commit_as(struct fxt_thread *thread, uint64_t *at, uint64_t header, unsigned events)
{
	struct fxt_lane *lane = thread->lane - 1;

	fxt_lane_commit(lane, lane->at, (size_t)(at - lane->at), header | thread->event_thread);
	fxt_close_lane(thread, lane, events);
}

/* fxt_commit() of a duration-complete event that was slow or may meet a trigger, or that deferred work is due
 * after. */
FXT_COLD void fxt_commit_watched(struct fxt_thread *thread, uint64_t *at, uint64_t header);

/* Commits a call's record, and does what is due after it. */
static FXT_EMISSION void fxt_commit(struct fxt_thread *thread, uint64_t *at, uint64_t header)
{
	if (FXT_UNLIKELY(thread->commit))
		fxt_commit_watched(thread, at, header);
	else
		fxt_commit_as(thread, at, header, 1);
}

/* Commits what is no call of the program: a ring that overwrites it has lost none. */
static inline void fxt_commit_extra(struct fxt_thread *thread, uint64_t *at, uint64_t header)
{
	fxt_commit_as(thread, at, header, 0);
}

/* Whether a call that took so long needs no look. Where short ones do none is usual, nor for threads whose
 * koids are inline. */
static FXT_EMISSION bool fxt_is_usual(const struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns)
{
	return FXT_LIKELY(end_ns - start_ns < thread->usual_ns);
}

/* fxt_room() for a call that is not usual. */
FXT_COLD uint64_t *fxt_room_unusual(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, size_t words);

/* A call that is over is dropped at once, and counted, where there is no room for its record. False, and
 * nothing has changed: there may be some, or the call needs a look. */
FXT_COLD bool fxt_drop(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns);

/* Room for a call's record, unless it was shorter than the threshold. NULL: nothing to write. */
static FXT_EMISSION uint64_t *fxt_room(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, size_t words)
{
	if (!fxt_is_usual(thread, start_ns, end_ns))
		return fxt_room_unusual(thread, start_ns, end_ns, words);
	return fxt_reserve(thread, start_ns, words);
}

/* The header of a duration-complete event ("Duration complete event"). */
static FXT_EMISSION uint64_t fxt_complete_header(uint64_t names, unsigned arguments)
{
	return fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(FXT_EVENT_DURATION_COMPLETE) | fxt_event_args(arguments) | names;
}

/* Commits one whose arguments end at `at`. */
static FXT_EMISSION void fxt_complete(struct fxt_thread *thread, uint64_t *at, uint64_t end_ns, uint64_t names,
				unsigned arguments)
{
	*at++ = end_ns;
	fxt_commit(thread, at, fxt_complete_header(names, arguments));
}

/* -- The same in the common case ---------------------------------------------------------------- */

/* Instances of reserve and commit for calls that are short and many: inlined, with the record's length known
 * where they are compiled. They give up, and nothing has changed, where it is not the common case: a lane
 * without room, or a record that is watched. A thread whose koids are inline has no usual calls, so its
 * records do not come here. */
struct fxt_spot {
	struct fxt_lane *lane;
	uint64_t *at, *arguments;
};

/* Without the event: as it was. */
static FXT_EMISSION void fxt_quick_leave(struct fxt_thread *thread, const struct fxt_spot *spot)
{
	fxt_lane_lower(thread, spot->lane);
}

/* Room for a call's event with at most `words` beside FXT_FRAME_WORDS. False: for fxt_room() then. */
static FXT_EMISSION bool fxt_quick_reserve(struct fxt_thread *thread, uint64_t start_ns, size_t words, struct fxt_spot *spot)
{
	struct fxt_lane *lane = thread->lane;

	if (FXT_UNLIKELY(thread->commit))
		return false;
	spot->lane = lane;
	fxt_lane_raise(thread, lane);
	if (FXT_UNLIKELY(!fxt_lane_has(lane, words + FXT_FRAME_WORDS))) {
		fxt_quick_leave(thread, spot);
		return false;
	}
	spot->at = fxt_lane_place(lane, words + FXT_FRAME_WORDS - FXT_INLINE_WORDS);
	spot->at[1] = start_ns;
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
	*at = end_ns;
	fxt_lane_commit(spot->lane, spot->at, (size_t)(at + 1 - spot->at),
			fxt_complete_header(names, arguments) | thread->event_thread);
	fxt_close_lane(thread, spot->lane, 1);
}

/* -- Others ------------------------------------------------------------------------------------- */

/* Commits an instant event ("Instant event") that has been given room by fxt_reserve(). */
static inline void fxt_instant(struct fxt_thread *thread, uint64_t *at, uint64_t names, unsigned arguments)
{
	fxt_commit(thread, at, fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(FXT_EVENT_INSTANT) |
				       fxt_event_args(arguments) | names);
}

/* The names of calls that a thread remembers as slow: a bit says that the last one of those it stands for
 * was. */
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

/* The start of one, in the common case: false when the clock has to be asked, or the call is to be preceded
 * by a reading. */
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
