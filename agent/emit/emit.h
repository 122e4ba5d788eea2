/* The emission path: how a wrapper records a call that it saw. The code is inline and straight: until a chunk
 * is full it takes no lock, does no atomic read-modify-write, makes no system call and allocates nothing. All
 * functions here may be called in any context, also in a signal handler. See docs/emission.md.
 *
 *	thread = fxt_enter(FXT_CAT_io);         NULL: not recorded
 *	start = fxt_now(thread);
 *	... the call ...
 *	end = fxt_now(thread);                  for a call shown in progress: fxt_end() of in_progress.h
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
#include "agent/base/bind.h"
#include "agent/stacks/call_samples.h"
#include "clock.h"
#include "explain.h"
#include "lanes.h"
#include "losses.h"
#include "thread.h"

enum {
	FXT_FRAME_WORDS = 5,            /* header, start, inline process and thread, end */
	FXT_INLINE_WORDS = 2,           /* process and thread: an indexed thread's events lack them */
	FXT_TEXT_MAX_BYTES = 4095,      /* the largest inline string argument: a path at its longest */
};

/* Returns the bits of an event's header for a category and a name, both given as string references. */
static inline uint64_t fxt_names_of(uint64_t category, uint64_t name)
{
	return fxt_event_category(category) | fxt_event_name(name);
}

/* Returns whether a category is on. */
static inline bool fxt_is_on(enum fxt_category category)
{
	return atomic_load_explicit(&fxt_gate.mask, memory_order_relaxed) & category;
}

/* Returns the calling thread's state, or NULL if it cannot have one now. The caller knows that a category is
 * on. */
static inline struct fxt_thread *fxt_enter_on(void)
{
	if (FXT_LIKELY(fxt_self != NULL))
		return fxt_self;
	return fxt_thread_attach();
}

/* Returns the calling thread's state, or NULL if the category is off or the thread cannot have a state
 * now. */
static inline struct fxt_thread *fxt_enter(enum fxt_category category)
{
	if (FXT_LIKELY(fxt_is_on(category)))
		return fxt_enter_on();
	/* The caller calls the real function next. */
	if (FXT_UNLIKELY(!fxt_is_relocated()))
		fxt_bind_early();
	return NULL;
}

/* Returns how many words an event of this thread has beside its names and arguments. */
static inline size_t fxt_frame_words(const struct fxt_thread *thread)
{
	return FXT_LIKELY(thread->event_thread) ? FXT_FRAME_WORDS - FXT_INLINE_WORDS : FXT_FRAME_WORDS;
}

/* Stores the start and, if the thread has no index, the koids of the event that begins at `at`. Returns where
 * its inline names or its arguments go. */
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

/* Begins an emission: returns a lane that has room for `words` words, and that is the emission's own. If the
 * emission writes several records, each after the first needs FXT_LANE_SLACK_WORDS more in `words`. Returns
 * NULL if there is no room: then the emission is over, and the record is counted as lost if `is_call`, that
 * is, if it is a call of the program. */
static FXT_EMISSION struct fxt_lane *fxt_open_lane(struct fxt_thread *thread, size_t words, bool is_call)
{
	struct fxt_lane *lane = fxt_lane_raise(thread, is_call ? FXT_LANE_CALL : FXT_LANE_EXTRA);

	if (FXT_LIKELY(fxt_lane_has(lane, words)) || fxt_lane_turn(thread, lane, words, is_call))
		return lane;
	return NULL;
}

/* Ends the emission in `lane`. `events` is 1 if its record was a call of the program and 0 otherwise: when
 * the ring overwrites the chunk, that many calls are counted as lost. */
static FXT_EMISSION void fxt_close_lane(struct fxt_lane *lane, unsigned events)
{
	lane->events += events;
	fxt_lane_lower(lane);
}

/* Begins the emission of one event, with room for at most `words` words beside FXT_FRAME_WORDS, and stores
 * its start. Returns where its inline names or its arguments go. Returns NULL if there is no room: the event
 * is dropped, and counted if `is_call`. */
static FXT_EMISSION uint64_t *fxt_reserve_as(struct fxt_thread *thread, uint64_t start_ns, size_t words,
					     bool is_call)
{
	struct fxt_lane *lane = fxt_open_lane(thread, words + FXT_FRAME_WORDS, is_call);

	if (FXT_UNLIKELY(!lane))
		return NULL;
	return fxt_begin_record(thread, fxt_lane_place(lane, words + fxt_frame_words(thread)), start_ns);
}

