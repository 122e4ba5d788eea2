/* Making this process's trace file, and what it begins with. */
#ifndef FXT_TRACE_FILE_H
#define FXT_TRACE_FILE_H

#include "agent/base/agent.h"

/* The file, made now if it is not there yet. False: it cannot be, and the program has been told. */
bool fxt_agent_file(void);

#endif
