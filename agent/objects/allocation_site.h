/* Allocation sites: the code that is responsible for a heap block. This is not always the caller of malloc(),
 * which may be `operator new` or strdup(): see agent/names/allocator_code.h. From such callers the stack is
 * followed upwards, frame by frame. Called when a block gets a lifetime, in any context, with enough stack
 * for a slow path.
 */
#ifndef FXT_ALLOCATION_SITE_H
#define FXT_ALLOCATION_SITE_H

#include "agent/base/agent.h"

/* Returns the allocation site, as a return address, of the block that a wrapper has got, whose frame is
 * `frame`. That is the first code on the stack that allocates for itself. Returns the address that the
 * wrapper returns to if there is none, if frames cannot be followed that far, and on other stacks than the
 * thread's own. */
uintptr_t fxt_allocation_site(struct fxt_thread *thread, const uintptr_t *frame);

/* Forgets all that is known of code, because libraries may have been unloaded, and others may be loaded
 * there. */
void fxt_allocation_sites_unloaded(void);

#endif
