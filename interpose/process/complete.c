/* Provides the memory of an environment that is completed for a program: see complete.h. The wrappers of exec
 * and posix_spawn call this in any context, also in the child of a vfork, whose memory is its parent's. */
#include "complete.h"

#include <stdatomic.h>
#include <string.h>

#include "agent/base/agent.h"
#include "writer/place.h"

/* A process with little room may find none, and has to run a program without the library all the more then.
 * The variables themselves are not copied, so most environments fit into this. */
static FXT_LARGE uint64_t spare[512];
static atomic_bool is_spare_taken;

static void *take_memory(size_t bytes)
{
	void *memory = fxt_sys_memory(bytes);

	if (memory || bytes > sizeof(spare) || atomic_exchange(&is_spare_taken, true))
		return memory;
	memset(spare, 0, bytes);
	return spare;
}

static void give_memory_back(void *memory, size_t bytes)
{
	if (memory == spare)
		atomic_store(&is_spare_taken, false);
	else
		fxt_sys_munmap(memory, bytes);
}

void *fxt_complete_take(struct fxt_complete *complete, size_t bytes)
{
	struct fxt_thread *thread = fxt_self;

	/* Some was kept before a filter forbade to map memory, or to ask whose this is. */
	if (fxt_is_forbidden(FXT_NO_MAPPING | FXT_NO_LOCKS)) {
		complete->memory = fxt_follow_take_room(bytes);
		return complete->memory;
	}
	/* Memory that a process takes for itself is given back if the call fails. If the call succeeds, the
	 * kernel frees it together with the rest of the process's memory. */
	if ((uint32_t)fxt_sys_getpid() == fxt_agent.pid || !thread) {
		complete->bytes = bytes;
		complete->memory = take_memory(bytes);
		return complete->memory;
	}
	if (thread->vfork.environment_bytes < bytes) {
		give_memory_back(thread->vfork.environment, thread->vfork.environment_bytes);
		thread->vfork.environment = take_memory(bytes);
		thread->vfork.environment_bytes = thread->vfork.environment ? bytes : 0;
	}
	return thread->vfork.environment;
}

void fxt_complete_give_back(const struct fxt_complete *complete)
{
	if (complete->memory && !complete->bytes)
		fxt_follow_give_room_back(complete->memory);
	else if (complete->memory)
		give_memory_back(complete->memory, complete->bytes);
}
