/* Joins parts into a file that takes its place when it is whole. Used by record and merge. */
#ifndef FXT_TOOLS_JOIN_H
#define FXT_TOOLS_JOIN_H

#include <stdbool.h>

#include "merge.h"
#include "parts.h"

/* Makes `path` of all parts. False after a message; then what was at `path` is still there. */
bool fxt_join(struct fxt_merge *m, const struct fxt_parts *parts, const char *path);

#endif
