/* Makes the wrappers of calls that sleep: time.def. */
#include <time.h>
#include <unistd.h>

#include "interpose/engine/interpose.h"

#define FXT_TABLE "interpose/tables/time.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_time
#include "interpose/engine/reals.inc"
