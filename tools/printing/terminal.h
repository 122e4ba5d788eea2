/* How wide the lines of a report are. In a file or a pipe they have up to FXT_COLUMNS characters, so that a
 * report is the same wherever it is made. A terminal that is wider is used, and one that is narrower gets
 * lines that are folded between words. */
#ifndef FXT_TOOLS_TERMINAL_H
#define FXT_TOOLS_TERMINAL_H

#include <stdio.h>

/* Returns a stream that prints to standard output as it suits the terminal, if that is one; fxt_width() (see
 * print.h) says from then on what has room. fxt_terminal_close() ends both. */
FILE *fxt_terminal_open(void);
void fxt_terminal_close(FILE *out);

/* Prints a line without its end to `out`, in lines of at most `columns` characters. Those that go on are
 * indented. A word that is longer than a line is broken. */
void fxt_put_folded(FILE *out, const char *line, size_t columns);

#endif
