/* The engine makes a wrapper of a row of a table. This file has the wrappers and the bodies of usual rows.
 * Other files make functions, too: real.h makes the pointers to the real functions, syscall.h the functions
 * of calls by number, forms.h the wrappers of rows that wait for others, variadic.h variadic functions, and
 * stderr_text.h, results.h and fd_results.h what stands around the real function. All other macros say what
 * the words of a row mean (parameters.h, results.h and fd_results.h, blocking.h) or are tools of the
 * preprocessor (each.h). `make expand CALL=fsync` prints what becomes of a row.
 *
 * An example. The row of unistd.def
 *
 *	SYSTEM_CALL(io, int, fsync, BLOCKS(fd), INT, (int, fd, INT))
 *
 * says: fsync() is of the category io and returns an int. It may wait, and shows `fd` while it does. Its
 * result is recorded as an INT: -1 is a failure that errno explains. It has one parameter, `int fd`,
 * recorded as an INT. unistd.c includes the table by way of wrappers.inc, where a SYSTEM_CALL is FXT_WRAP()
 * and FXT_NUMBERED(). FXT_WRAP() makes three functions.
 *
 * 1. FXT_REAL_FIRST() makes the pointer to the real function. Until it is found the pointer leads to
 *    first_fsync(), which finds all of them and starts the agent:
 *
 *	static int (*real_fsync)(int fd) = first_fsync;
 *
 * 2. FXT_EXPORTED() makes the function that the program calls. While the category is off it only hands the
 *    call on:
 *
 *	int fsync(int fd)
 *	{
 *		if (!fxt_is_on(FXT_CAT_io)) {
 *			if (!FXT_IS_RELOCATED(fsync))                   // real.h
 *				return first_fsync(fxt_descriptor_given(fd));
 *			return real_fsync(fxt_descriptor_given(fd));    // P_GIVE: parameters.h and given.h
 *		}
 *		return traced_fsync(fd);
 *	}
 *
 * 3. FXT_BODY() makes what is done while the category is on:
 *
 *	static int traced_fsync(int fd)
 *	{
 *		const uint64_t names_ = ...;                            // FXT_NAMES()
 *		struct fxt_thread *thread_ = fxt_enter_on();            // NULL: it may record nothing now
 *		uint64_t start_ns_, end_ns_;
 *		struct fxt_in_progress *open_;
 *		int failure_;
 *
 *		if (!thread_)
 *			return real_fsync(fxt_descriptor_given(fd));
 *		                                                        // FIRST_INT: nothing
 *		start_ns_ = fxt_now(thread_);
 *		open_ = fxt_in_progress_push(thread_, ..., FXT_STR_fd, fd);    // BLOCKS(fd)
 *		                                                        // ENTER_INT: nothing
 *		int result_ = real_fsync(fxt_descriptor_given(fd));
 *		                                                        // LEAVE_INT: nothing
 *		end_ns_ = fxt_end(thread_, open_);                      // END_INT: as usual
 *		failure_ = result_ == -1 ? errno : 0;                   // FAILURE_INT
 *		                                                        // MEASURE_INT: nothing
 *		...                                                     // FXT_RECORD(): see there
 *		                                                        // AFTER_INT: nothing
 *		return result_;
 *	}
 *
 *    FXT_RECORD() writes the event, if there is room and the call is long enough to be recorded. (In a file
 *    with FXT_QUICK_EVENTS a shorter way stands in front of this one, for events of the usual form.)
 *
 *	at_ = fxt_room(thread_, start_ns_, end_ns_, 3 + 1,              // words of the result, and WORDS_INT
 *		       fxt_category_of(names_));
 *	if (at_) {
 *		at_ = fxt_put_int(at_, FXT_STR_fd, fd);                 // PUT_INT
 *		at_ = fxt_put_int(at_, FXT_STR_ret, result_);           // RESULT_INT
 *		arguments_++;
 *		if (failure_) {
 *			at_ = fxt_put_errno(thread_, at_, failure_);
 *			arguments_++;
 *		}
 *		fxt_complete(thread_, at_, end_ns_, names_, arguments_);
 *	}
 *
 * FXT_NUMBERED() of syscall.h makes the same body once more, around a call that is made as
 * syscall(SYS_fsync, fd).
 *
 * read() differs by its result, READ_INTO(fd, buf, count): its hooks ENTER_, LEAVE_, END_ and ARROW_ draw
 * the arrow from the write whose bytes it reads, and AFTER_ counts the bytes. In a file with
 * FXT_QUICK_EVENTS its TRACED_ hook puts a shorter body in front of this one.
 *
 * An ALIAS is the same with the name of another row in its event. Rows of lock.def, sync.def, child.def and
 * signal_delivery.def say how the call waits for others; the middle of their bodies is written in the files
 * of those families, and FXT_FORM_BODY() stands around it (forms.h).
 *
 * No macro leaves a block or a function that another one has begun: `return` and `break` stand only where
 * the whole function or loop does.
 */
