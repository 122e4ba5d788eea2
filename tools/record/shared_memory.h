/* Makes the memory that the traced processes of a run share. fxt record only makes it and keeps it; its
 * contents are the agent's. */
#ifndef FXT_TOOLS_SHARED_MEMORY_H
#define FXT_TOOLS_SHARED_MEMORY_H

/* Returns a descriptor of the memory, which closes on exec. *path becomes the path by which other
 * processes find it for as long as this one keeps the descriptor open; the caller frees it. Returns -1
 * if there can be no such memory. */
int fxt_shared_make(char **path);

/* Says in the memory that this process adopts orphans, and who would. Called before it does. */
void fxt_shared_adopts(int fd);
/* Says that the calling process becomes the command. */
void fxt_shared_commands(void);

#endif
