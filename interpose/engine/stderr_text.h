/* By these functions wrappers record what the program writes to standard error (agent/emit/program_text.h).
 * They hand the text on when the real call is over and has accepted it, as far as it tells. That does not
 * depend on whether the call's own category is on, so it is done around the real function, and not in the
 * body that records the call. A row says so by its kind of result:
 *
 *	TO_STDERR(how, kind)    a result of `kind`; the wrapper calls to_stderr_SYMBOL(), which STDERR_how()
 *	                        makes from the row
 *
 * The file that includes the table defines STDERR_how(type, symbol, parameters...), often by FXT_TO_STDERR().
 */
#ifndef FXT_STDERR_TEXT_H
#define FXT_STDERR_TEXT_H

#include <stdarg.h>
#include <stdio.h>
#include <sys/uio.h>
#include <wchar.h>

#include "agent/base/printf.h"
#include "interpose.h"

/* Standard error is descriptor 2, whatever file that is, and what dup() and its kind have made of it, as
 * `>&2` does in a shell. The first FXT_STDERR_FDS numbers are followed, in agent/descriptors/fds.h. A
 * duplicate counts only while it leads where 2 does, because not every end of a descriptor is seen. */
enum { FXT_STDERR_FDS = FXT_FDS_PAGE };
extern atomic_bool fxt_stderr_has_others __attribute__((visibility("hidden")));
FXT_COLD bool fxt_is_stderr_now(int fd);

static inline bool fxt_stderr_is_alone(void)
{
	return FXT_LIKELY(!atomic_load_explicit(&fxt_stderr_has_others, memory_order_relaxed));
}

static inline bool fxt_may_be_stderr(int fd)
{
	return (unsigned)fd < FXT_STDERR_FDS &&
	       FXT_UNLIKELY(atomic_load_explicit(&fxt_fd_first[fd].is_stderr, memory_order_relaxed));
}

static inline bool fxt_is_stderr(int fd)
{
	return fxt_may_be_stderr(fd) && (fd == 2 || fxt_is_stderr_now(fd));
}

/* Returns whether the stream is stderr, or writes to a duplicate of its descriptor. */
static inline bool fxt_is_stderr_stream(const FILE *stream)
{
	return FXT_UNLIKELY(stream == stderr) || (!fxt_stderr_is_alone() && fxt_is_stderr(stream->_fileno));
}

/* Notes that descriptor `to` now is what `from` is; from -1 says that it is closed. */
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

#define CALLEE_TO_STDERR(how, kind) , to_stderr_
#define AROUND_TO_STDERR(how, kind) , STDERR_##how
/* All other macros of the kind are those of `kind`. */
#define FAILURE_TO_STDERR(how, kind) FAILURE_##kind
#define RESULT_TO_STDERR(how, kind) RESULT_##kind
#define NO_RESULT_TO_STDERR(how, kind) NO_RESULT_##kind
#define COUNT_TO_STDERR(how, kind) COUNT_##kind
#define TRACED_TO_STDERR(how, kind) TRACED_##kind
#define ENTER_TO_STDERR(how, kind) ENTER_##kind
#define KEEP_TO_STDERR(how, kind) KEEP_##kind
#define LEAVE_TO_STDERR(how, kind) LEAVE_##kind
#define END_TO_STDERR(how, kind) END_##kind
#define ARROW_TO_STDERR(how, kind) ARROW_##kind
#define AFTER_TO_STDERR(how, kind) AFTER_##kind
#define VALUE_TO_STDERR(how, kind) VALUE_##kind

/* Makes to_stderr_SYMBOL(), which calls the real function and then evaluates `say` if the call was accepted
 * and writes to standard error; all three are expressions of the parameters and of `result`. Nobody has
 * looked at the stream if the call was not accepted. */
#define FXT_TO_STDERR(type, symbol, is_stderr, accepted, say, ...)                         \
	static inline type to_stderr_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))              \
	{                                                                               \
		type result = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));             \
											\
		if ((accepted) && (is_stderr))                                          \
			say;                                                            \
		return result;                                                          \
	}

/* Each of these records, if the category is on, what was written to standard error: `count` bytes that a
 * call says it has taken from the program's memory, the first `count` bytes of a vector, a string, a
 * character unless it is EOF, wide characters. */
FXT_COLD void fxt_stderr_bytes(const void *bytes, size_t count);
FXT_COLD void fxt_stderr_vector(const struct iovec *vector, int vectors, size_t count);
FXT_COLD void fxt_stderr_string(const char *text);
FXT_COLD void fxt_stderr_character(int c);
FXT_COLD void fxt_stderr_wide(const wchar_t *text, size_t count);

/* Records what printf() has written there: `count` is what it returned, and `format` has the errno that it
 * found. */
FXT_COLD void fxt_stderr_format(const struct fxt_format *format, va_list list, int count);

/* Records a message to syslog; `names` is as in the header of an event. */
FXT_COLD void fxt_stderr_syslog(uint64_t names, int priority, int error, const char *format, va_list list);

/* Records a line as err.h and error.h make it: `before`, which ends with NULL; the format, unless it is
 * NULL; a colon and `why`, if there is one; and the line's end. */
enum { FXT_STDERR_PIECES = 7 };
struct fxt_stderr_line {
	const char *before[FXT_STDERR_PIECES];
	const char *why;
};
FXT_COLD void fxt_stderr_complaint(const struct fxt_stderr_line *line, int error, const char *format,
				   va_list list);

/* Records pieces of text, up to NULL. */
FXT_COLD void fxt_stderr_pieces(const char *first, ...) __attribute__((sentinel));

#endif