#ifndef FXT_ENGINE_H
#define FXT_ENGINE_H

#include <stdbool.h>

#include "agent/emit/emit.h"
#include "agent/emit/in_progress.h"
#include "calls.h"
#include "each.h"
#include "real.h"

/* -- The functions that are made ---------------------------------------------------------------- */

/* Makes the functions of a row. */
#define FXT_WRAP(category, type, symbol, event, blocks, result_kind, ...)			\
	FXT_REAL_FIRST(category, type, symbol, (FXT_LIST(P_DECLARE, __VA_ARGS__)),		\
		       (FXT_LIST(P_NAME, __VA_ARGS__)))						\
	FXT_SECOND(AROUND_##result_kind, FXT_NOTHING, )(type, symbol, __VA_ARGS__)		\
	FXT_WRAP_AROUND(category, type, symbol, event, FXT_CALLEE(symbol, result_kind), blocks,	\
			result_kind, __VA_ARGS__)

#define FXT_WRAP_CALL(category, type, symbol, blocks, result, ...) \
	FXT_WRAP(category, type, symbol, symbol, blocks, result, __VA_ARGS__)

/* The function that a wrapper calls: the real one, or the one that the kind of result puts around it. */
#define FXT_CALLEE(symbol, result_kind) FXT_PASTE(FXT_SECOND(CALLEE_##result_kind, real_, ), symbol)

/* Makes the functions around `callee`, which calls the real one as it sees fit. A call is recorded in a
 * function of its own: if the exported function did it, a switched-off call would pay for the frame and the
 * registers too. */
#define FXT_WRAP_AROUND(category, type, symbol, event, callee, blocks, result_kind, ...)	\
	FXT_SECOND(TRACED_##result_kind, FXT_TRACED_WHOLE, )					\
	(category, type, symbol, event, callee, blocks, result_kind, __VA_ARGS__)		\
	FXT_EXPORTED(category, type, symbol, callee, __VA_ARGS__)

#define FXT_TRACED_WHOLE(category, type, symbol, event, callee, blocks, result_kind, ...)	\
	static __attribute__((noinline)) type traced_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))	\
	FXT_BODY(fxt_enter_on(), category, type, event, callee, blocks, result_kind, __VA_ARGS__)

/* Makes traced_SYMBOL() for a function that is written by hand, as variadic ones are: that function collects
 * its arguments and calls traced_SYMBOL() with them. */
#define FXT_TRACED(category, type, symbol, event, callee, blocks, result_kind, ...)			\
	static inline __attribute__((always_inline)) type traced_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__)) \
	FXT_BODY(fxt_enter_first(FXT_CAT_##category), category, type, event, callee, blocks,		\
		 result_kind, __VA_ARGS__)

#define FXT_EXPORTED(category, type, symbol, callee, ...)		\
	FXT_EXPORT type symbol(FXT_LIST(P_DECLARE, __VA_ARGS__));	\
	FXT_EXPORT type symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))	\
	{								\
		if (!fxt_is_on(FXT_CAT_##category)) {			\
			if (FXT_UNLIKELY(!FXT_IS_RELOCATED(symbol)))	\
				return first_##symbol(FXT_LIST(P_GIVE, __VA_ARGS__)); \
			return callee(FXT_LIST(P_GIVE, __VA_ARGS__));	\
		}							\
		return traced_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));	\
	}

/* Makes the function of a call that does not return, and so stays in progress until the thread or the process
 * ends. It does `last` before it calls the real function. */
