/* Makes the wrappers of calls that tell about the file that a descriptor leads to: stat.def. */
#include <sys/stat.h>

#include "interpose/engine/interpose.h"

#define FXT_TABLE "interpose/tables/stat.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_stat
#include "interpose/engine/reals.inc"
