/* Keeps the locks that a thread holds, while lock_scan.c or lock_replay.c goes through the calls about locks
 * in the order in which the thread made them.
 *
 * A thread holds few locks at once. One that holds more than FXT_LOCK_STACK_MAX is not followed any more,
 * because nobody would know when it has given the others up. */
#ifndef FXT_TOOLS_LOCK_STACKS_H
#define FXT_TOOLS_LOCK_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As many as the agent notes for a thread: FXT_HELD_LOCKS_MAX of agent/base/agent.h. */
enum { FXT_LOCK_STACK_MAX = 32 };

/* A lock that a thread holds. */
struct fxt_taken {
	uint64_t address;
	uint32_t times;                 /* how often the thread has taken it and not given it up */
	bool is_shared;                 /* it was taken for reading */
	bool is_old;                    /* lock_scan.c: it was taken before the present stretch */
	/* These two are lock_replay.c's: the place of the lock plus 1, or 0; and the place's turn then. */
	uint32_t place, turn;
};

struct fxt_lock_stack {
	struct fxt_taken *list;         /* in any order */
	size_t count, capacity;
	uint32_t provider;              /* index of the program that the thread ran last */
	bool is_lost;                   /* the thread held too many */
	/* The thread gave up a lock then that nobody saw it take. What it held before is not known. */
	uint64_t unsure_ns;
};

/* The stacks by thread, for lock_replay.c. At the beginning all members are zero. */
struct fxt_lock_stacks {
	struct fxt_lock_stack *list;
	size_t count, capacity;
};

/* Returns the stack of a thread in this program. It is empty if the thread has run another program before.
 * The address holds until the next call. */
struct fxt_lock_stack *fxt_lock_stack_of(struct fxt_lock_stacks *stacks, uint32_t thread, uint32_t provider);

/* Returns the lock at this address if the thread holds it, or NULL. */
static inline struct fxt_taken *fxt_lock_stack_find(const struct fxt_lock_stack *stack, uint64_t address)
{
	/* The lock that was taken last is given up first as a rule. */
	for (size_t i = stack->count; i > 0; i--)
		if (stack->list[i - 1].address == address)
			return &stack->list[i - 1];
	return NULL;
}

/* Makes the thread hold a lock that it does not hold yet. Returns NULL if it holds too many. */
struct fxt_taken *fxt_lock_stack_push(struct fxt_lock_stack *stack, uint64_t address, bool is_shared);

/* Makes the thread hold the lock no more. */
static inline void fxt_lock_stack_drop(struct fxt_lock_stack *stack, struct fxt_taken *taken)
{
	*taken = stack->list[--stack->count];
}

void fxt_lock_stacks_free(struct fxt_lock_stacks *stacks);

#endif
