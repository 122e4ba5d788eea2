/* A signal after a time: timer.def. */
#include <sys/time.h>
#include <unistd.h>

#include "interpose.h"

#define FXT_TABLE "timer.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_timer
#include "reals.inc"
