/* Prints numbers, times and strings for people. Dump, report, check and categories use it. */
#ifndef FXT_TOOLS_PRINT_H
#define FXT_TOOLS_PRINT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/reading/reader.h"

/* A short text by value, so that several can stand in one printf. */
struct fxt_short {
	char text[48];
};

struct fxt_short fxt_duration(uint64_t ns);             /* "1.23 ms" */
struct fxt_short fxt_bytes(uint64_t bytes);             /* "1.5 MiB" */
struct fxt_short fxt_count(uint64_t n);                 /* "1 204 118" */
struct fxt_short fxt_seconds(uint64_t ns, uint64_t since_ns);   /* "0.000012345", or negative */

/* Returns the time from one moment to another, or 0 if the other is earlier. */
static inline uint64_t fxt_ns_between(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* How many lines of a table are printed: all; or also those and the tables that are left out because they say
 * little beside the others, for whoever asks about one thing. */
#define FXT_TOP_ALL (UINT32_MAX - 1)
#define FXT_TOP_WHOLE UINT32_MAX

/* The characters that a line of output may have: FXT_COLUMNS, or more on a wide terminal (terminal.h). */
enum { FXT_COLUMNS = 100 };
size_t fxt_width(void);
void fxt_set_width(size_t columns);

/* Returns a copy of the text that is UTF-8 and safe on a terminal: control characters become escapes
 * like \x1b, invalid bytes '?'. It is cut to at most `columns` characters. With `keep_end` its end is
 * kept, and its beginning as far as there is room, because paths differ at their ends. The caller frees
 * it. */
char *fxt_printable(const struct fxt_text *t, size_t columns, bool keep_end);

/* Returns how many columns of a terminal the text takes. */
size_t fxt_columns(const char *utf8);

/* Prints `line`, cut to fxt_width(), and a newline. Frees it. */
void fxt_put_line(FILE *out, char *line);

/* Prints text in at most `lines` lines, each indented by `indent` columns but for the first, which
 * begins where the output stands. Text that is too long ends in dots. */
void fxt_put_wrapped(FILE *out, const struct fxt_text *t, size_t indent, size_t lines);

/* Prints text and pads it to `columns`. */
void fxt_put_padded(FILE *out, const char *utf8, size_t columns);

/* The next three functions print what all tables of a report have in common. Each table's file has the format
 * of the other columns once, for the headings and the rows.
 *
 * Prints an empty line and the title, which stands above the labels, and pads it to where a label of
 * `columns` columns ends. */
void fxt_put_title(FILE *out, const char *title, size_t columns);
/* Begins a row with its handle (handle.h) and its label, which is padded to `columns` columns. Where the
 * handle is "" the label is less indented and has four columns more; where both are "", the row goes on with
 * what the one before is about. */
void fxt_put_label(FILE *out, const char *handle, const char *label, size_t columns);
/* Says how many rows are not shown, if there are any. */
void fxt_put_more(FILE *out, size_t all, size_t shown);

/* Prints the text as fxt_printable() returns it, whole. */
void fxt_put_text(FILE *out, const struct fxt_text *t);

/* Prints a number with spaces in front up to so many columns. A dump of a large trace has hundreds of
 * millions, and printf() would take most of its time. */
void fxt_put_number(FILE *out, uint64_t number, size_t columns);

/* Prints an argument as name=value. */
void fxt_put_argument(FILE *out, const struct fxt_argument *a);

/* Returns "worker 1234", or "1234" if the thread has no name; `with_process` puts the process's name and
 * number in front, as "program 1230/1234". The caller frees it. */
char *fxt_thread_label(const struct fxt_reader *r, uint32_t thread, bool with_process);

#endif
