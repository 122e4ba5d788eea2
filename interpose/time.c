/* Sleeping: time.def. */
#include <time.h>
#include <unistd.h>

#include "interpose.h"

#define FXT_TABLE "time.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_time
#include "reals.inc"
