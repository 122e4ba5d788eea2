/* The process's trace from start to end. */
#ifndef FXT_LIFECYCLE_H
#define FXT_LIFECYCLE_H

#include "agent/base/agent.h"

/* Reads the configuration, creates the file and opens the gate. True once, where it did; nothing is done when
 * called again. */
bool fxt_agent_start(const struct fxt_call_names *calls);

/* Nothing is recorded from here on, and the trace says why; until it is resumed. For what takes the clock
 * away. */
void fxt_agent_suspend(const char *reason);
void fxt_agent_resume(void);

/* The process is about to end normally. */
void fxt_agent_exit(void);

/* The process is about to execute another program, perhaps: its file is as large as what it has written, if
 * it has one thread. Any context. */
void fxt_agent_trim(void);

/* The process is about to forbid itself what a buffer of a fixed size grows by: it gets that size now. Any
 * context. */
void fxt_agent_reserve(void);

/* Its memory is about to be gone, perhaps, without any other word: a buffer that is there is saved. Any
 * context. */
FXT_COLD void fxt_agent_save_memory(void);
static inline void fxt_agent_save(void)
{
	if (FXT_UNLIKELY(fxt_agent.buffer.in_memory))
		fxt_agent_save_memory();
}

#endif
