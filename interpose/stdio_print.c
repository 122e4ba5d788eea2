/* Formatted output: stdio_print.def, and the variadic ones. */
/* No bodies from headers for what is defined here. */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif

#include <stdio.h>
#include <wchar.h>

#include "said.h"
#include "variadic.h"

/* PRINTED: an INT, bytes that were written to a descriptor; of a failure it is not known how many. */
#define KEEP_PRINTED(fd) KEEP_INT
#define FAILURE_PRINTED(fd) FAILURE_INT
#define RESULT_PRINTED(fd) RESULT_INT
#define GIVE_PRINTED(fd) GIVE_INT
#define ENTER_PRINTED(fd) , struct fxt_writing writing_; fxt_writes_pieces(thread_, fd, &writing_);
#define LEAVE_PRINTED(fd)                                                       \
	, if (FXT_UNLIKELY(result_ < 0 && writing_.transfer.stream))            \
		fxt_endpoint_unseen(fd);                                        \
	fxt_wrote(thread_, &writing_, result_, NULL);

#define FXT_SAID_register_printf_function , known_register_printf_function
#define FXT_SAID_register_printf_specifier , known_register_printf_specifier
#define FXT_SAID_register_printf_modifier , known_register_printf_modifier
#define FXT_SAID_register_printf_type , known_register_printf_type
#define FXT_SAID_vfprintf , said_vfprintf
#define FXT_SAID__IO_vfprintf , said__IO_vfprintf
#define FXT_SAID___vfprintf_chk , said___vfprintf_chk
#define FXT_SAID_vprintf , said_vprintf
#define FXT_SAID___vprintf_chk , said___vprintf_chk
#define FXT_SAID_vwprintf , said_vwprintf
#define FXT_SAID___vwprintf_chk , said___vwprintf_chk
#define FXT_SAID_vdprintf , said_vdprintf
#define FXT_SAID___vdprintf_chk , said___vdprintf_chk
#define FXT_SAID_vfwprintf , said_vfwprintf
#define FXT_SAID___vfwprintf_chk , said___vfwprintf_chk

static int known_register_printf_function(int spec, void *func, void *arginfo);
static int known_register_printf_specifier(int spec, void *func, void *arginfo);
static int known_register_printf_modifier(const wchar_t *str);
static int known_register_printf_type(void *fct);
static int said_vfprintf(FILE *stream, const char *format, va_list list);
static int said__IO_vfprintf(FILE *stream, const char *format, va_list list);
static int said___vfprintf_chk(FILE *stream, int flag, const char *format, va_list list);
static int said_vprintf(const char *format, va_list list);
static int said___vprintf_chk(int flag, const char *format, va_list list);
static int said_vwprintf(const wchar_t *format, va_list list);
static int said___vwprintf_chk(int flag, const wchar_t *format, va_list list);
static int said_vdprintf(int fd, const char *format, va_list list);
static int said___vdprintf_chk(int fd, int flag, const char *format, va_list list);
static int said_vfwprintf(FILE *stream, const wchar_t *format, va_list list);
static int said___vfwprintf_chk(FILE *stream, int flag, const wchar_t *format, va_list list);

#define FXT_TABLE "stdio_print.def"
#include "wrappers.inc"

/* errno may be what %m stands for. */
#define SAID(symbol, params, args, is_said, member)                                             \
	static int said_##symbol params                                                         \
	{                                                                                       \
		struct fxt_format what = {.member = format, .error = errno};                    \
		va_list again;                                                                  \
		int result;                                                                     \
												\
		if (!(is_said))                                                                 \
			return real_##symbol args;                                              \
		va_copy(again, list);                                                           \
		result = real_##symbol args;                                                    \
		fxt_said_format(&what, again, result);                                          \
		va_end(again);                                                                  \
		return result;                                                                  \
	}

