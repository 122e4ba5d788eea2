/* Makes the wrappers of calls that make, change and look up names in the file system: path.def. realpath,
 * which has two versions, is in versioned.c. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/engine/interpose.h"

typedef char *char_pointer;

#define FXT_TABLE "interpose/tables/path.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_path
#include "interpose/engine/reals.inc"
