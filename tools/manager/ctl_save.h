/* fxt ctl save=TIME: a trace of what all programs have done last, while they go on. ctl.c calls it. */
#ifndef FXT_TOOLS_CTL_SAVE_H
#define FXT_TOOLS_CTL_SAVE_H

#include <stdbool.h>

/* Writes the trace `out`, which may not exist, of the last `time` (such as 10s, or "all"). `archive` is the
 * path that the manager has told, where all that there is has been saved just now. Returns false after a
 * message. */
bool fxt_ctl_save(const char *archive, const char *time, const char *out);

/* Returns what is wrong with the time, which the caller frees; or NULL. */
char *fxt_ctl_save_bad(const char *time);

#endif