SAID(vfprintf, (FILE *stream, const char *format, va_list list), (stream, format, list), fxt_is_stderr_stream(stream), narrow)
SAID(_IO_vfprintf, (FILE *stream, const char *format, va_list list), (stream, format, list), fxt_is_stderr_stream(stream), narrow)
SAID(__vfprintf_chk, (FILE *stream, int flag, const char *format, va_list list), (stream, flag, format, list), fxt_is_stderr_stream(stream), narrow)
SAID(vprintf, (const char *format, va_list list), (format, list), fxt_is_stderr_stream(stdout), narrow)
SAID(__vprintf_chk, (int flag, const char *format, va_list list), (flag, format, list), fxt_is_stderr_stream(stdout), narrow)
SAID(vwprintf, (const wchar_t *format, va_list list), (format, list), fxt_is_stderr_stream(stdout), wide)
SAID(__vwprintf_chk, (int flag, const wchar_t *format, va_list list), (flag, format, list), fxt_is_stderr_stream(stdout), wide)
SAID(vdprintf, (int fd, const char *format, va_list list), (fd, format, list), fxt_is_stderr(fd), narrow)
SAID(__vdprintf_chk, (int fd, int flag, const char *format, va_list list), (fd, flag, format, list), fxt_is_stderr(fd), narrow)
SAID(vfwprintf, (FILE *stream, const wchar_t *format, va_list list), (stream, format, list), fxt_is_stderr_stream(stream), wide)
SAID(__vfwprintf_chk, (FILE *stream, int flag, const wchar_t *format, va_list list), (stream, flag, format, list), fxt_is_stderr_stream(stream), wide)

/* From here on a format may have anything in it, and what it calls must not be called twice. */
#define KNOWN(symbol, params, args)                     \
	static int known_##symbol params                \
	{                                               \
		int result = real_##symbol args;        \
							\
		fxt_format_registered();                \
		return result;                          \
	}

KNOWN(register_printf_function, (int spec, void *func, void *arginfo), (spec, func, arginfo))
KNOWN(register_printf_specifier, (int spec, void *func, void *arginfo), (spec, func, arginfo))
KNOWN(register_printf_modifier, (const wchar_t *str), (str))
KNOWN(register_printf_type, (void *fct), (fct))

#define PRINT(symbol, event, v_symbol, blocks, ...)	\
	FXT_VARIADIC(int, symbol, event, v_symbol, blocks, INT, __VA_ARGS__)
#define PRINT_TO(symbol, v_symbol, ...)			\
	FXT_VARIADIC(int, symbol, dprintf, v_symbol, BLOCKS(fd), PRINTED(fd), __VA_ARGS__)

PRINT(printf, printf, vprintf, BLOCKS(stdout), (const char *, format, SKIP))
PRINT(fprintf, fprintf, vfprintf, BLOCKS(stream), (FILE *, stream, PTR), (const char *, format, SKIP))
PRINT_TO(dprintf, vdprintf, (int, fd, INT), (const char *, format, SKIP))
PRINT(wprintf, wprintf, vwprintf, BLOCKS(stdout), (const wchar_t *, format, SKIP))
PRINT(fwprintf, fwprintf, vfwprintf, BLOCKS(stream), (FILE *, stream, PTR), (const wchar_t *, format, SKIP))
PRINT(_IO_printf, printf, vprintf, BLOCKS(stdout), (const char *, format, SKIP))
PRINT(_IO_fprintf, fprintf, vfprintf, BLOCKS(stream), (FILE *, stream, PTR), (const char *, format, SKIP))
PRINT(__printf_chk, printf, __vprintf_chk, BLOCKS(stdout), (int, flag, SKIP), (const char *, format, SKIP))
PRINT(__fprintf_chk, fprintf, __vfprintf_chk, BLOCKS(stream), (FILE *, stream, PTR), (int, flag, SKIP),
      (const char *, format, SKIP))
PRINT_TO(__dprintf_chk, __vdprintf_chk, (int, fd, INT), (int, flag, SKIP), (const char *, format, SKIP))
PRINT(__wprintf_chk, wprintf, __vwprintf_chk, BLOCKS(stdout), (int, flag, SKIP),
      (const wchar_t *, format, SKIP))
PRINT(__fwprintf_chk, fwprintf, __vfwprintf_chk, BLOCKS(stream), (FILE *, stream, PTR), (int, flag, SKIP),
      (const wchar_t *, format, SKIP))

#define FXT_REALS fxt_reals_stdio_print
#include "reals.inc"
