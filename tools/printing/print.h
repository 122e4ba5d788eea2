/* What fxt prints numbers, times and strings with, for people. Used by dump, report, check and categories.
 *
 * tools/printing/ writes text and JSON. It uses tools/reading/, as it prints texts and arguments of records, and
 * tools/common/.
 */
#ifndef FXT_TOOLS_PRINT_H
#define FXT_TOOLS_PRINT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/reading/reader.h"

/* Short texts by value, so that several can stand in one printf. */
struct fxt_short {
	char text[48];
};

struct fxt_short fxt_duration(uint64_t ns);             /* "1.23 ms" */
struct fxt_short fxt_bytes(uint64_t bytes);             /* "1.5 MiB" */
struct fxt_short fxt_count(uint64_t n);                 /* "1 204 118" */
struct fxt_short fxt_seconds(uint64_t ns, uint64_t since_ns);   /* "0.000012345", or negative */

/* A terminal, as wide as lines may be. */
enum { FXT_COLUMNS = 100 };

/* A NUL-terminated copy of text that is safe on a terminal and is UTF-8: control characters become \x1b
 * escapes, invalid bytes '?'. It is cut to at most `columns` characters, keeping its end if `keep_end`, and where that leaves room
 * its beginning: what differs between paths is their end. Free it. */
char *fxt_printable(const struct fxt_text *t, size_t columns, bool keep_end);

/* Characters, as columns of a terminal count. */
size_t fxt_columns(const char *utf8);

/* Prints a line, cut so that it fits, and its end. Frees it. */
void fxt_put_line(FILE *out, char *line);

/* Prints text of at most `lines` lines of as many columns as there are behind `indent`; what is longer ends in dots. The first line
 * begins where the output is. */
void fxt_put_wrapped(FILE *out, const struct fxt_text *t, size_t indent, size_t lines);

/* Prints text and pads it to `columns`. */
void fxt_put_padded(FILE *out, const char *utf8, size_t columns);

/* One argument as name=value. */
void fxt_put_argument(FILE *out, const struct fxt_argument *a);

/* "worker 1234" or "1234" when the thread has no name; "program 1230/1234" in full. Free it. */
char *fxt_thread_label(const struct fxt_reader *r, uint32_t thread, bool with_process);

#endif
