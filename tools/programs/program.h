/* Which file a command name stands for, and whether the agent can be preloaded into it. Used by record.
 *
 * tools/programs/ looks at executables and at the agent's library before anything is run. It uses tools/common/.
 */
#ifndef FXT_TOOLS_PROGRAM_H
#define FXT_TOOLS_PROGRAM_H

#include <stdbool.h>

/* Statuses of fxt record itself, as of env(1) and timeout(1). */
enum { FXT_STATUS_FAILED = 125, FXT_STATUS_CANNOT_RUN = 126, FXT_STATUS_NOT_FOUND = 127 };

/* 0 if `name`, looked for as execvp(3) does, can be run and traced. Otherwise one of the above, after a
 * message that says why. Scripts are judged by their interpreter. *sanitizer: to be freed, the library of a sanitizer that
 * has to be loaded first, or NULL. */
int fxt_program_check(const char *name, char **sanitizer);

/* Why the program, found as above, cannot be traced, as "it is set-user-ID: ..."; NULL: nothing is known against it. Free it. */
char *fxt_program_refusal(const char *name);

/* Whether the file is a shared object for this machine. */
bool fxt_is_our_library(const char *path);

#endif
