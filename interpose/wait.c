/* Signals held back: wait.def, and the function whose name means two things. */
/* The header gives sigpause the assembler name of __xpg_sigpause. Here each is itself. */
#define sigpause sigpause_of_the_header
#include <signal.h>
#undef sigpause
#include <unistd.h>

#include "interpose.h"

#define FXT_TABLE "wait.def"
#include "wrappers.inc"

/* BSD's takes a mask of those that are held back, X/Open's the one that no longer is. */
FXT_WRAP(process, int, sigpause, sigpause, BLOCKS(mask), INT, (int, mask, INT))
FXT_WRAP(process, int, __xpg_sigpause, sigpause, BLOCKS(sig), INT, (int, sig, INT))
FXT_WRAP(process, int, __sigpause, sigpause, BLOCKS(sig_or_mask), INT, (int, sig_or_mask, INT), (int, is_sig, INT))

#define FXT_REALS fxt_reals_wait
#include "reals.inc"
