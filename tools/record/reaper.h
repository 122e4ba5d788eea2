/* Who adopts orphans where fxt record runs. */
#ifndef FXT_TOOLS_REAPER_H
#define FXT_TOOLS_REAPER_H

#include <stdatomic.h>
#include <stdint.h>

/* Finds out whose child an orphan becomes here, as long as this process does not adopt it itself: the first
 * process, or a nearer one that has asked for orphans (PR_SET_CHILD_SUBREAPER). Nothing but an orphan can
 * tell, so this makes one, which stores the process's id in *reaper, perhaps after this has returned. Called
 * while the process has one thread. */
void fxt_reaper_find(_Atomic uint32_t *reaper);

#endif
