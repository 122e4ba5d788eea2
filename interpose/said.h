/* What wrappers do to have it recorded what the program writes to standard error (agent/said.h): they hand it on once the real call is over
 * and has accepted it, as far as it tells. Not only while the call's own category is on, so it is done around the real function and not in
 * what is recorded of it. A row says so by its kind of result:
 *
 *	SAID(how, kind)         a result of `kind`; the wrapper calls said_SYMBOL(), which SAYING_how() makes from the row
 *
 * The file that includes the table defines SAYING_how(type, symbol, parameters...), often by FXT_SAYING().
 */
#ifndef FXT_INTERPOSE_SAID_H
#define FXT_INTERPOSE_SAID_H

#include <stdarg.h>
#include <stdio.h>
#include <sys/uio.h>
#include <wchar.h>

#include "agent/printf.h"
#include "interpose.h"

/* Descriptor 2, whatever file that is, and those that dup() and its kind have made of it, as `>&2` does in a shell: so many of the first
 * are followed, in agent/fds.h. The others count only while they lead where 2 does, as not every end of a descriptor is seen. */
enum { FXT_STDERR_FDS = FXT_FDS_PAGE };
extern atomic_bool fxt_stderr_has_others __attribute__((visibility("hidden")));
FXT_COLD bool fxt_is_stderr_now(int fd);

static inline bool fxt_stderr_is_alone(void)
{
	return FXT_LIKELY(!atomic_load_explicit(&fxt_stderr_has_others, memory_order_relaxed));
}

static inline bool fxt_may_be_stderr(int fd)
{
	return (unsigned)fd < FXT_STDERR_FDS && FXT_UNLIKELY(atomic_load_explicit(&fxt_fd_first[fd].is_stderr, memory_order_relaxed));
}

static inline bool fxt_is_stderr(int fd)
{
	return fxt_may_be_stderr(fd) && (fd == 2 || fxt_is_stderr_now(fd));
}

/* The stream of that name, and one that writes to such a descriptor. */
static inline bool fxt_is_stderr_stream(const FILE *stream)
{
	return FXT_UNLIKELY(stream == stderr) || (!fxt_stderr_is_alone() && fxt_is_stderr(stream->_fileno));
}

/* `to` is what `from` is, or -1: nothing any more. */
FXT_COLD void fxt_stderr_moved(int from, int to);

static inline void fxt_stderr_moves(int from, int to)
{
	if (fxt_may_be_stderr(from) || (!fxt_stderr_is_alone() && fxt_may_be_stderr(to)))
		fxt_stderr_moved(from, to);
}

static inline void fxt_stderr_closed(unsigned first, unsigned last)
{
	for (; !fxt_stderr_is_alone() && first <= last && first < FXT_STDERR_FDS; first++)
		fxt_stderr_moves(-1, (int)first);
}

#define CALLEE_SAID(how, kind) , said_
#define AROUND_SAID(how, kind) , SAYING_##how
/* All else is as `kind` has it. */
#define FAILURE_SAID(how, kind) FAILURE_##kind
#define RESULT_SAID(how, kind) RESULT_##kind
#define NO_RESULT_SAID(how, kind) NO_RESULT_##kind
#define COUNT_SAID(how, kind) COUNT_##kind
#define TRACED_SAID(how, kind) TRACED_##kind
#define ENTER_SAID(how, kind) ENTER_##kind
#define KEEP_SAID(how, kind) KEEP_##kind
#define LEAVE_SAID(how, kind) LEAVE_##kind
#define END_SAID(how, kind) END_##kind
#define ARROW_SAID(how, kind) ARROW_##kind
#define AFTER_SAID(how, kind) AFTER_##kind
#define VALUE_SAID(how, kind) VALUE_##kind

/* said_SYMBOL(): says what the call has `accepted`, in terms of its parameters and `result`, if it writes there. */
#define FXT_SAYING(type, symbol, is_stderr, accepted, say, ...)                         \
	static inline type said_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))              \
	{                                                                               \
		type result = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));             \
											\
		if ((is_stderr) && (accepted))                                          \
			say;                                                            \
		return result;                                                          \
	}

/* On standard error, if the category is on: `count` bytes that a call has taken from the program's memory, or says so; such as lie in a
 * vector; a string; a character, unless it is EOF; wide ones. */
FXT_COLD void fxt_said_bytes(const void *bytes, size_t count);
FXT_COLD void fxt_said_vector(const struct iovec *vector, int vectors, size_t count);
FXT_COLD void fxt_said_string(const char *text);
FXT_COLD void fxt_said_character(int c);
FXT_COLD void fxt_said_wide(const wchar_t *text, size_t count);

/* What printf has written there, `count` as it returned it, and `format` with the errno it found. */
FXT_COLD void fxt_said_format(const struct fxt_format *format, va_list list, int count);

/* A message to syslog; `names` as in the header of an event. */
FXT_COLD void fxt_said_syslog(uint64_t names, int priority, int error, const char *format, va_list list);

/* A line as err.h and error.h make it: `before`, which ends with NULL; the format, unless it is NULL; a colon and `why`, if there is
 * one; and the line's end. */
enum { FXT_SAID_PIECES = 7 };
struct fxt_said_line {
	const char *before[FXT_SAID_PIECES];
	const char *why;
};
FXT_COLD void fxt_said_complaint(const struct fxt_said_line *line, int error, const char *format, va_list list);

/* As many pieces of text as there are up to NULL. */
FXT_COLD void fxt_said_pieces(const char *first, ...) __attribute__((sentinel));

#endif
