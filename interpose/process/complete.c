/* Where an environment lies that is completed for a program: see complete.h. Called by the wrappers of exec and posix_spawn, in any context,
 * also in the child of a vfork, whose memory is its parent's. */
#include "complete.h"

#include "agent/base/agent.h"

void *fxt_complete_take(struct fxt_complete *complete, size_t bytes)
{
	struct fxt_thread *thread = fxt_self;

	/* The process's own is given back if the call fails, and goes with the process otherwise. */
	if ((uint32_t)fxt_sys_getpid() == fxt_agent.pid || !thread) {
		complete->bytes = bytes;
		complete->memory = fxt_sys_memory(bytes);
		return complete->memory;
	}
	if (thread->environment_bytes < bytes) {
		fxt_sys_munmap(thread->environment, thread->environment_bytes);
		thread->environment = fxt_sys_memory(bytes);
		thread->environment_bytes = thread->environment ? bytes : 0;
	}
	return thread->environment;
}

void fxt_complete_give_back(const struct fxt_complete *complete)
{
	if (complete->memory)
		fxt_sys_munmap(complete->memory, complete->bytes);
}
