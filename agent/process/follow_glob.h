/* Names of programs with *, ? and [...], several separated by commas. The C library's fnmatch() may allocate,
 * and takes what a name is from the program's locale. */
#ifndef FXT_FOLLOW_GLOB_H
#define FXT_FOLLOW_GLOB_H

#include <stdbool.h>

/* Whether every name in the list can match a program: there is one, no directory in it, and every [ has its
 * ]. The words that mean something alone, all and none, are no names. */
bool fxt_globs_valid(const char *list);

/* Whether one of them matches all of `name`. */
bool fxt_globs_match(const char *list, const char *name);

#endif
