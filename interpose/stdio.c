#include "interpose.h"
#define FXT_TABLE "stdio.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_stdio
#include "reals.inc"
