/* The memory that the traced processes of a run share. fxt record only makes it and keeps it: what is in
 * it is the agent's. */
#ifndef FXT_TOOLS_SHARED_H
#define FXT_TOOLS_SHARED_H

/* Its descriptor, closed on exec; `*path` is how other processes find it for as long as this one keeps
 * that open, to be freed. -1: there can be none. */
int fxt_shared_make(char **path);

#endif
