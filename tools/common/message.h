/* Messages to the user, and allocation that cannot fail.
 *
 * tools/common/ has what knows nothing of traces: messages, tables, hashes, histograms, options. It uses the C library
 * alone. docs/rooms.txt lists the folders of tools/ in their order: each may use those before it, and none uses one
 * after it.
 *
 * Every message of fxt is one line on standard error, `fxt: FILE: what is wrong` or `fxt: what is wrong`.
 * Everything under tools/ uses these; one thread, not from signal handlers.
 */
#ifndef FXT_TOOLS_MESSAGE_H
#define FXT_TOOLS_MESSAGE_H

#include <stddef.h>
#include <stdio.h>

/* `file` may be NULL. */
void fxt_error(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Zeroed memory for count elements; ends the program with a message when there is none. */
void *fxt_alloc(size_t count, size_t element_bytes);

/* Makes room for `needed` elements in an array that grows by doubling, and returns where it now is.
 * What is added is not zeroed. */
void *fxt_grow(void *array, size_t *capacity, size_t needed, size_t element_bytes);

char *fxt_strdup(const char *text);
char *fxt_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A stream whose text is to be freed once it is closed. */
FILE *fxt_text_stream(char **text, size_t *bytes);

/* Flushes standard output, remembering what went wrong: so that messages on stderr come after what they
 * are about. */
void fxt_flush_stdout(void);

/* To be registered with atexit(): ends the program with status 1, after a message, when something could
 * not be written. Without this a full disk would look like a short report. */
void fxt_stdout_at_exit(void);

#endif