/* Reserves for a call of the program: see fxt_reserve_as(). */
static FXT_EMISSION uint64_t *fxt_reserve(struct fxt_thread *thread, uint64_t start_ns, size_t words)
{
	return fxt_reserve_as(thread, start_ns, words, true);
}

/* Reserves for an event that is no call of the program: if there is no room, the event is missing and is not
 * counted. */
static inline uint64_t *fxt_reserve_extra(struct fxt_thread *thread, uint64_t start_ns, size_t words)
{
	return fxt_reserve_as(thread, start_ns, words, false);
}

/* Commits the event whose words end at `at`, and ends its emission. `header` is the event's header without
 * size and thread; `events` is as for fxt_close_lane(). */
static FXT_EMISSION void fxt_commit_as(struct fxt_thread *thread, uint64_t *at, uint64_t header,
				       unsigned events)
{
	struct fxt_lane *lane = fxt_lane_of(thread, at);

	if (FXT_UNLIKELY(!lane)) {
		fxt_thread_overtaken(thread, events);
		return;
	}
	fxt_lane_commit(lane, lane->at, (size_t)(at - lane->at), header | thread->event_thread);
	fxt_close_lane(lane, events);
}

/* Does what fxt_commit() does, for a thread whose next record is watched: it was slow, may meet a trigger, or
 * is followed by deferred work. Only duration-complete events are looked at. An event that was slow gets its
 * stack and an explanation, for which fxt_room_kept() and those that call it have reserved. */
FXT_COLD void fxt_commit_watched(struct fxt_thread *thread, uint64_t *at, uint64_t header);

/* Commits the event of a call of the program, and does what is due after the call. */
static FXT_EMISSION void fxt_commit(struct fxt_thread *thread, uint64_t *at, uint64_t header)
{
	if (FXT_UNLIKELY(thread->commit))
		fxt_commit_watched(thread, at, header);
	else
		fxt_commit_as(thread, at, header, 1);
}

/* Commits an event that is no call of the program: when the ring overwrites it, no call counts as lost. */
static inline void fxt_commit_extra(struct fxt_thread *thread, uint64_t *at, uint64_t header)
{
	fxt_commit_as(thread, at, header, 0);
}

/* Returns whether the call is usual, that is, too short to be explained or to meet a trigger. Where there is
 * a threshold, or a trigger for short calls, no call is usual; nor is any of a thread whose koids are
 * inline. */
static FXT_EMISSION bool fxt_is_usual(const struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns)
{
	return FXT_LIKELY(end_ns - start_ns < thread->usual_ns);
}

/* Counts a call that is over, and returns whether it is drawn as a sample. Calls of all categories count;
 * fxt_room_unusual() finds out what a drawn one is. One that is counted twice is none the less drawn once. */
static FXT_EMISSION bool fxt_is_drawn(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns)
{
	thread->until_sample -= (int64_t)(end_ns - start_ns) + FXT_CALL_SAMPLE_NS;
	return FXT_UNLIKELY(thread->until_sample < 0);
}

/* Counts a record that a threshold or a filter leaves out. The counter is in the storage, so the lane is
 * raised: see fxt_is_interrupted(). */
static inline void fxt_thread_filtered(struct fxt_thread *thread)
{
	struct fxt_lane *lane = fxt_lane_raise(thread, FXT_LANE_CALL);

	fxt_count_one(thread->counts.filtered);
	fxt_lane_lower(lane);
}

/* Returns the bit of the category in an event's names. */
static inline enum fxt_category_bit fxt_category_of(uint64_t names)
{
	return (enum fxt_category_bit)(fxt_get_event_category(names) - FXT_STR_CATEGORIES);
}

/* Does what fxt_room() does, for a call that is not usual or is drawn. */
FXT_COLD uint64_t *fxt_room_unusual(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns,
				    size_t words, enum fxt_category_bit category);

/* Begins the emission of a call that is recorded however short it was, and whoever made it: see fxt_room().
 * There is room for what fxt_commit_watched() adds. */
FXT_COLD uint64_t *fxt_room_kept(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, size_t words);

/* Slices of a thread nest. Calls nest by themselves, unless a signal handler switches between coroutines in
 * the middle of them: then one begins within another and ends after it. Returns whether the slice of a call
 * from start_ns to end_ns nests with those of the thread's latest calls, and notes it for those that end
 * later. True where the program has no signal handler, or the thread has made no call of FXT_SWITCH_NS or
 * longer on another stack than its own. Each thread that runs coroutines has a list of its latest calls,
 * which is a ring. */
bool fxt_call_nests(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns);

/* Returns whether the slice of something that cannot have called anything nests with those of the thread's
 * latest calls and has none of them within it, and notes it as fxt_call_nests() does. */
