/* Where the agent's library is. Used by record. */
#ifndef FXT_TOOLS_AGENT_PATH_H
#define FXT_TOOLS_AGENT_PATH_H

/* The absolute path of libfxtagent.so: `given` (an option) or FXT_AGENT when there is one, otherwise
 * beside this program, in the build tree, or where it was installed. NULL after a message. Free it. */
char *fxt_agent_path(const char *given);

#endif
