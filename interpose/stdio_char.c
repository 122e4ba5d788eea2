/* Single characters: stdio_char.def. They are many and short: one is shown as in progress only when the
 * buffer does not serve it. */
/* No bodies from headers for what is defined here. */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif

#include <stdio.h>
#include <wchar.h>

#include "stream.h"

typedef wchar_t *wchar_pointer;

#define FXT_TABLE "stdio_char.def"
#include "wrappers.inc"

#define FXT_REALS fxt_reals_stdio_char
#include "reals.inc"
