/* Lists of names of programs, in which *, ? and [...] may stand for other characters (agent/base/glob.h).
 * Names are separated by commas. Both functions may be called in any context. */
#ifndef FXT_FOLLOW_GLOB_H
#define FXT_FOLLOW_GLOB_H

#include <stdbool.h>

/* Returns whether every name in a list can match a program: it is not empty, has no directory, and has a ]
 * for every [. The words `all` and `none` are no names, because they have a meaning of their own. */
bool fxt_globs_valid(const char *list);

/* Returns whether a name in a valid list matches the whole of `name`. */
bool fxt_globs_match(const char *list, const char *name);

#endif
