/* The loader: dl.def. */
#include <dlfcn.h>

#include "interpose.h"
#include "trampoline.h"

#define FXT_TABLE "dl.def"
#include "wrappers.inc"

#define real_dlopen fxt_real_dlopen
#define real_dlmopen fxt_real_dlmopen
#define FXT_REALS fxt_reals_dl
#include "reals.inc"
