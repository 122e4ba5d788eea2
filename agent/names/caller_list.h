/* The list of FXT_CALLERS. It is read once, at start; agent/emit/callers.c asks it, in any context. */
#ifndef FXT_CALLER_LIST_H
#define FXT_CALLER_LIST_H

#include <stdbool.h>

struct fxt_code_file;

enum { FXT_CALLERS_BYTES = 1024 };      /* the room for a list, with its end */

/* Takes over a list: `main`, which is the program itself, and names of files with * ? [...], separated by
 * commas. Returns false if it is not accepted. */
bool fxt_caller_list_read(const char *list);

/* Returns whether a file is in the list. */
bool fxt_caller_list_has(const struct fxt_code_file *file);

#endif
