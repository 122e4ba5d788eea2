/* Defines the variables of sys.h and lock.h, which say what these are. */
#include "lock.h"

uint64_t fxt_blocked_signals = UINT64_MAX;
__thread uint32_t fxt_lender;