#define FXT_STAYS(category, symbol, event, last, type, name)			\
	FXT_REAL(void, symbol, (type name), (name))				\
	FXT_EXPORT void symbol(type name);					\
	FXT_EXPORT void symbol(type name)					\
	{									\
		struct fxt_thread *thread_ = fxt_enter(FXT_CAT_##category);	\
										\
		if (thread_) {							\
			const uint64_t names_ = FXT_NAMES(category, event);	\
			uint64_t start_ns_ = fxt_now(thread_);			\
										\
			BLOCKS(name);						\
		}								\
		last;								\
		real_##symbol(name);						\
		__builtin_unreachable();					\
	}

/* Does what fxt_enter() does, for a wrapper that calls another real function than its own. If tracing begins
 * by this call, it begins here: otherwise the other function's first_SYMBOL() would begin it, and record the
 * call under the other name. */
static inline struct fxt_thread *fxt_enter_first(enum fxt_category category)
{
	struct fxt_thread *thread = fxt_enter(category);

	if (FXT_LIKELY(thread != NULL) || fxt_interpose_is_found())
		return thread;
	fxt_interpose_start();
	return fxt_enter(category);
}

/* -- Their bodies -------------------------------------------------------------------------------- */

#define FXT_BODY(enter, category, type, event, callee, blocks, result_kind, ...)			\
	{												\
		const uint64_t names_ = FXT_NAMES(category, event);					\
		struct fxt_thread *thread_ = enter;							\
		uint64_t start_ns_, end_ns_;								\
		struct fxt_in_progress *open_;								\
		int failure_;										\
													\
		if (!thread_)										\
			return callee(FXT_LIST(P_GIVE, __VA_ARGS__));					\
		FXT_EACH(P_BEFORE, __VA_ARGS__)								\
		start_ns_ = fxt_now(thread_);								\
		open_ = blocks;										\
		FXT_SECOND(ENTER_##result_kind, , )							\
		FXT_SECOND(KEEP_##result_kind, type result_ =, ) callee(FXT_LIST(P_GIVE, __VA_ARGS__));	\
		FXT_SECOND(LEAVE_##result_kind, , )							\
		end_ns_ = FXT_SECOND(END_##result_kind, fxt_end(thread_, open_), );			\
		failure_ = FAILURE_##result_kind;							\
		FXT_EACH(P_MEASURE, __VA_ARGS__)							\
		FXT_RECORD(result_kind, FXT_SECOND(ARROW_##result_kind, , ), __VA_ARGS__);		\
		FXT_SECOND(AFTER_##result_kind, , )							\
		return FXT_SECOND(VALUE_##result_kind, result_, );					\
	}

/* In a file with FXT_QUICK_EVENTS a read or write is recorded by a shorter function, without
 * arrows and standard error, unless the descriptor is known to be the end of a stream or standard error. A
 * system call waits for the stores that come after the clock is read, and work that is done as it returns
 * costs next to nothing; so this function does all it can before it reads the clock, both times. If it finds
 * something unusual, it takes back what it did and calls special_SYMBOL(). */
#define FXT_TRACED_APART(category, type, symbol, event, callee, blocks, result_kind, ...)		\
	static __attribute__((noinline)) type special_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))	\
	FXT_BODY(fxt_enter_on(), category, type, event, callee, blocks, result_kind, __VA_ARGS__)	\
	static __attribute__((noinline)) type traced_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))		\
	{												\
		const uint64_t names_ = FXT_NAMES(category, event);					\
		struct fxt_thread *thread_ = fxt_self;							\
		uint64_t start_ns_, end_ns_;								\
		struct fxt_in_progress *open_;								\
		int failure_;										\
		type result_;										\
													\
		if (fxt_fd_is_special(fd) || FXT_UNLIKELY(!thread_))					\
			return special_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));				\
		open_ = thread_->open;									\
		if (FXT_UNLIKELY(!fxt_in_progress_take(thread_, open_,					\
						       (uintptr_t)__builtin_frame_address(0),		\
						       FXT_IN_PROGRESS_ARG_HEADER(fd),			\
						       FXT_IN_PROGRESS_ARG(fd))))			\
			return special_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));				\
		if (FXT_UNLIKELY(!fxt_quick_start(thread_, names_, &start_ns_))) {			\
			fxt_in_progress_put_back(thread_, open_);					\
			return special_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));				\
		}											\
		fxt_in_progress_show(thread_, open_, start_ns_, names_);				\
		result_ = real_##symbol(FXT_LIST(P_GIVE, __VA_ARGS__));					\
		{											\
			enum { MOST_WORDS_ = FXT_RESULT_WORDS FXT_EACH(P_MOST_WORDS, __VA_ARGS__) };	\
			unsigned arguments_ = 0 FXT_EACH(P_COUNT, __VA_ARGS__);				\
			struct fxt_spot spot_;								\
			uint64_t *at_;									\
													\
			if (FXT_LIKELY(result_ >= 0 && RESULT_FITS FXT_EACH(P_FITS, __VA_ARGS__) &&	\
				       thread_->open == open_ + 1) &&					\
			    fxt_quick_reserve(thread_, start_ns_, MOST_WORDS_, &spot_)) {		\
				/* The usual call: its event is written before its end is read. */	\
				at_ = spot_.arguments;							\
				FXT_EACH(P_PUT, __VA_ARGS__)						\
				RESULT_LONG								\
				COUNT_##result_kind							\
				end_ns_ = fxt_now(thread_);						\
				if (FXT_LIKELY(fxt_is_usual(thread_, start_ns_, end_ns_)) &&		\
				    !fxt_is_drawn(thread_, start_ns_, end_ns_)) {			\
					fxt_in_progress_empty_with(thread_, open_,			\
								   fxt_filler(FXT_SLOT_WORDS));		\
					fxt_quick_complete(thread_, &spot_, at_, end_ns_, names_,	\
							   arguments_);					\
					return result_;							\
				}									\
				fxt_quick_leave(&spot_);					\
				fxt_in_progress_end_slow(thread_, open_, end_ns_);			\
			} else if (FXT_LIKELY(!fxt_self_ending) &&					\
				   FXT_LIKELY(fxt_drop(thread_, open_))) {				\
				COUNT_##result_kind							\
				return result_;								\
			} else {									\
				end_ns_ = fxt_end(thread_, open_);					\
				COUNT_##result_kind							\
			}										\
		}											\
		failure_ = FAILURE_LONG;								\
		FXT_RECORD(result_kind, , __VA_ARGS__);							\
		return result_;										\
	}

