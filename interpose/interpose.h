/* How an interposed call is declared, and what becomes of the declaration.
 *
 * The tables are interpose/NAME.def. A line reads like the prototype:
 *
 *	CALL(io, ssize_t, read, BLOCKS(fd), LONG, (int, fd, INT), (void *, buf, SKIP), (size_t, count, UINT))
 *	ALIAS(io, ssize_t, __read_chk, read, BLOCKS(fd), LONG, ...)
 *	BY_HAND(io, open)       BY_HAND_ALIAS(io, open64, open)
 *	SYSTEM_CALL(io, int, rmdir, BLOCKS(pathname), INT, (const char *, pathname, TEXT))
 *	BY_NUMBER(io, ssize_t, pread64, pread, BLOCKS(fd), READ(fd), ...)
 *
 * category, type returned, function, whether it can block, what its result is, parameters: type, name as in the
 * manual page, how it is recorded. An ALIAS appears in the trace under the plain name given after its own. BY_HAND lines
 * declare what is written out in NAME.c: variadic functions, those that do not return, the allocator.
 *
 * What is made by way of syscall() is recorded as well: by_number.h. A SYSTEM_CALL is a CALL, and the system call of that name has the
 * same parameters in the same order, perhaps with more behind them. BY_NUMBER is a system call that appears under the name of a
 * function with other parameters, given after its own, and BY_NUMBER_ALONE one that the C library has no function for.
 * BY_HAND_NUMBER(number) is one whose fxt_numbered_NUMBER() is written out, and EVENT(category, name) a name that only such have.
 *
 * Every table is included several times: for the call numbers (calls.h), their names (start.c), the wrappers and
 * real pointers (NAME.c, through this header), and the list of exported symbols (tests/list_calls.c).
 *
 * How a parameter is recorded:
 *	INT     int                             UINT    size_t, unsigned, mode_t, flags
 *	LONG    off_t, ssize_t                  PTR     a pointer's value
 *	TEXT    a C string, such as a path      SKIP    not at all
 *	LATER   a C string that the call may not have looked at though it found nothing wrong with it: another one failed before
 *	TIME    struct timespec, as nanoseconds         NONE    no parameters: (void, , NONE)
 *	ABSENT  not there, of a system call: 0
 *	TIMEVAL struct timeval, as nanoseconds          ADDR    a socket address: address.h
 *	MADE    a pointer to a number that the call puts there, unless it returns anything but 0
 *	USED NEW OLD WAITED     a pointer to an object that has a name; OPENS OPENS_FD OPENS_IT: object.h
 * What the result is:
 *	INT     an int; -1 is failure, with errno       PLAIN_INT       an int; never failure
 *	LONG    ssize_t, off_t; the same                PLAIN_UINT      size_t; never failure
 *	READ(fd)        LONG, bytes that were read through fd   READ_INTO(fd, buf, count)       as many as that at most, to buf
 *	WRITTEN(fd)     bytes that were written                 WRITTEN_FROM(fd, buf)           from buf
 *	MOVED(from, to) both
 *	UNSEEN_LONG(fd), UNSEEN_INT(fd) LONG and INT, of what moves bytes through fd and does not say how many
 *	FD(what, of)    INT, a new descriptor                   STREAM(what, of) PTR, a FILE of one: agent/fds.h
 *	PTR     a pointer; NULL is failure, with errno  PLAIN_PTR       a pointer; NULL says nothing of errno
 *	ERROR   an error number, 0 is success           VOID
 *	CLOSED  INT, of what closes a descriptor
 * What a new descriptor is of: PATH(x), a parameter that is TEXT; NUMBER(x), one that is a number; PEER(x), an address: address.h; NOTHING.
 */
#ifndef FXT_INTERPOSE_H
#define FXT_INTERPOSE_H

#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "agent/descriptors/fds.h"
#include "agent/descriptors/transfer.h"
#include "agent/emit/emit.h"
#include "agent/emit/in_progress.h"
#include "calls.h"
#include "event.h"
#include "fd_results.h"
#include "given.h"
#include "readable.h"

