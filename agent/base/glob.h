/* Patterns in which *, ? and [...] stand for other characters. The C library's fnmatch() is not used, because
 * it may allocate and depends on the program's locale. Both functions may be called in any context; they read
 * nothing but their arguments. */
#ifndef FXT_GLOB_H
#define FXT_GLOB_H

#include <stdbool.h>

/* Returns whether the pattern between `at` and `end` has a ] for every [. */
bool fxt_glob_is_whole(const char *at, const char *end);

/* Returns whether the pattern between `at` and `end`, which is whole, matches all of the text between `text`
 * and `text_end`. */
bool fxt_glob_match(const char *at, const char *end, const char *text, const char *text_end);

#endif