bool fxt_call_is_alone(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns);

/* Begins the emission of a call that was left without an end: see fxt_room(). Who made it is not known any
 * more. */
FXT_COLD uint64_t *fxt_room_left(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, size_t words,
				 enum fxt_category_bit category);

/* Ends a call, whose entry is `open`, at the thread's last time, if it is known to find no room. Its event is
 * not written but counted. The entry goes first, as it does when the event is written. Returns false, with
 * nothing changed, if there may be room, or if calls were left within this one.
 *
 * The kernel may make the processor forget its guesses of branches. Then each branch that is taken behind a
 * system call is dear, so the usual way takes hardly any. */
bool fxt_drop(struct fxt_thread *thread, struct fxt_in_progress *open);

/* Begins the emission of a call that is over, as fxt_reserve() does. Returns NULL if nothing is to be
 * written: the call was shorter than the threshold of its category, other code than FXT_CALLERS says made it,
 * or there is no room. It is counted then. */
static FXT_EMISSION uint64_t *fxt_room(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns,
				       size_t words, enum fxt_category_bit category)
{
	if (fxt_is_drawn(thread, start_ns, end_ns) || !fxt_is_usual(thread, start_ns, end_ns))
		return fxt_room_unusual(thread, start_ns, end_ns, words, category);
	return fxt_reserve(thread, start_ns, words);
}

/* Returns the header of a duration-complete event, without size and thread ("Duration complete event" in the
 * specification). */
static FXT_EMISSION uint64_t fxt_complete_header(uint64_t names, unsigned arguments)
{
	return fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(FXT_EVENT_DURATION_COMPLETE) |
	       fxt_event_args(arguments) | names;
}

/* Commits a duration-complete event whose arguments end at `at`; fxt_room() has given it room. */
static FXT_EMISSION void fxt_complete(struct fxt_thread *thread, uint64_t *at, uint64_t end_ns,
				      uint64_t names, unsigned arguments)
{
	*at++ = end_ns;
	fxt_commit(thread, at, fxt_complete_header(names, arguments));
}

/* -- Quick ways: reserve and commit in the common case ------------------------------------------ */

/* The functions below are instances of reserve and commit for calls that are short and many. They are inlined
 * where the length of the record is known at compile time. They give up, with nothing changed, where the case
 * is not the common one: the lane has no room, or the record is watched. A thread whose koids are inline has
 * no usual calls, so its records do not come here.
 *
 * A spot is the place of such a record. */
struct fxt_spot {
	struct fxt_lane *lane;
	uint64_t *at, *arguments;
};

/* Ends a quick emission without writing its event. */
static FXT_EMISSION void fxt_quick_leave(const struct fxt_spot *spot)
{
	fxt_lane_lower(spot->lane);
}

/* Begins the emission of a call's event with at most `words` words beside FXT_FRAME_WORDS, and says in *spot
 * where it goes. Returns false if this is not the common case: then fxt_room() has to be called. */
static FXT_EMISSION bool fxt_quick_reserve(struct fxt_thread *thread, uint64_t start_ns, size_t words,
					   struct fxt_spot *spot)
{
	struct fxt_lane *lane;

	if (FXT_UNLIKELY(thread->commit))
		return false;
	spot->lane = lane = fxt_lane_raise(thread, FXT_LANE_CALL);
	if (FXT_UNLIKELY(!fxt_lane_has(lane, words + FXT_FRAME_WORDS))) {
		fxt_quick_leave(spot);
		return false;
	}
	spot->at = fxt_lane_place(lane, words + FXT_FRAME_WORDS - FXT_INLINE_WORDS);
	spot->at[1] = start_ns;
	spot->arguments = spot->at + 2;
	return true;
}

/* Does what fxt_quick_reserve() does, for a call that is over; returns false also if the call is not
 * usual, or is drawn. It is counted last, because fxt_room() counts it where this does not. */
static FXT_EMISSION bool fxt_quick_room(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns,
					size_t words, struct fxt_spot *spot)
{
	if (!fxt_is_usual(thread, start_ns, end_ns) || !fxt_quick_reserve(thread, start_ns, words, spot))
		return false;
	if (!fxt_is_drawn(thread, start_ns, end_ns))
		return true;
	fxt_quick_leave(spot);
	return false;
}

/* Commits a duration-complete event whose place is `spot` and whose arguments end at `at`. */
static FXT_EMISSION void fxt_quick_complete(struct fxt_thread *thread, const struct fxt_spot *spot,
					    uint64_t *at, uint64_t end_ns, uint64_t names, unsigned arguments)
{
	*at = end_ns;
	fxt_lane_commit(spot->lane, spot->at, (size_t)(at + 1 - spot->at),
			fxt_complete_header(names, arguments) | thread->event_thread);
	fxt_close_lane(spot->lane, 1);
}

