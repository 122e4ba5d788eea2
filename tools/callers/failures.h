/* Calls that failed, and who made them. The agent records the stack of the first failure of each place in the
 * program, either with the call or as an instant `failed` behind it. So the places are known, and how often a
 * call failed in all, but not how often at each place.
 */
#ifndef FXT_TOOLS_FAILURES_H
#define FXT_TOOLS_FAILURES_H

#include <stdio.h>

#include "tools/callers/stack_sums.h"

/* All failures of one call with one error. */
struct fxt_failure {
	uint32_t category, name;        /* symbols */
	int error;
	uint64_t id;                    /* the key of its stacks in fxt_failures.by_stack */
	uint64_t count, first_ns;
	uint32_t *stacks;               /* innermost nodes, in the order of the file */
	size_t stack_count, stack_capacity;
};

struct fxt_failures {
	struct fxt_failure *list;       /* sorted: the most frequent first */
	size_t count, capacity;
	struct fxt_map by_call;
	struct fxt_map last;            /* thread -> place of its last failure */
	struct fxt_stack_sums by_stack; /* counts of those whose stack is known, by `id` */
	bool has_stacks;
};

struct fxt_json;

/* Takes a finished call, and passes over one that did not fail. */
void fxt_failures_take(struct fxt_failures *f, struct fxt_reader *r, struct fxt_call_stacks *stacks,
		       const struct fxt_record *rec);
/* Takes the instant that says where the thread's last failure was. */
void fxt_failures_where(struct fxt_failures *f, struct fxt_call_stacks *stacks, const struct fxt_record *rec);
void fxt_failures_sort(struct fxt_failures *f);
/* Prints the section, if any stack is known. */
void fxt_failures_print(const struct fxt_failures *f, struct fxt_who *who, uint64_t begin_ns, size_t top,
			FILE *out);
void fxt_failures_json(const struct fxt_failures *f, struct fxt_who *who, struct fxt_json *j);
void fxt_failures_free(struct fxt_failures *f);

#endif
