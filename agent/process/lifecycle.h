/* The process's trace from start to end. The constructor, the wrapper of the first call that is seen, and the
 * wrappers of calls that end a process or change what it may do call these functions.
 */
#ifndef FXT_LIFECYCLE_H
#define FXT_LIFECYCLE_H

#include "agent/base/agent.h"

/* Starts the trace of this process: reads the configuration, makes the file and opens the gate. `calls` are
 * the names of the interposed calls. Returns true if this call started the trace, and false if the program is
 * not to be traced, or if the trace was started before. Any context. */
bool fxt_agent_start(const struct fxt_call_names *calls);

/* Records nothing until fxt_gate_resume() is called; the trace says what is not seen (`unseen`). The program
 * may be about to forbid the instruction or the system calls that the clock is read with. Returns as
 * fxt_gate_suspend(). Any context. */
bool fxt_agent_suspend(enum fxt_suspension what, const char *unseen);

/* Ends the trace, because the process is about to end normally: writes the records that are still owed, saves
 * a buffer that is in memory, and rewrites a file of up to 4 MiB without its gaps. Any context. */
void fxt_agent_exit(void);

/* Notes that the process is about to execute another program, or that it has failed to. Any context. */
void fxt_agent_leaves(bool leaves);

/* Cuts the file to what was written, if the process has one thread. Called before the process executes
 * another program, which may fail. Any context. */
void fxt_agent_trim(void);

/* Gives a buffer of a fixed size its whole size. Called before the process forbids itself the system calls by
 * which the file would grow. Any context. */
void fxt_agent_reserve(void);

/* Saves a buffer that is in memory, also one whose manager turns out to be gone. Called before the
 * process's memory may vanish, as when it executes another program. Any context. */
FXT_COLD void fxt_agent_save_memory(void);
/* Calls fxt_agent_save_memory() if the buffer is in memory, or a manager saves it. */
static inline void fxt_agent_save(void)
{
	if (FXT_UNLIKELY(fxt_agent.buffer.in_memory || fxt_agent.buffer.managed))
		fxt_agent_save_memory();
}

#endif
