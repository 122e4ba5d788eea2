/* See sys.h and lock.h. */
#include "lock.h"

uint64_t fxt_blocked_signals = UINT64_MAX;
__thread uint32_t fxt_lender;
