/* See forbidden.h. */
#include "forbidden.h"

_Atomic unsigned fxt_forbidden;
