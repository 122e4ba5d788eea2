/* Messages to the user: one line on stderr, `fxtagent[PID]: ...`. Allocates nothing, never aborts, leaves
 * errno alone; any context. Silent under FXT_QUIET, as told by fxt_log_quiet(), and once descriptor 2 is no
 * longer what the process was started with: then it is a file, a pipe or a socket of the program. A program
 * that is executed takes what it inherits for its standard error. */
#ifndef FXT_LOG_H
#define FXT_LOG_H

#include <stdbool.h>

/* Understands %s, %d (int), %lu and %%; the line is cut at 500 characters. */
void fxt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fxt_log_quiet(bool quiet);

/* Remembers what standard error is. Once, at start, before the first message. */
void fxt_log_start(void);

/* The name of an error number, such as "No space left on device"; never NULL. */
const char *fxt_error_name(int error);

#endif
