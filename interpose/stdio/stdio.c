/* Makes the wrappers of calls that open, read and write streams: stdio.def. What the C library reads and
 * writes for streams does not come by way of read() and write(). */
/* Keeps headers from giving bodies to functions that are defined here. */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif

#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#include "interpose/engine/descriptor_of.h"
#include "interpose/engine/object.h"
#include "interpose/engine/stderr_text.h"
#include "interpose/engine/stdio_results.h"

typedef FILE *stream_pointer;
typedef char *char_pointer;
typedef wchar_t *wchar_pointer;

/* These are macros if the compiler optimizes. */
#undef fread_unlocked
#undef fwrite_unlocked

/* <stdio.h> does not declare this any more. */
FXT_EXPORT char *gets(char *s);

/* STREAM_ON(fd): a PTR, a FILE of a descriptor that was open before. */
#define FAILURE_STREAM_ON(fd) FAILURE_PTR
#define RESULT_STREAM_ON(fd) RESULT_PTR
#define AFTER_STREAM_ON(fd)				\
	, if (result_) {				\
		fxt_fd_buffered(thread_, fd);		\
		fxt_endpoint_buffered(thread_, fd);	\
	}

/* CLOSED, REOPENED: of a call that closes the stream it is given. REOPENED is a STREAM, of a call that then
 * makes the stream another one, unless it fails. */
#define CLOSES(type, symbol, ...) FXT_CLOSING(descriptor_of(stream), type, symbol, __VA_ARGS__)
#define AFTER_REOPENED AFTER_STREAM
#define FAILURE_REOPENED FAILURE_STREAM
#define RESULT_REOPENED RESULT_STREAM
#define CALLEE_REOPENED(what, of) CALLEE_CLOSED
#define AROUND_REOPENED(what, of) AROUND_CLOSED

#define STDERR_THINGS(type, symbol, ...)						\
	FXT_TO_STDERR(type, symbol, fxt_is_stderr_stream(stream), result,		\
		      fxt_stderr_bytes(ptr, size * result), __VA_ARGS__)
#define STDERR_STRING(type, symbol, ...)						\
	FXT_TO_STDERR(type, symbol, fxt_is_stderr_stream(stream), result >= 0,		\
		      fxt_stderr_string(s), __VA_ARGS__)
#define STDERR_LINE(type, symbol, ...)							\
	FXT_TO_STDERR(type, symbol, fxt_is_stderr_stream(stdout), result >= 0,		\
		      fxt_stderr_pieces(s, "\n", NULL), __VA_ARGS__)

#define FXT_TABLE "interpose/tables/stdio.def"
#include "interpose/engine/wrappers.inc"

#define FXT_REALS fxt_reals_stdio
#include "interpose/engine/reals.inc"
