/* Allocation sites: the code that is responsible for a heap block. This is not always the caller of malloc(),
 * which may be `operator new` or strdup(): see agent/names/allocator_code.h. From such callers the stack is
 * followed upwards, frame by frame. Called when a block gets a lifetime, in any context, with enough stack
 * for a slow path.
 */
#ifndef FXT_ALLOCATION_SITE_H
#define FXT_ALLOCATION_SITE_H

#include "agent/base/agent.h"

/* Returns the allocation site, as a return address, of a block that was got with this stack, a number of
 * fxt_call_stack_of(): the first code on it that allocates for itself. Returns `caller`, which is where the
 * wrapper returns to, if the stack is not known or has no such code. */
uintptr_t fxt_allocation_site(struct fxt_thread *thread, uint32_t stack, uintptr_t caller);

/* Forgets all that is known of code, because libraries may have been unloaded, and others may be loaded
 * there. */
void fxt_allocation_sites_unloaded(void);

#endif
