/* Messages to the user: one line on stderr, `fxtagent[PID]: ...`. Allocates nothing, never aborts, leaves errno
 * alone; any context. Silent under FXT_QUIET, as told by fxt_log_quiet(). */
#ifndef FXT_LOG_H
#define FXT_LOG_H

#include <stdbool.h>

/* Understands %s, %d (int), %lu and %%; the line is cut at 500 characters. */
void fxt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fxt_log_quiet(bool quiet);

/* The name of an error number, such as "No space left on device"; never NULL. */
const char *fxt_error_name(int error);

#endif
