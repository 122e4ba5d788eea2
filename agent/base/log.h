/* Messages to the user: each is one line on standard error, `fxtagent[PID]: ...`. They allocate nothing,
 * never abort and leave errno alone. Any context.
 *
 * Messages are silent under FXT_QUIET (fxt_log_quiet()), and once descriptor 2 is no longer what it was when
 * the process started: then it is a file, a pipe or a socket of the program. A program that is executed takes
 * the descriptor 2 that it inherits for its standard error. Under fxt record that prints the line instead.
 * */
#ifndef FXT_LOG_H
#define FXT_LOG_H

#include <stdbool.h>

/* Writes a message. `format` may have %s, %.*s, %d (int), %lu and %%. The line is cut at 500 characters. */
void fxt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Switches messages off, or on again. */
void fxt_log_quiet(bool quiet);

/* Remembers what standard error is. Called once, at start, before the first message. */
void fxt_log_start(void);

/* Returns the name of an error number, such as "No space left on device"; never NULL. */
const char *fxt_error_name(int error);

#endif