#define FXT_EXPORT __attribute__((visibility("default")))

/* -- Finding the real functions ---------------------------------------------------------------- */

/* One function and where its address is kept. Until it is known the pointer leads to a function that finds them all. */
struct fxt_real {
	const char *name;
	const char *version;            /* NULL: the default one */
	void **pointer;
};

/* Functions that are kept for old programs alone have no default version. */
#if defined(__x86_64__)
#define FXT_BASE_VERSION "GLIBC_2.2.5"
#else
#define FXT_BASE_VERSION "GLIBC_2.17"
#endif
#define FXT_OLD_cfree , FXT_BASE_VERSION
#define FXT_OLD_llseek , FXT_BASE_VERSION
#define FXT_OLD_pthread_yield , FXT_BASE_VERSION
#define FXT_OLD_pthread_mutex_consistent_np , "GLIBC_2.4"
#define FXT_OLD___pthread_once , FXT_BASE_VERSION
#define FXT_OLD___res_nquery , FXT_BASE_VERSION
#define FXT_OLD___res_nquerydomain , FXT_BASE_VERSION
#define FXT_OLD___res_nsearch , FXT_BASE_VERSION
#define FXT_OLD___res_nsend , FXT_BASE_VERSION
#define FXT_OLD___res_query , FXT_BASE_VERSION
#define FXT_OLD___res_querydomain , FXT_BASE_VERSION
#define FXT_OLD___res_search , FXT_BASE_VERSION
#define FXT_OLD___res_send , FXT_BASE_VERSION
#define FXT_OLD___pthread_mutex_init , FXT_BASE_VERSION
#define FXT_OLD___pthread_mutex_destroy , FXT_BASE_VERSION
#define FXT_OLD___pthread_mutex_lock , FXT_BASE_VERSION
#define FXT_OLD___pthread_mutex_trylock , FXT_BASE_VERSION
#define FXT_OLD___pthread_mutex_unlock , FXT_BASE_VERSION
#define FXT_OLD___pthread_rwlock_init , FXT_BASE_VERSION
#define FXT_OLD___pthread_rwlock_destroy , FXT_BASE_VERSION
#define FXT_OLD___pthread_rwlock_rdlock , FXT_BASE_VERSION
#define FXT_OLD___pthread_rwlock_tryrdlock , FXT_BASE_VERSION
#define FXT_OLD___pthread_rwlock_trywrlock , FXT_BASE_VERSION
#define FXT_OLD___pthread_rwlock_unlock , FXT_BASE_VERSION
#define FXT_OLD___pthread_rwlock_wrlock , FXT_BASE_VERSION
#define FXT_VERSION_OF(symbol) FXT_SECOND(FXT_OLD_##symbol, NULL, )

/* Finds every real function, and starts the agent if the process is far enough for it. Any context in which the program
 * may call the C library, also before constructors; the second time it does nothing. */
void fxt_interpose_start(void);

/* Finds the function of this pointer alone: one that is called within the search, by a handler that interrupts it, or that this C
 * library does not have. */
FXT_COLD void fxt_interpose_find(void **pointer);

/* Whether the search is over. */
extern atomic_bool fxt_interpose_found __attribute__((visibility("hidden")));
static inline bool fxt_interpose_is_found(void)
{
	return FXT_LIKELY(atomic_load_explicit(&fxt_interpose_found, memory_order_relaxed));
}

/* -- For each element -------------------------------------------------------------------------- */

