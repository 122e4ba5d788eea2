/* Input and output that goes on by itself, and randomness: aio.def. */
#include <aio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "interpose.h"

typedef const struct aiocb *const *aiocb_list;
typedef const struct aiocb64 *const *aiocb64_list;

/* SECRET: a result that is nobody else's business. */
#define KEEP_SECRET(type) type result_ =
#define GIVE_SECRET return result_
#define FAILURE_SECRET 0
#define RESULT_SECRET

#define FXT_TABLE "aio.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_aio
#include "reals.inc"
