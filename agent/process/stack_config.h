/* Which calls have a call stack: FXT_STACKS. Called by config.c at start. */
#ifndef FXT_STACK_CONFIG_H
#define FXT_STACK_CONFIG_H

#include "agent/base/agent.h"

/* Reads the value of FXT_STACKS, which may be NULL: `none`, or a list of CATEGORY[>DURATION][:FRAMES]. Calls
 * of such a category have a stack, if they take longer than that, of so many frames. This comes on top of
 * what has a stack anyway: see docs/call-stacks.md. Sets the members of *config about stacks. Returns false,
 * after a message to the user, if the value has a mistake. config->explain_ns has been set before. */
bool fxt_stack_config_read(struct fxt_config *config, const char *text);

#endif