#define FXT_EACH_1(m, x) m x
#define FXT_EACH_2(m, x, ...) m x FXT_EACH_1(m, __VA_ARGS__)
#define FXT_EACH_3(m, x, ...) m x FXT_EACH_2(m, __VA_ARGS__)
#define FXT_EACH_4(m, x, ...) m x FXT_EACH_3(m, __VA_ARGS__)
#define FXT_EACH_5(m, x, ...) m x FXT_EACH_4(m, __VA_ARGS__)
#define FXT_EACH_6(m, x, ...) m x FXT_EACH_5(m, __VA_ARGS__)
#define FXT_EACH_7(m, x, ...) m x FXT_EACH_6(m, __VA_ARGS__)
#define FXT_EACH_8(m, x, ...) m x FXT_EACH_7(m, __VA_ARGS__)
#define FXT_COMMA_1(m, x) m x
#define FXT_COMMA_2(m, x, ...) m x, FXT_COMMA_1(m, __VA_ARGS__)
#define FXT_COMMA_3(m, x, ...) m x, FXT_COMMA_2(m, __VA_ARGS__)
#define FXT_COMMA_4(m, x, ...) m x, FXT_COMMA_3(m, __VA_ARGS__)
#define FXT_COMMA_5(m, x, ...) m x, FXT_COMMA_4(m, __VA_ARGS__)
#define FXT_COMMA_6(m, x, ...) m x, FXT_COMMA_5(m, __VA_ARGS__)
#define FXT_COMMA_7(m, x, ...) m x, FXT_COMMA_6(m, __VA_ARGS__)
#define FXT_COMMA_8(m, x, ...) m x, FXT_COMMA_7(m, __VA_ARGS__)
#define FXT_COUNT_(a, b, c, d, e, f, g, h, n, ...) n
#define FXT_COUNT(...) FXT_COUNT_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define FXT_PASTE_(a, b) a##b
#define FXT_PASTE(a, b) FXT_PASTE_(a, b)
#define FXT_NOTHING(...)
#define FXT_SECOND_(a, b, ...) b
#define FXT_SECOND(...) FXT_SECOND_(__VA_ARGS__)
#define FXT_EACH(m, ...) FXT_PASTE(FXT_EACH_, FXT_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define FXT_LIST(m, ...) FXT_PASTE(FXT_COMMA_, FXT_COUNT(__VA_ARGS__))(m, __VA_ARGS__)

/* -- Parameters -------------------------------------------------------------------------------- */

#define P_DECLARE(type, name, kind) type name
#define P_NAME(type, name, kind) name
#define P_COUNT(type, name, kind) +COUNT_##kind
#define P_WORDS(type, name, kind) +WORDS_##kind(name)
#define P_BEFORE(type, name, kind) FXT_SECOND(FIRST_##kind, FXT_NOTHING, )(name)
#define P_MEASURE(type, name, kind) MEASURE_##kind(name)
#define P_PUT(type, name, kind) PUT_##kind(name)

#define COUNT_INT 1
#define COUNT_UINT 1
#define COUNT_LONG 1
#define COUNT_PTR 1
#define COUNT_TEXT 1
#define COUNT_LATER 1
#define COUNT_TIME 1
#define COUNT_TIMEVAL 1
#define COUNT_MADE 0
#define COUNT_SKIP 0
#define COUNT_NONE 0

#define WORDS_INT(name) 1
#define WORDS_UINT(name) 2
#define WORDS_LONG(name) 2
#define WORDS_PTR(name) 2
#define WORDS_TEXT(name) (2 + fxt_words_of(name##_bytes))
#define WORDS_LATER(name) WORDS_TEXT(name)
#define WORDS_TIME(name) 2
#define WORDS_TIMEVAL(name) 2
#define WORDS_MADE(name) 2
#define WORDS_SKIP(name) 0
#define WORDS_NONE(name) 0

/* Before the call, of kinds that have a FIRST_: what the call may overwrite, as nanosleep(&time, &time) does. */
#define FIRST_TIME , BEFORE_TIME
#define FIRST_TIMEVAL , BEFORE_TIMEVAL
#define BEFORE_TIME(name) int64_t name##_ns = fxt_time_ns(thread_, name);
#define BEFORE_TIMEVAL(name) int64_t name##_ns = fxt_timeval_ns(thread_, name);

/* After the call. Where it failed nobody may have looked at the memory before us; ENOENT says that somebody has, if there is one
 * string. The others are LATER. */
#define MEASURE_INT(name)
#define MEASURE_UINT(name)
#define MEASURE_LONG(name)
#define MEASURE_PTR(name)
#define MEASURE_TEXT(name)                                                                              \
	size_t name##_bytes = FXT_UNLIKELY(failure_) && failure_ != ENOENT                              \
				      ? fxt_text_bytes_checked(thread_, name)                           \
				      : fxt_text_bytes(name);
