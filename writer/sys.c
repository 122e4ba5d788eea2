/* See sys.h. */
#include "sys.h"

uint64_t fxt_blocked_signals = UINT64_MAX;
