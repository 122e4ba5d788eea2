/* A directory of parts as one trace, for the commands that read a trace. */
#ifndef FXT_TOOLS_JOINED_DIRECTORY_H
#define FXT_TOOLS_JOINED_DIRECTORY_H

#include <stdbool.h>

/* Puts the files of a manager's archive in the directory together, if a run has outgrown one. Returns false
 * after a message. */
bool fxt_parts_put_together(const char *directory);

/* Joins the traces in the directory in a file without a name in TMPDIR. They stay as they are, but for the
 * files of a long run, which become one. Returns the descriptor, or -1 after a message. See
 * fxt_trace_of_directory. */
int fxt_joined_directory(const char *directory);

/* Joins a trace alone in the same way, so that processes with one number are told apart in it. See
 * fxt_trace_told_apart. */
int fxt_joined_file(const char *path);

#endif