#define MEASURE_LATER(name) size_t name##_bytes = fxt_text_bytes_checked(thread_, name);
#define MEASURE_TIME(name)
#define MEASURE_TIMEVAL(name)
#define MEASURE_MADE(name)
#define MEASURE_SKIP(name)
#define MEASURE_NONE(name)

#define PUT_INT(name) at_ = fxt_put_int(at_, FXT_STR_##name, (int)(name));
#define PUT_UINT(name) at_ = fxt_put_uint(at_, FXT_STR_##name, (uint64_t)(name));
#define PUT_LONG(name) at_ = fxt_put_long(at_, FXT_STR_##name, (int64_t)(name));
#define PUT_PTR(name) at_ = fxt_put_pointer(at_, FXT_STR_##name, (const void *)(name));
#define PUT_TEXT(name) at_ = fxt_put_text(at_, FXT_STR_##name, name, name##_bytes);
#define PUT_LATER(name) PUT_TEXT(name)
#define PUT_TIME(name) at_ = fxt_put_long(at_, FXT_STR_##name, name##_ns);
#define PUT_TIMEVAL(name) PUT_TIME(name)
#define PUT_MADE(name)                                                          \
	if (!result_ && (name)) {                                               \
		at_ = fxt_put_uint(at_, FXT_STR_##name, (uint64_t)*(name));     \
		arguments_++;                                                   \
	}
#define PUT_SKIP(name)
#define PUT_NONE(name)

/* fxt_text_bytes() of what may not be a string, nor mapped: 0 then. */
size_t fxt_text_bytes_checked(const struct fxt_thread *thread, const char *text);

/* -- Results ----------------------------------------------------------------------------------- */

#define KEEP_INT(type) type result_ =
#define KEEP_LONG(type) type result_ =
#define KEEP_PTR(type) type result_ =
#define KEEP_ERROR(type) type result_ =
#define KEEP_PLAIN_INT(type) type result_ =
#define KEEP_PLAIN_UINT(type) type result_ =
#define KEEP_PLAIN_PTR(type) type result_ =
#define KEEP_VOID(type)

#define GIVE_INT return result_
#define GIVE_LONG return result_
#define GIVE_PTR return result_
#define GIVE_ERROR return result_
#define GIVE_PLAIN_INT return result_
#define GIVE_PLAIN_UINT return result_
#define GIVE_PLAIN_PTR return result_
#define GIVE_VOID return

/* The error number of a call that failed, otherwise 0. */
#define FAILURE_INT (FXT_UNLIKELY(result_ == -1) ? errno : 0)
#define FAILURE_LONG (FXT_UNLIKELY(result_ == -1) ? errno : 0)
#define FAILURE_PTR (FXT_UNLIKELY(!result_) ? errno : 0)
#define FAILURE_ERROR result_
#define FAILURE_PLAIN_INT 0
#define FAILURE_PLAIN_UINT 0
#define FAILURE_PLAIN_PTR 0
#define FAILURE_VOID 0

enum { FXT_RESULT_WORDS = 3 };

#define RESULT_INT RESULT_AS_(fxt_put_int(at_, FXT_STR_ret, (int)result_))
#define RESULT_LONG RESULT_AS_(fxt_put_long(at_, FXT_STR_ret, (int64_t)result_))
#define RESULT_PTR RESULT_AS_(fxt_put_pointer(at_, FXT_STR_ret, (const void *)result_))
#define RESULT_ERROR
#define RESULT_PLAIN_INT RESULT_AS_(fxt_put_int(at_, FXT_STR_ret, (int)result_))
#define RESULT_PLAIN_UINT RESULT_AS_(fxt_put_uint(at_, FXT_STR_ret, (uint64_t)result_))
#define RESULT_PLAIN_PTR RESULT_AS_(fxt_put_pointer(at_, FXT_STR_ret, (const void *)result_))
#define RESULT_VOID
#define RESULT_AS_(put)         \
	at_ = (put);             \
	arguments_++;

/* -- Calls in progress ------------------------------------------------------------------------- */

/* QUICK calls do not block and have no slot. BLOCKS(x) shows parameter x while it waits. */
#define QUICK NULL
#define BLOCKS(name) (FXT_FILE_MOVES(name), SHOWS(name))
/* The same where no bytes are moved, or the call says itself which. */
#define SHOWS(name)                                                                                             \
	(start_ns_ = fxt_explain_start(thread_, start_ns_, names_),                                             \
	 fxt_open_push(thread_, (uintptr_t)__builtin_frame_address(0), 0, 0, start_ns_, names_,         \
		      FXT_OPEN_ARG_HEADER(name), FXT_OPEN_ARG(name)))
/* BLOCKS_FOR(x) shows parameter x, a TIME, by its value. */
#define BLOCKS_FOR(name)                                                                                        \
	(start_ns_ = fxt_explain_start(thread_, start_ns_, names_),                                             \
	 fxt_open_push(thread_, (uintptr_t)__builtin_frame_address(0), 0, 0, start_ns_, names_,         \
		      fxt_arg_header(FXT_ARG_INT64, 2, FXT_STR_##name), (uint64_t)name##_ns))
#define FXT_OPEN_ARG_HEADER(name) \
	fxt_arg_header(FXT_IS_INTEGER(name) ? FXT_ARG_INT64 : FXT_ARG_POINTER, 2, FXT_STR_##name)
#define FXT_OPEN_ARG(name) ((uint64_t)(uintptr_t)(name))
/* What the C library moves for one of its streams is not seen. */
#define FXT_FILE_MOVES(x) \
	_Generic((x), struct _IO_FILE *: fxt_file_moves, default: fxt_nothing_moves)((void *)(uintptr_t)(x))
static inline void fxt_nothing_moves(const void *unused)
{
	(void)unused;
}
#define FXT_IS_INTEGER(x) \
	_Generic((x), int: 1, unsigned: 1, long: 1, unsigned long: 1, default: 0)

/* -- Wrappers ---------------------------------------------------------------------------------- */

/* The pointer to the real function, which leads to one that finds it first. `params` is a parenthesised parameter list, `args`
 * the same names. */
#define FXT_REAL(type, symbol, params, args)            \
	static type first_##symbol params;              \
	static type(*real_##symbol) params = first_##symbol; \
	static FXT_COLD type first_##symbol params      \
	{                                               \
		fxt_interpose_start();                  \
		if (real_##symbol == first_##symbol)    \
			fxt_interpose_find((void **)&real_##symbol); \
		return real_##symbol args;              \
	}

/* The same for a wrapper that nobody but the program calls on this pointer's way: a library's constructor may be there before ours, and the
 * call by which tracing begins is recorded like those after it. */
#define FXT_REAL_FIRST(category, type, symbol, params, args)                    \
	static type traced_##symbol params;                                     \
	static type first_##symbol params;                                      \
	static type(*real_##symbol) params = first_##symbol;                    \
	static FXT_COLD type first_##symbol params                              \
	{                                                                       \
		bool was_on = fxt_is_on(FXT_CAT_##category);                    \
										\
		fxt_interpose_start();                                          \
		if (real_##symbol == first_##symbol)                            \
			fxt_interpose_find((void **)&real_##symbol);            \
		if (!was_on && fxt_is_on(FXT_CAT_##category))                   \
			return traced_##symbol args;                            \
		return real_##symbol args;                                      \
	}
#define FXT_WRAP(category, type, symbol, event, blocks, result_kind, ...)                                       \
	FXT_REAL_FIRST(category, type, symbol, (FXT_LIST(P_DECLARE, __VA_ARGS__)), (FXT_LIST(P_NAME, __VA_ARGS__))) \
	FXT_SECOND(AROUND_##result_kind, FXT_NOTHING, )(type, symbol, __VA_ARGS__)                              \
	FXT_WRAP_AROUND(category, type, symbol, event, FXT_CALLEE(symbol, result_kind), blocks, result_kind, __VA_ARGS__)

/* The function that a wrapper calls: the real one, or what said.h or the result has around it. */
#define FXT_CALLEE(symbol, result_kind) \
	FXT_SECOND(FXT_SAID_##symbol, FXT_PASTE(FXT_SECOND(CALLEE_##result_kind, real_, ), symbol), )

/* The same around `callee`, which calls the real function as it sees fit. What is recorded is a function of its own: with
 * its frame and registers in one function a switched-off call would pay for them too. */
#define FXT_WRAP_AROUND(category, type, symbol, event, callee, blocks, result_kind, ...)                         \
	FXT_SECOND(TRACED_##result_kind, FXT_TRACED_WHOLE, )                                                    \
	(category, type, symbol, event, callee, blocks, result_kind, __VA_ARGS__)                               \
	FXT_EXPORT type symbol(FXT_LIST(P_DECLARE, __VA_ARGS__));                                               \
	FXT_EXPORT type symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))                                                \
	{                                                                                                       \
		if (!fxt_is_on(FXT_CAT_##category))                                                             \
			return callee(FXT_LIST(P_GIVE, __VA_ARGS__));                                           \
		return traced_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));                                          \
	}

#define FXT_TRACED_WHOLE(category, type, symbol, event, callee, blocks, result_kind, ...)                        \
	static __attribute__((noinline)) type traced_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))                 \
	FXT_BODY(fxt_enter_on(), category, type, event, callee, blocks, result_kind, __VA_ARGS__)

/* fxt_enter() of a wrapper that calls another function than its own: that one would take the call by which tracing begins for one of it. */
static inline struct fxt_thread *fxt_enter_first(enum fxt_category category)
{
	struct fxt_thread *thread = fxt_enter(category);

	if (FXT_LIKELY(thread != NULL) || fxt_interpose_is_found())
		return thread;
	fxt_interpose_start();
	return fxt_enter(category);
}

/* traced_SYMBOL, for a variadic function to call with what it has collected. */
#define FXT_TRACED(category, type, symbol, event, callee, blocks, result_kind, ...)                              \
	static inline __attribute__((always_inline)) type traced_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))     \
	FXT_BODY(fxt_enter_first(FXT_CAT_##category), category, type, event, callee, blocks, result_kind, __VA_ARGS__)

#define FXT_BODY(enter, category, type, event, callee, blocks, result_kind, ...)                                        \
	{                                                                                                       \
		const uint64_t names_ = FXT_NAMES(category, event);                                              \
		struct fxt_thread *thread_ = enter;                                                              \
		uint64_t start_ns_, end_ns_;                                                                     \
		struct fxt_open *open_;                                                                     \
		int failure_;                                                                                    \
                                                                                                                \
		if (!thread_)                                                                                    \
			return callee(FXT_LIST(P_GIVE, __VA_ARGS__));                                    \
		FXT_EACH(P_BEFORE, __VA_ARGS__)                                                                 \
		start_ns_ = fxt_now(thread_);                                                                     \
		open_ = blocks;                                                                             \
		FXT_SECOND(ENTER_##result_kind, , )                                                      \
		KEEP_##result_kind(type) callee(FXT_LIST(P_GIVE, __VA_ARGS__));                          \
		FXT_SECOND(LEAVE_##result_kind, , )                                                      \
		end_ns_ = FXT_SECOND(END_##result_kind, fxt_end(thread_, open_), );                           \
		failure_ = FAILURE_##result_kind;                                                                \
		FXT_EACH(P_MEASURE, __VA_ARGS__)                                                                \
		FXT_RECORD(result_kind, FXT_SECOND(ARROW_##result_kind, , ), __VA_ARGS__);                       \
		GIVE_##result_kind;                                                                             \
	}

/* Category and name of a call, as in its event's header. */
#define FXT_NAMES(category, event) \
	fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_##category, FXT_STR_CALLS + FXT_CALL_##event)

#define FXT_WRAP_CALL(category, type, symbol, blocks, result, ...) \
	FXT_WRAP(category, type, symbol, symbol, blocks, result, __VA_ARGS__)

#include "by_number.h"

#endif
