/* Finds what the loader would bind the program's references to if this library were not there, by the tables
 * of agent/base/loaded.h. dlsym(RTLD_NEXT) overlooks versions that are hidden. It and dlvsym() take the
 * loader's lock, and allocate memory if they find nothing: the program may be within its allocator, or about
 * to start a sanitizer that can do neither yet. */
#ifndef FXT_NEXT_H
#define FXT_NEXT_H

#include <stdbool.h>
#include <stddef.h>

struct fxt_real;

/* Fills the pointers of those functions that an object behind this library has. For each it takes the first
 * object that has the function in the version asked for, which is the C library's default version if none is;
 * or else the first that has it in its own default version. Other pointers stay as they are. A table ends
 * with a name of NULL. */
void fxt_next_find(const struct fxt_real *reals);

/* Does the same for one function. Returns false if no object has it. */
bool fxt_next_find_one(const struct fxt_real *real);

/* Returns the first object behind this library that has the function in that version (NULL: the C library's
 * default one), or NULL if none has. */
const void *fxt_next_owner(const char *name, const char *version);

/* Returns whether any object has the function. */
bool fxt_is_anywhere(const char *name);

/* Returns whether a program that calls this function gets that of this library. */
bool fxt_is_first(const char *name);

#endif
