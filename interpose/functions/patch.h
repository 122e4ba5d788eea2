/* Functions that are patched at start: see patch.c. */
#ifndef FXT_PATCH_H
#define FXT_PATCH_H

/* Makes the functions that FXT_PATCH chooses call the agent when they are entered. Does nothing if FXT_PATCH
 * is not set or the program is not traced. Called once, when the program starts. Patches nothing if the
 * caller is not the only thread. */
void fxt_patch_start(void);

#endif
