/* The connection to a manager, which saves this process's buffer: docs/manager.md. */
#ifndef FXT_CONNECTION_H
#define FXT_CONNECTION_H

#include "agent/base/agent.h"

/* Connects to the manager that fxt_agent.config.manager names, registers with it, and makes the buffer in the
 * mode and of the size that the manager wants, and for the categories that it wants: these take the place of
 * what fxt_agent.config had. `config` has the prologue. Returns when the manager has started the trace, or a
 * negative errno if there is no manager, if it does not answer within a second, or if the connection could
 * not be hidden from the program. The caller holds file_lock. */
int fxt_connection_make_buffer(struct fxt_buffer *buffer, struct fxt_buffer_config *config);

#endif