/* The body around `form`, which makes the call, sets result_ and end_ns_, and records the call. It may use
 * after_ns_ as it likes. */
#define FXT_FORM_BODY(enter, category, type, event, callee, form, result_kind, ...)	\
	{										\
		const uint64_t names_ = FXT_NAMES(category, event);			\
		struct fxt_thread *thread_ = enter;					\
		__attribute__((unused)) uint64_t after_ns_;				\
		uint64_t start_ns_, end_ns_;						\
		type result_;								\
											\
		if (!thread_)								\
			return callee(FXT_LIST(P_GIVE, __VA_ARGS__));			\
		FXT_EACH(P_BEFORE, __VA_ARGS__)						\
		start_ns_ = fxt_now(thread_);						\
		form									\
		FXT_SECOND(AFTER_##result_kind, , )					\
		return result_;								\
	}

/* The category and name of a call, as in its event's header. */
#define FXT_NAMES(category, event) \
	fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_##category, FXT_STR_CALLS + FXT_CALL_##event)

/* -- The event ----------------------------------------------------------------------------------- */

/* Records a call: writes its event, and does `after` behind it. It stands where thread_, names_, start_ns_,
 * end_ns_, failure_ and result_ are in scope.
 *
 * Files whose calls are short and many define FXT_QUICK_EVENTS before they include anything. Most of their
 * events are of one form: the call has not failed, and each number takes one word. That form is written out
 * with its length known, by fxt_quick_room() and fxt_quick_complete(); every other event is written as in
 * other files. quick.h says which values take one word.
 */
#ifdef FXT_QUICK_EVENTS
#define FXT_RECORD(result_kind, after, ...)							\
	do {											\
		enum { MOST_WORDS_ = FXT_RESULT_WORDS FXT_EACH(P_MOST_WORDS, __VA_ARGS__) };	\
		unsigned arguments_ = 0 FXT_EACH(P_COUNT, __VA_ARGS__);				\
		struct fxt_spot spot_;								\
		uint64_t *at_;									\
												\
		if (FXT_LIKELY(!failure_ && FXT_SECOND(NO_RESULT_##result_kind, RESULT_FITS, )	\
			       FXT_EACH(P_FITS, __VA_ARGS__)) &&				\
		    fxt_quick_room(thread_, start_ns_, end_ns_, MOST_WORDS_, &spot_)) {		\
			at_ = spot_.arguments;							\
			FXT_EACH(P_PUT, __VA_ARGS__)						\
			RESULT_##result_kind							\
			fxt_quick_complete(thread_, &spot_, at_, end_ns_, names_, arguments_);	\
			after									\
		} else {									\
			FXT_RECORD_ANY(result_kind, after, __VA_ARGS__)				\
		}										\
	} while (0)
#else
#define FXT_RECORD(result_kind, after, ...)				\
	do {								\
		unsigned arguments_ = 0 FXT_EACH(P_COUNT, __VA_ARGS__);	\
		uint64_t *at_;						\
									\
		FXT_RECORD_ANY(result_kind, after, __VA_ARGS__)		\
	} while (0)
#endif

#define FXT_RECORD_ANY(result_kind, after, ...)								\
	at_ = fxt_room(thread_, start_ns_, end_ns_, FXT_RESULT_WORDS FXT_EACH(P_WORDS, __VA_ARGS__),	\
		       fxt_category_of(names_));							\
	if (at_) {											\
		FXT_EACH(P_PUT, __VA_ARGS__)								\
		RESULT_##result_kind									\
		if (FXT_UNLIKELY(failure_)) {								\
			at_ = fxt_put_errno(thread_, at_, failure_);					\
			arguments_++;									\
		}											\
		fxt_complete(thread_, at_, end_ns_, names_, arguments_);				\
		after											\
	}

#endif
