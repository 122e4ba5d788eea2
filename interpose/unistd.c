#include "interpose.h"
#define FXT_TABLE "unistd.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_unistd
#include "reals.inc"
