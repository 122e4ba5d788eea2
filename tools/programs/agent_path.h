/* Finds the agent's library. fxt record calls it. */
#ifndef FXT_TOOLS_AGENT_PATH_H
#define FXT_TOOLS_AGENT_PATH_H

/* Returns the absolute path of libfxtagent.so, which the caller frees: `given` (an option's value or
 * NULL), else the variable FXT_AGENT, else the library beside this program, in the build tree, or where
 * it was installed. Returns NULL after a message if there is none. */
char *fxt_agent_path(const char *given);

#endif
