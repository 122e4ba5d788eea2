/* Makes the wrappers of calls that read, write, make and close descriptors: unistd.def. What makes or closes
 * descriptors by their number is written by hand. The trace file has a descriptor that the program did not
 * open: the program can neither close nor duplicate it, and if the program puts another one in its place,
 * ours moves. That holds also while io is off.
 */
/* See writer/lane.h and engine.h. */
#define FXT_EMISSION inline __attribute__((always_inline))
#define FXT_QUICK_EVENTS
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/process/descriptor.h"
#include "interpose/engine/interpose.h"
#include "interpose/engine/stderr_text.h"

/* The functions made for these system calls do what the wrappers do around the real function. */
#define FXT_NUMBER_write , WRITE_BY_NUMBER
#define FXT_NUMBER_pwrite64 , WRITE_BY_NUMBER
#define FXT_NUMBER_writev , WRITE_VECTOR_BY_NUMBER
#define FXT_NUMBER_pwritev , WRITE_VECTOR_BY_NUMBER
#define FXT_NUMBER_pwritev2 , WRITE_VECTOR_BY_NUMBER
#define FXT_NUMBER_close , CLOSE_BY_NUMBER
#define FXT_NUMBER_close_range , CLOSE_RANGE_BY_NUMBER
#define FXT_NUMBER_dup , DUP_BY_NUMBER
#define FXT_NUMBER_dup2 , DUP2_BY_NUMBER
#define FXT_NUMBER_dup3 , DUP3_BY_NUMBER
#define WRITE_BY_NUMBER(...) FXT_APPLY(WRITTEN_BY_NUMBER, __VA_ARGS__)
#define WRITTEN_BY_NUMBER(fd, buf, ...) to_stderr_by_number(call_, fd, buf)
#define WRITE_VECTOR_BY_NUMBER(...) FXT_APPLY(VECTOR_WRITTEN_BY_NUMBER, __VA_ARGS__, )
#define VECTOR_WRITTEN_BY_NUMBER(fd, iov, iovcnt, ...) to_stderr_vector_by_number(call_, fd, iov, iovcnt)
#define CLOSE_BY_NUMBER(...) close_by_number(call_, __VA_ARGS__)
#define CLOSE_RANGE_BY_NUMBER(...) close_range_by_number(call_, __VA_ARGS__)
#define DUP_BY_NUMBER(...) dup_by_number(call_, __VA_ARGS__)
#define DUP2_BY_NUMBER(...) dup_to_by_number(call_, FXT_NAMES(io, dup2), __VA_ARGS__)
#define DUP3_BY_NUMBER(...) FXT_APPLY(DUP3_TO_BY_NUMBER, __VA_ARGS__)
#define DUP3_TO_BY_NUMBER(oldfd, newfd, flags) dup_to_by_number(call_, FXT_NAMES(io, dup3), oldfd, newfd)

static ssize_t to_stderr_by_number(struct fxt_by_number *call, int fd, const void *buf);
static ssize_t to_stderr_vector_by_number(struct fxt_by_number *call, int fd, const struct iovec *iov,
					  int iovcnt);
static int close_by_number(struct fxt_by_number *call, int fd);
static int close_range_by_number(struct fxt_by_number *call, unsigned first, unsigned last, int flags);
static int dup_by_number(struct fxt_by_number *call, int oldfd);
static int dup_to_by_number(struct fxt_by_number *call, uint64_t names, int oldfd, int newfd);

/* -- Standard error ------------------------------------------------------------------------------ */

/* The wrapper asks before the call whether the descriptor may be standard error: with any other one it ends
 * with a jump to the real function. */
#define STDERR_BY(symbol, say, ...)									\
	static FXT_COLD ssize_t writing_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))			\
	{												\
		ssize_t result = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));				\
													\
		if (result > 0 && fxt_is_stderr(fd))							\
			say;										\
		return result;										\
	}												\
													\
	static inline ssize_t to_stderr_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))			\
	{												\
		return fxt_may_be_stderr(fd) ? writing_##symbol(FXT_LIST(P_NAME, __VA_ARGS__))		\
					     : real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));		\
	}
#define STDERR_BYTES(type, symbol, ...) STDERR_BY(symbol, fxt_stderr_bytes(buf, (size_t)result), __VA_ARGS__)
#define STDERR_VECTOR(type, symbol, ...) \
	STDERR_BY(symbol, fxt_stderr_vector(iov, iovcnt, (size_t)result), __VA_ARGS__)

