/* Formatted output: stdio_print.def, and the variadic ones. */
/* No bodies from headers for what is defined here. */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif

#include <stdio.h>
#include <wchar.h>

#include "variadic.h"

/* PRINTED: an INT, bytes that were written to a descriptor; of a failure it is not known how many. */
#define KEEP_PRINTED(fd) KEEP_INT
#define FAILURE_PRINTED(fd) FAILURE_INT
#define RESULT_PRINTED(fd) RESULT_INT
#define GIVE_PRINTED(fd) GIVE_INT
#define ENTER_PRINTED(fd) ENTER_WRITTEN(fd)
#define LEAVE_PRINTED(fd)                                                       \
	, if (FXT_UNLIKELY(result_ < 0 && writing_.transfer.stream))            \
		fxt_endpoint_unseen(fd);                                        \
	fxt_wrote(thread_, &writing_, result_, NULL);

#define FXT_TABLE "stdio_print.def"
#include "wrappers.inc"

#define PRINT(symbol, event, v_symbol, blocks, ...)	\
	FXT_VARIADIC(int, symbol, event, v_symbol, blocks, INT, __VA_ARGS__)

PRINT(printf, printf, vprintf, BLOCKS(stdout), (const char *, format, SKIP))
PRINT(fprintf, fprintf, vfprintf, BLOCKS(stream), (FILE *, stream, PTR), (const char *, format, SKIP))
PRINT(dprintf, dprintf, vdprintf, BLOCKS(fd), (int, fd, INT), (const char *, format, SKIP))
PRINT(wprintf, wprintf, vwprintf, BLOCKS(stdout), (const wchar_t *, format, SKIP))
PRINT(fwprintf, fwprintf, vfwprintf, BLOCKS(stream), (FILE *, stream, PTR), (const wchar_t *, format, SKIP))
PRINT(_IO_printf, printf, vprintf, BLOCKS(stdout), (const char *, format, SKIP))
PRINT(_IO_fprintf, fprintf, vfprintf, BLOCKS(stream), (FILE *, stream, PTR), (const char *, format, SKIP))
PRINT(__printf_chk, printf, __vprintf_chk, BLOCKS(stdout), (int, flag, SKIP), (const char *, format, SKIP))
PRINT(__fprintf_chk, fprintf, __vfprintf_chk, BLOCKS(stream), (FILE *, stream, PTR), (int, flag, SKIP),
      (const char *, format, SKIP))
PRINT(__dprintf_chk, dprintf, __vdprintf_chk, BLOCKS(fd), (int, fd, INT), (int, flag, SKIP),
      (const char *, format, SKIP))
PRINT(__wprintf_chk, wprintf, __vwprintf_chk, BLOCKS(stdout), (int, flag, SKIP),
      (const wchar_t *, format, SKIP))
PRINT(__fwprintf_chk, fwprintf, __vfwprintf_chk, BLOCKS(stream), (FILE *, stream, PTR), (int, flag, SKIP),
      (const wchar_t *, format, SKIP))

#define FXT_REALS fxt_reals_stdio_print
#include "reals.inc"
