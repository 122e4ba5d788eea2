/* Makes the wrappers of formatted output: stdio_print.def. The variadic functions are written by hand. */
/* Keeps headers from giving bodies to functions that are defined here. */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif

#include <stdio.h>
#include <wchar.h>

#include "interpose/engine/stderr_text.h"
#include "interpose/engine/variadic.h"

/* PRINTED: an INT, bytes that were written to a descriptor; if the call failed, it is not known how many
 * were. */
#define FAILURE_PRINTED(fd) FAILURE_INT
#define RESULT_PRINTED(fd) RESULT_INT
#define ENTER_PRINTED(fd) , struct fxt_writing writing_; fxt_writes_pieces(thread_, fd, &writing_);
#define LEAVE_PRINTED(fd)                                                       \
	, if (FXT_UNLIKELY(result_ < 0 && writing_.transfer.stream))            \
		fxt_endpoint_unseen(fd);                                        \
	fxt_wrote(thread_, &writing_, result_, NULL);

/* Makes to_stderr_SYMBOL(). The format may have %m, which stands for the errno that the real function
 * found. */
#define STDERR_BY(symbol, is_stderr, member, ...)							\
	static int to_stderr_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))					\
	{												\
		struct fxt_format what = {.member = format, .error = errno};				\
		va_list again;										\
		int result;										\
													\
		/* Without a format nobody looks at the list. */					\
		if (!format || !(is_stderr))								\
			return real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));				\
		va_copy(again, list);									\
		result = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));					\
		fxt_stderr_format(&what, again, result);						\
		va_end(again);										\
		return result;										\
	}
#define STDERR_FORMAT(type, symbol, ...) STDERR_BY(symbol, fxt_is_stderr_stream(stream), narrow, __VA_ARGS__)
#define STDERR_FORMAT_OUT(type, symbol, ...) \
	STDERR_BY(symbol, fxt_is_stderr_stream(stdout), narrow, __VA_ARGS__)
#define STDERR_FORMAT_FD(type, symbol, ...) STDERR_BY(symbol, fxt_is_stderr(fd), narrow, __VA_ARGS__)
#define STDERR_WIDE(type, symbol, ...) STDERR_BY(symbol, fxt_is_stderr_stream(stream), wide, __VA_ARGS__)
#define STDERR_WIDE_OUT(type, symbol, ...) STDERR_BY(symbol, fxt_is_stderr_stream(stdout), wide, __VA_ARGS__)

/* REGISTERS: an INT, of a call that adds something of the program's own to the formats. From there on a
 * format may have anything in it, and what it calls must not be called twice. */
#define FAILURE_REGISTERS FAILURE_INT
#define RESULT_REGISTERS RESULT_INT
#define CALLEE_REGISTERS , known_
#define AROUND_REGISTERS , KNOWN
#define KNOWN(type, symbol, ...)                                                                        \
	static int known_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))                                     \
	{                                                                                               \
		int result = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));                              \
													\
		fxt_format_registered();                                                                \
		return result;                                                                          \
	}

#define FXT_TABLE "interpose/tables/stdio_print.def"
#include "interpose/engine/wrappers.inc"

#define PRINT(symbol, event, v_symbol, how, blocks, ...)	\
	FXT_VARIADIC(int, symbol, event, v_symbol, blocks, TO_STDERR(how, INT), __VA_ARGS__)
#define PRINT_TO(symbol, v_symbol, ...)								\
	FXT_VARIADIC(int, symbol, dprintf, v_symbol, BLOCKS(fd),				\
		     TO_STDERR(FORMAT_FD, PRINTED(fd)), __VA_ARGS__)

PRINT(printf, printf, vprintf, FORMAT_OUT, BLOCKS(stdout), (const char *, format, SKIP))
PRINT(fprintf, fprintf, vfprintf, FORMAT, BLOCKS(stream), (FILE *, stream, PTR), (const char *, format, SKIP))
PRINT_TO(dprintf, vdprintf, (int, fd, INT), (const char *, format, SKIP))
PRINT(wprintf, wprintf, vwprintf, WIDE_OUT, BLOCKS(stdout), (const wchar_t *, format, SKIP))
PRINT(fwprintf, fwprintf, vfwprintf, WIDE, BLOCKS(stream), (FILE *, stream, PTR),
      (const wchar_t *, format, SKIP))
PRINT(_IO_printf, printf, vprintf, FORMAT_OUT, BLOCKS(stdout), (const char *, format, SKIP))
PRINT(_IO_fprintf, fprintf, vfprintf, FORMAT, BLOCKS(stream), (FILE *, stream, PTR),
      (const char *, format, SKIP))
PRINT(__printf_chk, printf, __vprintf_chk, FORMAT_OUT, BLOCKS(stdout), (int, flag, SKIP),
      (const char *, format, SKIP))
PRINT(__fprintf_chk, fprintf, __vfprintf_chk, FORMAT, BLOCKS(stream), (FILE *, stream, PTR),
      (int, flag, SKIP), (const char *, format, SKIP))
PRINT_TO(__dprintf_chk, __vdprintf_chk, (int, fd, INT), (int, flag, SKIP), (const char *, format, SKIP))
PRINT(__wprintf_chk, wprintf, __vwprintf_chk, WIDE_OUT, BLOCKS(stdout), (int, flag, SKIP),
      (const wchar_t *, format, SKIP))
PRINT(__fwprintf_chk, fwprintf, __vfwprintf_chk, WIDE, BLOCKS(stream), (FILE *, stream, PTR),
      (int, flag, SKIP), (const wchar_t *, format, SKIP))

#define FXT_REALS fxt_reals_stdio_print
#include "interpose/engine/reals.inc"
