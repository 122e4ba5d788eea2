/* Makes the wrappers of calls that read and write single characters: stdio_char.def. Such calls are many and
 * short: one is shown in progress only if the buffer does not serve it. */
/* Keeps headers from giving bodies to functions that are defined here. */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif

#include <stdio.h>
#include <wchar.h>

#include "interpose/engine/stderr_text.h"
#include "interpose/engine/stdio_results.h"

typedef wchar_t *wchar_pointer;

#define STDERR_CHARACTER(type, symbol, ...)						\
	FXT_TO_STDERR(type, symbol, fxt_is_stderr_stream(stream), true,			\
		      fxt_stderr_character(result), __VA_ARGS__)
#define STDERR_CHARACTER_OUT(type, symbol, ...)						\
	FXT_TO_STDERR(type, symbol, fxt_is_stderr_stream(stdout), true,			\
		      fxt_stderr_character(result), __VA_ARGS__)
/* Without a character __overflow() only makes room. */
#define STDERR_OVERFLOW(type, symbol, ...)						\
	FXT_TO_STDERR(type, symbol, fxt_is_stderr_stream(stream), c != EOF,		\
		      fxt_stderr_character(result), __VA_ARGS__)
#define STDERR_WIDE(type, symbol, ...)							\
	FXT_TO_STDERR(type, symbol, fxt_is_stderr_stream(stream), result != WEOF,	\
		      fxt_stderr_wide(&wc, 1), __VA_ARGS__)
#define STDERR_WIDE_STRING(type, symbol, ...)						\
	FXT_TO_STDERR(type, symbol, fxt_is_stderr_stream(stream), result >= 0,		\
		      fxt_stderr_wide(ws, SIZE_MAX), __VA_ARGS__)

#define FXT_TABLE "interpose/tables/stdio_char.def"
#include "interpose/engine/wrappers.inc"

#define FXT_REALS fxt_reals_stdio_char
#include "interpose/engine/reals.inc"
