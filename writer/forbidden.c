/* Defines the variable of forbidden.h, which says what it is. */
#include "forbidden.h"

_Atomic unsigned fxt_forbidden;
