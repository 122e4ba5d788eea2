/* Makes the wrappers of calls that give random numbers: random.def. */
#include <stdlib.h>
#include <sys/random.h>

#include "interpose/engine/interpose.h"

/* SECRET: a result that is not recorded, because it is nobody else's business. */
#define FAILURE_SECRET 0
#define RESULT_SECRET

#define FXT_TABLE "interpose/tables/random.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_random
#include "interpose/engine/reals.inc"
