#include "interpose.h"
#define FXT_TABLE "poll.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_poll
#include "reals.inc"