#define FXT_TABLE "interpose/tables/unistd.def"
#include "interpose/engine/wrappers.inc"

/* -- Standard error, by number -------------------------------------------------------------------- */

static ssize_t to_stderr_by_number(struct fxt_by_number *call, int fd, const void *buf)
{
	ssize_t result = fxt_by_number_make(call);

	if (result > 0 && fxt_is_stderr(fd))
		fxt_stderr_bytes(buf, (size_t)result);
	return result;
}

static ssize_t to_stderr_vector_by_number(struct fxt_by_number *call, int fd, const struct iovec *iov,
					  int iovcnt)
{
	ssize_t result = fxt_by_number_make(call);

	if (result > 0 && fxt_is_stderr(fd))
		fxt_stderr_vector(iov, iovcnt, (size_t)result);
	return result;
}

/* -- Pipes ------------------------------------------------------------------------------------- */

static inline void record_pipe(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, uint64_t names,
			       const int *pipefd, const int *flags, int result)
{
	uint64_t *at = fxt_room(thread, start_ns, end_ns, 5, fxt_category_of(names));
	unsigned arguments = 1;

	if (!at)
		return;
	if (!result) {
		at = fxt_put_int(at, FXT_STR_fd1, pipefd[0]);
		at = fxt_put_int(at, FXT_STR_fd2, pipefd[1]);
		arguments += 2;
	}
	if (flags) {
		at = fxt_put_int(at, FXT_STR_flags, *flags);
		arguments++;
	}
	at = fxt_put_int(at, FXT_STR_ret, result);
	if (result) {
		at = fxt_put_errno(thread, at, errno);
		arguments++;
	}
	fxt_complete(thread, at, end_ns, names, arguments);
}

static inline int piped(const int *pipefd, int result)
{
	if (!result) {
		fxt_descriptor_came(pipefd[0]);
		fxt_descriptor_came(pipefd[1]);
	}
	return result;
}

static inline void end_pipe(struct fxt_thread *thread, uint64_t start_ns, uint64_t names, const int *pipefd,
			    const int *flags, int result)
{
	uint64_t end_ns = fxt_end(thread, NULL);
	struct fxt_fd_detail detail = {.name = flags ? FXT_STR_flags : 0, .number = flags ? *flags : 0};

	record_pipe(thread, start_ns, end_ns, names, pipefd, flags, result);
	if (result)
		return;
	fxt_fd_opened(thread, pipefd[0], end_ns, names, FXT_STR_life_pipe, detail);
	fxt_fd_opened(thread, pipefd[1], end_ns, names, FXT_STR_life_pipe, detail);
	fxt_endpoint_pipe(thread, pipefd, flags ? *flags : 0);
}

