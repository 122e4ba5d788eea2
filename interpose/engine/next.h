/* What dlsym(RTLD_NEXT) and dlvsym(RTLD_NEXT) find, by the tables of agent/base/loaded.h. Those functions take the loader's lock, and allocate
 * where they find nothing: the program may be within its allocator, or about to start a sanitizer that can do neither yet. */
#ifndef FXT_NEXT_H
#define FXT_NEXT_H

#include <stdbool.h>
#include <stddef.h>

struct fxt_real;

/* Fills the pointers of the functions that an object behind this library has: of each the first that has it in the version asked for, or
 * else the first that has it in its default version. Other pointers stay as they are. A table ends with a name of NULL. */
void fxt_next_find(const struct fxt_real *reals);

/* The same for one of them. False: there is none. */
bool fxt_next_find_one(const struct fxt_real *real);

/* The first object behind this library that has the function in that version; NULL for its default one. NULL: none has. */
const void *fxt_next_owner(const char *name, const char *version);

/* Whether any object has the function. */
bool fxt_is_anywhere(const char *name);

/* Whether the program that calls this function gets the one of this library. */
bool fxt_is_first(const char *name);

#endif
