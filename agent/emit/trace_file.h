/* Makes this process's trace file, and the records that it begins with. */
#ifndef FXT_TRACE_FILE_H
#define FXT_TRACE_FILE_H

#include "agent/base/agent.h"

/* Makes the file if it is not there yet. Returns false if there can be none; then the user has been told. */
bool fxt_agent_file(void);

#endif
