#include "interpose.h"
#define FXT_TABLE "fcntl.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_fcntl
#include "reals.inc"
