/* What rules ask of threads that one function made, and of where a thread computes. */
#ifndef FXT_TOOLS_RULE_THREADS_H
#define FXT_TOOLS_RULE_THREADS_H

#include "rules.h"

struct fxt_rule_thread {
	uint32_t thread;                /* place in fxt_reader.threads */
	uint64_t begin_ns, end_ns;      /* its first event and its last */
	struct fxt_switch_sums times;   /* as the kernel tells; without it, running_ns alone */
};

/* Threads of one process that one function made with the same callers. */
struct fxt_rule_group {
	uint64_t pid;
	uint32_t maker;                 /* the innermost node of the stack that made the first of them */
	struct fxt_rule_thread *list;
	size_t count, capacity;
};

/* Returns all groups, which the caller gives to fxt_rule_free_groups(). */
struct fxt_rule_group *fxt_rule_groups(const struct fxt_report *report, size_t *count);
void fxt_rule_free_groups(struct fxt_rule_group *groups, size_t count);
/* Returns whether the group has the thread. */
bool fxt_rule_group_has(const struct fxt_rule_group *g, uint32_t thread);

/* Returns the innermost node of the stack in which the thread computed longest, as samples tell, or
 * FXT_NO_FRAME. Sets *samples to how many of them are on that path. */
uint32_t fxt_rule_computes_in(const struct fxt_report *report, uint32_t thread, uint64_t *samples);

/* Returns how long other threads of the process waited until one of the group let them go on, or with
 * `by_group` how long those of the group waited for others. Sets *count. Waits for the end of a thread do
 * not count. */
uint64_t fxt_rule_waited_for(const struct fxt_report *report, const struct fxt_rule_group *g, bool by_group,
			     uint64_t *count);

#endif
