/* What FXT_TRIGGER (fxt record --trigger) is about: the names in it, and whether it saves snapshots. The
 * agent judges the rest of it. */
#ifndef FXT_TOOLS_TRIGGERED_H
#define FXT_TOOLS_TRIGGERED_H

#include <stdbool.h>

/* Returns whether a trigger of the list saves a snapshot, which streaming mode has no use for. */
bool fxt_triggered_saves(const char *list);

/* Returns NULL, or which name of the list is probably misspelt: it is no call, nearly the name of one, and
 * the file of the program does not have it. The caller frees the text. A name with a * is taken as it is. */
char *fxt_triggered_bad_names(const char *list, const char *program);

#endif
