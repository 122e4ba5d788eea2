/* Defines the variables of sys.h, lock.h and forbidden.h, which say what these are. */
#include "lock.h"

_Atomic unsigned fxt_forbidden;
uint64_t fxt_blocked_signals = UINT64_MAX;
__thread uint32_t fxt_lender;
