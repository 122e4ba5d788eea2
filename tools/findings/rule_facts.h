/* What rules ask of the finished report, for those that look for what is done again and again. */
#ifndef FXT_TOOLS_RULE_FACTS_H
#define FXT_TOOLS_RULE_FACTS_H

#include "rules.h"
#include "tools/callers/contrast.h"

/* Returns for how long its threads ran, in all: what work that a program does in vain is compared with. */
uint64_t fxt_rule_busy_ns(const struct fxt_report *report);
/* Returns when the first event of a process was. */
uint64_t fxt_rule_process_begin_ns(const struct fxt_report *report, uint64_t pid);

/* Returns whether the process is a shell, make or another program whose work is to start programs. */
bool fxt_rule_starts_programs(const struct fxt_report *report, uint64_t pid);

/* Returns how often the run made calls of this name. */
uint64_t fxt_rule_times_called(const struct fxt_report *report, const char *name);

/* Returns for how long the run was in calls of the heap. */
uint64_t fxt_rule_heap_ns(const struct fxt_report *report);
/* Returns the process that has this node of the agent's call stacks; 0: it is not known. */
uint64_t fxt_rule_process_of(const struct fxt_report *report, uint32_t innermost);

/* Returns a name of a symbol, which the caller frees: at most so many columns. */
char *fxt_rule_name(const struct fxt_report *report, uint32_t symbol, size_t columns);

/* Returns in how many samples a function with one of these names was, however deep, and sets *innermost to
 * the node of the caller (in the call stacks) that most of these have: who had it done. The list ends with
 * NULL. */
uint64_t fxt_rule_samples_in(const struct fxt_report *report, const char *const *names, uint32_t *innermost);

/* Makes the telling frame the culprit of a finding, if there is one among the items (contrast.h): the stack
 * so far becomes one that the finding stands on. Returns whether there is one; the caller frees
 * found->helper. */
bool fxt_rule_contrast(const struct fxt_report *report, struct fxt_finding *x, enum fxt_contrast_by by,
		       const struct fxt_contrast_item *items, size_t count, struct fxt_contrast *found);
/* Does so for calls of one key (fxt_call_key()) that took long, and adds the figures as evidence. */
void fxt_rule_contrast_waits(const struct fxt_report *report, struct fxt_finding *x, uint64_t key);

/* Returns the innermost node of the stack that the calls of this name have taken longest in, or
 * FXT_NO_FRAME. */
uint32_t fxt_rule_caller_of(const struct fxt_report *report, const char *category, const char *name);

/* Returns whether a lock was held across waits, and these were half of what others waited for it, or more.
 * Rule held-lock tells of it then, and rule contention does not. */
bool fxt_rule_held_across_wait(const struct fxt_report *report, const struct fxt_held_lock *l);

#endif
