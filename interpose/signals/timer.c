/* Makes the wrappers of calls that send a signal after a time: timer.def. */
#include <sys/time.h>
#include <unistd.h>

#include "interpose/engine/interpose.h"

#define FXT_TABLE "interpose/tables/timer.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_timer
#include "interpose/engine/reals.inc"
