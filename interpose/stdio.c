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
#include "object.h"
#include "said.h"
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

/* CLOSED and REOPENED: of what closes the stream it is given; REOPENED is a STREAM, and then makes it another or not. */
#define CLOSES(type, symbol, ...) FXT_CLOSING(descriptor_of(stream), type, symbol, __VA_ARGS__)
#define KEEP_REOPENED KEEP_STREAM
#define GIVE_REOPENED GIVE_STREAM
#define FAILURE_REOPENED FAILURE_STREAM
#define RESULT_REOPENED RESULT_STREAM
#define CALLEE_REOPENED(what, of) CALLEE_CLOSED
#define AROUND_REOPENED(what, of) AROUND_CLOSED
#define FXT_SAID_fwrite , said_fwrite
#define FXT_SAID__IO_fwrite , said__IO_fwrite
#define FXT_SAID_fwrite_unlocked , said_fwrite_unlocked
#define FXT_SAID_fputs , said_fputs
#define FXT_SAID__IO_fputs , said__IO_fputs
#define FXT_SAID_fputs_unlocked , said_fputs_unlocked
#define FXT_SAID_puts , said_puts
#define FXT_SAID__IO_puts , said__IO_puts

static inline size_t said_fwrite(const void *ptr, size_t size, size_t nmemb, FILE *stream);
static inline size_t said__IO_fwrite(const void *ptr, size_t size, size_t nmemb, FILE *stream);
static inline size_t said_fwrite_unlocked(const void *ptr, size_t size, size_t nmemb, FILE *stream);
static inline int said_fputs(const char *s, FILE *stream);
static inline int said__IO_fputs(const char *s, FILE *stream);
static inline int said_fputs_unlocked(const char *s, FILE *stream);
static inline int said_puts(const char *s);
static inline int said__IO_puts(const char *s);

#define FXT_TABLE "stdio.def"
#include "wrappers.inc"

#define SAID_FWRITE(symbol)                                                                             \
	static inline size_t said_##symbol(const void *ptr, size_t size, size_t nmemb, FILE *stream)    \
	{                                                                                               \
		size_t result = real_##symbol(ptr, size, nmemb, stream);                                \
													\
		if (fxt_is_stderr_stream(stream) && result)                                             \
			fxt_said_bytes(ptr, size * result);                                             \
		return result;                                                                          \
	}
#define SAID_FPUTS(symbol)                                              \
	static inline int said_##symbol(const char *s, FILE *stream)    \
	{                                                               \
		int result = real_##symbol(s, stream);                  \
									\
		if (fxt_is_stderr_stream(stream) && result >= 0)        \
			fxt_said_string(s);                             \
		return result;                                          \
	}

SAID_FWRITE(fwrite)
SAID_FWRITE(_IO_fwrite)
SAID_FWRITE(fwrite_unlocked)
SAID_FPUTS(fputs)
SAID_FPUTS(_IO_fputs)
SAID_FPUTS(fputs_unlocked)

#define SAID_PUTS(symbol)                                               \
	static inline int said_##symbol(const char *s)                  \
	{                                                               \
		int result = real_##symbol(s);                          \
									\
		if (fxt_is_stderr_stream(stdout) && result >= 0)        \
			fxt_said_pieces(s, "\n", NULL);                 \
		return result;                                          \
	}

SAID_PUTS(puts)
SAID_PUTS(_IO_puts)

#define FXT_REALS fxt_reals_stdio
#include "reals.inc"
