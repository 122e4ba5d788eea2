/* Finds the file that a command name stands for, and whether the agent can be preloaded into it. Record
 * calls it, and merge for the reasons why programs left no trace. */
#ifndef FXT_TOOLS_PROGRAM_H
#define FXT_TOOLS_PROGRAM_H

#include <stdbool.h>

/* Exit statuses of fxt record itself, which are those of env(1) and timeout(1). */
enum { FXT_STATUS_FAILED = 125, FXT_STATUS_CANNOT_RUN = 126, FXT_STATUS_NOT_FOUND = 127 };

/* Returns 0 if the command argv[0], looked for as execvp(3) does, can be run and traced; otherwise one of
 * the statuses above, after a message that says why. Scripts are judged by their interpreter, and glibc's
 * loader by the program among its arguments. *sanitizer becomes the library of a sanitizer that has to be
 * loaded first, or NULL; the caller frees it. */
int fxt_program_check(char *const *argv, char **sanitizer);

/* Returns why the program, found in the same way, cannot be traced, as "it is set-user-ID: ...". Returns
 * NULL if nothing is known against it. The caller frees the text. */
char *fxt_program_refusal(const char *name);

/* Returns whether the file of the program, found in the same way, has this text anywhere, as it has the names
 * of its functions unless they were stripped. `name` may be NULL. */
bool fxt_program_mentions(const char *name, const char *text);

/* Returns whether the file is a shared object for this machine. */
bool fxt_is_our_library(const char *path);

#endif
