/* Randomness: random.def. */
#include <stdlib.h>
#include <sys/random.h>

#include "interpose.h"

/* SECRET: a result that is nobody else's business. */
#define FAILURE_SECRET 0
#define RESULT_SECRET

#define FXT_TABLE "random.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_random
#include "reals.inc"