/* -- Instants, and the starts of calls that can block -------------------------------------------- */

/* Commits an instant event ("Instant event" in the specification) for which fxt_reserve() has given room. */
static inline void fxt_instant(struct fxt_thread *thread, uint64_t *at, uint64_t names, unsigned arguments)
{
	fxt_commit(thread, at, fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(FXT_EVENT_INSTANT) |
				       fxt_event_args(arguments) | names);
}

/* Returns the bit of thread->explain_slow that stands for a call's name. Several names share a bit. It is set
 * if the last call of one of these names was slow. */
static inline uint64_t fxt_explain_bit(uint64_t names)
{
	return UINT64_C(1) << fxt_get_event_name(names) % FXT_EXPLAIN_BITS;
}

/* Returns the start of a call that can block: start_ns, or a later time if a reading was taken first. See
 * explain.h. */
static inline uint64_t fxt_explain_start(struct fxt_thread *thread, uint64_t start_ns, uint64_t names)
{
	if (FXT_UNLIKELY((start_ns >= thread->explain_due_ns) |
			 ((thread->explain_slow & fxt_explain_bit(names)) != 0)))
		return fxt_explain_begin(thread, names);
	return start_ns;
}

/* Reads the start of a call that can block, in the common case. Returns false if the kernel has to be asked
 * for the time, or if a reading has to precede the call. */
static FXT_EMISSION bool fxt_quick_start(struct fxt_thread *thread, uint64_t names, uint64_t *start_ns)
{
	if (FXT_UNLIKELY(!fxt_clock_quick(thread, start_ns)))
		return false;
	*start_ns = fxt_clock_step(thread, *start_ns);
	return FXT_LIKELY((*start_ns < thread->explain_due_ns) &
			  ((thread->explain_slow & fxt_explain_bit(names)) == 0));
}

/* -- Arguments ---------------------------------------------------------------------------------- */

/* Each fxt_put_...() stores an argument at `at` and returns where the next one goes. */

static inline uint64_t fxt_arg_header(enum fxt_arg_type type, unsigned words, uint64_t name)
{
	return fxt_arg_type(type) | fxt_arg_words(words) | fxt_arg_name(name);
}

static inline uint64_t *fxt_put_int(uint64_t *at, uint64_t name, int value)
{
	*at = fxt_arg_header(FXT_ARG_INT32, 1, name) | fxt_arg_value32((uint32_t)value);
	return at + 1;
}

/* Called when recording begins again, and in the child of a fork: nothing has failed yet. */
void fxt_failures_again(void);

/* Notes that the call that is being recorded failed with `error`, for the triggers that wait for failures. */
FXT_COLD void fxt_watch_failure(struct fxt_thread *thread, int error);

/* A bit for each pair of a call site and an error, by its hash: set if a call there has failed so. */
enum { FXT_FAILURES = 8192 };
extern _Atomic uint8_t fxt_failures[FXT_FAILURES / 8] __attribute__((visibility("hidden")));

/* Does what is due when a call site fails for the first time with this error: the trace gets the call's stack
 * behind its event. A failure that shares its bit with an earlier one is passed over. */
FXT_COLD void fxt_watch_first_failure(struct fxt_thread *thread, int error, uint32_t bit);

/* Stores with what error a call failed. Inlined, because the address that it returns to is the call site of
 * the wrapper. */
static inline __attribute__((always_inline)) uint64_t *fxt_put_errno(struct fxt_thread *thread, uint64_t *at,
								      int error)
{
	uint64_t site = (uintptr_t)__builtin_return_address(0) ^ (uint64_t)(unsigned)error << 48;
	uint32_t bit = (uint32_t)(site * UINT64_C(0x9e3779b97f4a7c15) >> 51);

	uint8_t known = atomic_load_explicit(&fxt_failures[bit / 8], memory_order_relaxed);

	if (FXT_UNLIKELY(!(known >> bit % 8 & 1)))
		fxt_watch_first_failure(thread, error, bit);
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

/* Returns how many bytes of a string go into a record. NULL counts as an empty string. */
static inline size_t fxt_text_bytes(const char *text)
{
	return text ? strnlen(text, FXT_TEXT_MAX_BYTES) : 0;
}

/* Stores an inline string of `bytes` bytes, as counted by fxt_text_bytes(). Bytes that are not UTF-8 become
 * '?'. */
uint64_t *fxt_put_text(uint64_t *at, uint64_t name, const char *text, size_t bytes);

#endif
