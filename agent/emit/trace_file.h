/* Makes this process's trace file, or the buffer that a manager saves, and the records that it begins
 * with. */
#ifndef FXT_TRACE_FILE_H
#define FXT_TRACE_FILE_H

#include "agent/base/agent.h"

/* Makes the file if it is not there yet, and opens the gate then. Returns false if there is none: there can
 * be none, of which the user has been told, or this process waits for its manager now. */
bool fxt_agent_file(void);

/* Opens the gate of a process that records, and says so to its manager, if that waits for it. The caller
 * holds file_lock, so a manager that stops recording at once hears the answer to that afterwards. */
void fxt_agent_open(void);

/* Makes the child of a process that waits for its manager wait for it, too. If the manager is gone, the child
 * records nothing. Called in the child of a fork. */
void fxt_agent_join(void);

/* Asks the manager what it wants of this process, which waits. Returns 0 if recording begins: then
 * fxt_agent_open() is next. Returns -EAGAIN if it does not yet, or another negative errno if the manager is
 * gone. The caller holds file_lock. */
int fxt_agent_go_on(void);

#endif
