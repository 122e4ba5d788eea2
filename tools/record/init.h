/* fxt record as the first process of a container. See init.c. */
#ifndef FXT_TOOLS_INIT_H
#define FXT_TOOLS_INIT_H

#include <stdbool.h>

/* Returns whether orphans become children of this process: it is the first of its namespace of process
 * ids, or has been made one that adopts (PR_SET_CHILD_SUBREAPER). */
bool fxt_init_adopts(void);

/* If orphans become children of this process, it does from now on what an init does: it reaps them, and
 * hands on signals to fxt record, which is a child of it. This function returns in the child; or at once
 * if no orphans come. The first process ends with the child, and with its status. */
void fxt_init(void);

/* Is called in the command's process: if the first process adopts because it was told to, so does this. */
void fxt_init_hand_over(void);

#endif
