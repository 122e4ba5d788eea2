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

#define FXT_TABLE "stdio.def"
#include "wrappers.inc"

FXT_CLOSES(fclose, fclose, EMPTIES(stream), descriptor_of(stream), FILE *, stream, PTR)
FXT_CLOSES(_IO_fclose, fclose, EMPTIES(stream), descriptor_of(stream), FILE *, stream, PTR)

/* Closes what the stream had, whether or not it gets another; that has the same number as a rule. */
#define FREOPEN(symbol)                                                                                                 \
	FXT_REAL(FILE *, symbol, (const char *pathname, const char *mode, FILE *stream), (pathname, mode, stream))      \
	static FILE *closing_##symbol(const char *pathname, const char *mode, FILE *stream)                             \
	{                                                                                                               \
		FILE *result;                                                                                           \
															\
		FXT_FD_CLOSE(descriptor_of(stream), result = real_##symbol(pathname, mode, stream));                    \
		return result;                                                                                          \
	}                                                                                                               \
	FXT_WRAP_AROUND(io, stream_pointer, symbol, freopen, closing_##symbol, BLOCKS(stream),                          \
			STREAM(file, PATH(pathname)), (const char *, pathname, TEXT), (const char *, mode, TEXT),       \
			(FILE *, stream, PTR))

FREOPEN(freopen)
FREOPEN(freopen64)

#define FXT_REALS fxt_reals_stdio
#include "reals.inc"
