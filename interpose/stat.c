/* What a descriptor leads to: stat.def. */
#include <sys/stat.h>

#include "interpose.h"

#define FXT_TABLE "stat.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_stat
#include "reals.inc"
