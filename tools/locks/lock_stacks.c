/* See lock_stacks.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "lock_stacks.h"

#include <stdlib.h>

#include "tools/common/message.h"

struct fxt_lock_stack *fxt_lock_stack_of(struct fxt_lock_stacks *stacks, uint32_t thread, uint32_t provider)
{
	struct fxt_lock_stack *stack;

	stacks->list = fxt_reach(stacks->list, &stacks->capacity, &stacks->count, thread,
				 sizeof(*stacks->list));
	stack = &stacks->list[thread];
	if (stack->provider != provider) {
		stack->provider = provider;
		stack->count = 0;
	}
	return stack;
}

struct fxt_taken *fxt_lock_stack_push(struct fxt_lock_stack *stack, uint64_t address, bool is_shared)
{
	struct fxt_taken *taken;

	if (stack->count == FXT_LOCK_STACK_MAX) {
		stack->is_lost = true;
		return NULL;
	}
	stack->list = fxt_grow(stack->list, &stack->capacity, stack->count + 1, sizeof(*stack->list));
	taken = &stack->list[stack->count++];
	*taken = (struct fxt_taken){.address = address, .times = 1, .is_shared = is_shared};
	return taken;
}

void fxt_lock_stacks_free(struct fxt_lock_stacks *stacks)
{
	for (size_t i = 0; i < stacks->count; i++)
		free(stacks->list[i].list);
	free(stacks->list);
	*stacks = (struct fxt_lock_stacks){0};
}
