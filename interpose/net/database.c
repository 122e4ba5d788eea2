/* Makes the wrappers of calls that look something up in files of /etc, by the name service or by other
 * programs: database.def. */
#include <aliases.h>
#include <fstab.h>
#include <grp.h>
#include <gshadow.h>
#include <iconv.h>
#include <locale.h>
#include <mntent.h>
#include <nl_types.h>
#include <pwd.h>
#include <shadow.h>
#include <stdio.h>
#include <sys/klog.h>
#include <ttyent.h>
#include <utmp.h>
#include <utmpx.h>
#include <wordexp.h>

#include "interpose/engine/descriptor_of.h"
#include "interpose/engine/interpose.h"

typedef char *char_pointer;

/* CATALOG: a pointer; (void *)-1 is failure, with errno, as for MAPPED. */
#define FAILURE_CATALOG ((intptr_t)result_ == -1 ? errno : 0)
#define RESULT_CATALOG RESULT_PTR

#define CLOSES(type, symbol, ...) FXT_CLOSING(descriptor_of(stream), type, symbol, __VA_ARGS__)

#define FXT_TABLE "interpose/tables/database.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_database
#include "interpose/engine/reals.inc"
