/* Streams: stdio.def. What the C library reads and writes for them does not come by way of read() and
 * write(). */
/* No bodies from headers for what is defined here. */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif

#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#include "object.h"
#include "stream.h"

typedef FILE *stream_pointer;
typedef char *char_pointer;
typedef wchar_t *wchar_pointer;

/* Macros, where the compiler optimizes. */
#undef fread_unlocked
#undef fwrite_unlocked

/* No longer declared. */
FXT_EXPORT char *gets(char *s);

#define FXT_TABLE "stdio.def"
#include "wrappers.inc"

#define FXT_REALS fxt_reals_stdio
#include "reals.inc"
