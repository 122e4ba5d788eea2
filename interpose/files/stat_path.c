/* Makes the wrappers of calls that read and change the attributes of files and file systems:
 * stat_path.def. */
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "interpose/engine/interpose.h"

typedef const struct timeval time_values[2];
typedef const struct timespec precise_times[2];

#define FXT_TABLE "interpose/tables/stat_path.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_stat_path
#include "interpose/engine/reals.inc"