#define PIPE(symbol)										\
	FXT_REAL(int, symbol, (int *pipefd), (pipefd))						\
	FXT_EXPORT int symbol(int pipefd[2]);							\
	FXT_EXPORT int symbol(int pipefd[2])							\
	{											\
		struct fxt_thread *thread = fxt_enter(FXT_CAT_io);				\
		uint64_t start_ns;								\
		int result;									\
												\
		if (!thread)									\
			return piped(pipefd, FXT_OPENING(-1, real_##symbol(pipefd)));		\
		start_ns = fxt_now(thread);							\
		result = piped(pipefd, FXT_OPENING(-1, real_##symbol(pipefd)));			\
		end_pipe(thread, start_ns, FXT_NAMES(io, pipe), pipefd, NULL, result);		\
		return result;									\
	}

PIPE(pipe)
PIPE(__pipe)

FXT_REAL(int, pipe2, (int *pipefd, int flags), (pipefd, flags))

FXT_EXPORT int pipe2(int pipefd[2], int flags)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_io);
	uint64_t start_ns;
	int result;

	if (!thread)
		return piped(pipefd, FXT_OPENING(-1, real_pipe2(pipefd, flags)));
	start_ns = fxt_now(thread);
	result = piped(pipefd, FXT_OPENING(-1, real_pipe2(pipefd, flags)));
	end_pipe(thread, start_ns, FXT_NAMES(io, pipe2), pipefd, &flags, result);
	return result;
}

static void pipe_by_number(struct fxt_by_number *call, uint64_t names, const int *flags)
{
	struct fxt_thread *thread = fxt_enter_first(FXT_CAT_io);
	uint64_t start_ns;

	if (!thread) {
		piped((const int *)call->args[0], (int)fxt_by_number_make(call));
		return;
	}
	start_ns = fxt_now(thread);
	piped((const int *)call->args[0], (int)fxt_by_number_make(call));
	end_pipe(thread, start_ns, names, (const int *)call->args[0], flags, (int)call->result);
}

FXT_BY_HAND_NUMBER(pipe)
{
	pipe_by_number(call, FXT_NAMES(io, pipe), NULL);
}

FXT_BY_HAND_NUMBER(pipe2)
{
	int flags = (int)call->args[1];

	pipe_by_number(call, FXT_NAMES(io, pipe2), &flags);
}

/* -- Descriptors by number ----------------------------------------------------------------------- */

/* Closes `fd` by `call`, with what is done around it, and declares its result as `result`. */
#define FOLLOWED_CLOSE(call)					\
	int result;						\
								\
	fxt_stderr_moves(-1, fd);				\
	FXT_FD_CLOSE(fd, result = call);

#define CLOSE(symbol)										\
	FXT_REAL(int, symbol, (int fd), (fd))							\
	static inline int followed_##symbol(int fd)						\
	{											\
		FOLLOWED_CLOSE(real_##symbol(fd))						\
		return result;									\
	}											\
	FXT_WRAP_AROUND(io, int, symbol, close, followed_##symbol, BLOCKS(fd), INT, (int, fd, INT))

CLOSE(close)
CLOSE(__close)

static int close_by_number(struct fxt_by_number *call, int fd)
{
	FOLLOWED_CLOSE((int)fxt_by_number_make(call))
	return result;
}

FXT_REAL(int, dup, (int oldfd), (oldfd))

static int duplicated(int oldfd, int result)
{
	if (result >= 0) {
		fxt_descriptor_came(result);
		fxt_fd_duplicated(oldfd, result, FXT_NAMES(io, dup));
		fxt_stderr_moves(oldfd, result);
	}
	return result;
}

static inline int followed_dup(int oldfd)
{
	return duplicated(oldfd, FXT_OPENING(-1, real_dup(oldfd)));
}

static int dup_by_number(struct fxt_by_number *call, int oldfd)
{
	return duplicated(oldfd, (int)fxt_by_number_make(call));
}

FXT_WRAP_AROUND(io, int, dup, dup, followed_dup, QUICK, INT, (int, oldfd, INT))

/* Duplicates oldfd to newfd by `call`, and declares its result as `result`; `names` are those of the call's
 * event. If newfd is the number of ours, ours moves out of the way first. */
#define GUARDED_DUP_TO(call, names)								\
	int result;										\
	bool moved;										\
												\
	if (FXT_UNLIKELY(newfd == fxt_agent.statm_fd))						\
		fxt_sample_drop(newfd);						\
	moved = FXT_UNLIKELY(newfd == fxt_agent.buffer.fd) && fxt_descriptor_yield(newfd);	\
	result = call;										\
	if (FXT_UNLIKELY(moved) && result < 0)							\
		fxt_descriptor_clear(newfd);							\
	if (result >= 0) {									\
		fxt_descriptor_came(newfd);							\
		fxt_fd_duplicated(oldfd, newfd, names);						\
		fxt_stderr_moves(oldfd, newfd);							\
	}

#define DUP2(symbol)											\
	FXT_REAL(int, symbol, (int oldfd, int newfd), (oldfd, newfd))					\
	static inline int guarded_##symbol(int oldfd, int newfd)					\
	{												\
		GUARDED_DUP_TO(real_##symbol(oldfd, newfd), FXT_NAMES(io, dup2))			\
		return result;										\
	}												\
	FXT_WRAP_AROUND(io, int, symbol, dup2, guarded_##symbol, BLOCKS(newfd), INT, (int, oldfd, INT),	\
			(int, newfd, INT))

DUP2(dup2)
DUP2(__dup2)

FXT_REAL(int, dup3, (int oldfd, int newfd, int flags), (oldfd, newfd, flags))

static inline int guarded_dup3(int oldfd, int newfd, int flags)
{
	GUARDED_DUP_TO(real_dup3(oldfd, newfd, flags), FXT_NAMES(io, dup3))
	return result;
}

static int dup_to_by_number(struct fxt_by_number *call, uint64_t names, int oldfd, int newfd)
{
	GUARDED_DUP_TO((int)fxt_by_number_make(call), names)
	return result;
}

FXT_WRAP_AROUND(io, int, dup3, dup3, guarded_dup3, BLOCKS(newfd), INT, (int, oldfd, INT),
		(int, newfd, INT), (int, flags, INT))

/* -- Ranges of descriptors ----------------------------------------------------------------------- */

/* Returns the trace's descriptor if it is from `first` to `last`; otherwise -1. The descriptor that counters
 * are read from is closed. */
static inline int ours_within(unsigned first, unsigned last)
{
	int fd = fxt_agent.statm_fd;

	if (fd >= 0 && (unsigned)fd >= first && (unsigned)fd <= last)
		fxt_sample_drop(fd);
	fd = fxt_agent.buffer.fd;
	if (fd < 0 || (unsigned)fd < first || (unsigned)fd > last)
		return -1;
	return fxt_descriptor_is_ours(fd) ? fd : -1;
}

FXT_REAL(int, close_range, (unsigned first, unsigned last, int flags), (first, last, flags))

typedef int close_range_fn(void *how, unsigned first, unsigned last, int flags);

static int by_library(void *unused, unsigned first, unsigned last, int flags)
{
	(void)unused;
	return real_close_range(first, last, flags);
}

static int by_number(void *how, unsigned first, unsigned last, int flags)
{
	struct fxt_by_number *call = how;

	/* An argument that has not changed keeps every bit that the program gave. */
	if ((unsigned)call->args[0] != first)
		call->args[0] = (long)first;
	if ((unsigned)call->args[1] != last)
		call->args[1] = (long)last;
	if ((int)call->args[2] != flags)
		call->args[2] = flags;
	return (int)fxt_by_number_make(call);
}

/* Closes the range without ours: the part below it, and the part above it. */
static int close_range_but_ours(close_range_fn *close_as, void *how, unsigned first, unsigned last, int flags)
{
	int ours, result = 0;

	if (flags & (int)CLOSE_RANGE_UNSHARE)
		fxt_descriptor_part();
	ours = ours_within(first, last);
	if (!(flags & (int)CLOSE_RANGE_CLOEXEC))
		fxt_stderr_closed(first, last);
	/* Ours is closed on exec already. */
	if (ours < 0 || flags & CLOSE_RANGE_CLOEXEC)
		return close_as(how, first, last, flags);
	if (first == last)
		return close_as(how, first, last, flags | (int)CLOSE_RANGE_CLOEXEC);
	if (first < (unsigned)ours)
		result = close_as(how, first, (unsigned)ours - 1, flags);
	if (!result && (unsigned)ours < last)
		result = close_as(how, (unsigned)ours + 1, last, flags);
	return result;
}

static int close_range_as(close_range_fn *close_as, void *how, unsigned first, unsigned last, int flags)
{
	uint64_t mark = fxt_fds_mark();
	int result = close_range_but_ours(close_as, how, first, last, flags);

	if (!result && !(flags & (int)CLOSE_RANGE_CLOEXEC))
		fxt_fds_closed(first, last, mark);
	return result;
}

static int guarded_close_range(unsigned first, unsigned last, int flags)
{
	return close_range_as(by_library, NULL, first, last, flags);
}

static int close_range_by_number(struct fxt_by_number *call, unsigned first, unsigned last, int flags)
{
	return close_range_as(by_number, call, first, last, flags);
}

FXT_WRAP_AROUND(io, int, close_range, close_range, guarded_close_range, BLOCKS(first), INT,
		(unsigned, first, UINT), (unsigned, last, UINT), (int, flags, INT))

FXT_REAL(void, closefrom, (int lowfd), (lowfd))

static void guarded_closefrom(int lowfd)
{
	int error = errno;
	int first = lowfd < 0 ? 0 : lowfd, ours = ours_within((unsigned)first, INT32_MAX), fd;
	uint64_t mark = fxt_fds_mark();

	fxt_stderr_closed((unsigned)first, INT32_MAX);
	/* The system call is made directly, because the C library may lack the function, and because errno
	 * stays as it is. The kernel may lack the call; then each descriptor is closed by itself. */
	if (ours > first && FXT_SYSCALL3(SYS_close_range, first, ours - 1, 0) < 0)
		for (fd = first; fd < ours; fd++)
			real_close(fd);
	errno = error;
	real_closefrom(ours < 0 ? lowfd : ours + 1);
	fxt_fds_closed((unsigned)first, INT32_MAX, mark);
}

FXT_WRAP_AROUND(io, void, closefrom, closefrom, guarded_closefrom, BLOCKS(lowfd), VOID, (int, lowfd, INT))

#define FXT_REALS fxt_reals_unistd
#include "interpose/engine/reals.inc"
