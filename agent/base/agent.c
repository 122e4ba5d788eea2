/* See agent.h. The state that all parts of the agent share is defined here. */
#include "agent.h"

struct fxt_agent fxt_agent = {
	.storage = &fxt_agent.buffer.storage, .buffer.storage.ops = &fxt_buffer_ops, .buffer.fd = -1,
	.statm_fd = -1,
};
__thread struct fxt_thread *fxt_self, *fxt_self_ending, *fxt_self_leaving;
