#include "interpose.h"
#define FXT_TABLE "socket.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_socket
#include "reals.inc"
