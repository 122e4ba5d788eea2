/* Streams: stdio.def. What the C library reads and writes for them does not come by way of read() and
 * write(). */
/* No bodies from headers for what is defined here. */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif

#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#include "descriptor_of.h"
#include "stream.h"

typedef FILE *stream_pointer;
typedef char *char_pointer;
typedef wchar_t *wchar_pointer;

/* Macros, where the compiler optimizes. */
#undef fread_unlocked
#undef fwrite_unlocked

/* No longer declared. */
FXT_EXPORT char *gets(char *s);

/* STREAM_ON: a FILE of a descriptor that was open before. */
#define KEEP_STREAM_ON(fd) KEEP_PTR
#define FAILURE_STREAM_ON(fd) FAILURE_PTR
#define RESULT_STREAM_ON(fd) RESULT_PTR
#define GIVE_STREAM_ON(fd)                              \
	if (result_)                                    \
		fxt_fd_buffered(thread_, fd),           \
			fxt_endpoint_buffered(thread_, fd);     \
	return result_

/* CLOSED: an int, of what closes a stream. REOPENED: STREAM, of what closes the stream it is given, and then makes it another or not. */
#define KEEP_CLOSED KEEP_INT
#define GIVE_CLOSED GIVE_INT
#define FAILURE_CLOSED FAILURE_INT
#define RESULT_CLOSED RESULT_INT
#define CALLEE_CLOSED , closing_
#define AROUND_CLOSED , CLOSING_STREAM
#define CLOSING_STREAM(type, symbol, ...) FXT_CLOSING(descriptor_of(stream), type, symbol, __VA_ARGS__)
#define KEEP_REOPENED KEEP_STREAM
#define GIVE_REOPENED GIVE_STREAM
#define FAILURE_REOPENED FAILURE_STREAM
#define RESULT_REOPENED RESULT_STREAM
#define CALLEE_REOPENED(what, of) CALLEE_CLOSED
#define AROUND_REOPENED(what, of) AROUND_CLOSED

#define FXT_TABLE "stdio.def"
#include "wrappers.inc"

#define FXT_REALS fxt_reals_stdio
#include "reals.inc"
