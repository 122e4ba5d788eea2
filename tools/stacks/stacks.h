/* The stacks of all samples, for other tools and for the eye: fxt report --folded and --flame.
 *
 * Stacks are merged from the outermost function: functions that processes of one name called in the same
 * order are one stack, at whatever addresses. Both outputs cost memory for each merged stack. Stacks may be
 * of any depth in a trace from anywhere. Of deep ones the folded output leaves out the outer part, and the
 * graph the innermost.
 */
#ifndef FXT_TOOLS_STACKS_H
#define FXT_TOOLS_STACKS_H

#include <stdio.h>

#include "tools/analysis/processor_time.h"

/* A function as one chain of functions called it, or a process, which is the outermost of its stacks. */
struct fxt_stack {
	uint32_t parent;                /* place of the caller, which is lower; FXT_NO_NODE: a process */
	const char *label;
	bool is_kernel;
	uint64_t self, total;           /* samples */
};

struct fxt_stacks {
	struct fxt_stack *list;
	size_t count, capacity;
	uint64_t samples;
	struct fxt_map places;          /* caller and function -> place; while they are made */
	struct fxt_map of_nodes;        /* process's place and node -> place; while they are made */
	char **labels;                  /* by function of the tree; NULL: not made yet */
	size_t label_count;
	char **programs;                /* names of processes */
	size_t program_count, program_capacity;
};

/* Merges the stacks of all samples. `p` is finished. */
void fxt_stacks_make(struct fxt_stacks *s, const struct fxt_processor_time *p, struct fxt_reader *r);
void fxt_stacks_free(struct fxt_stacks *s);

/* Prints a line for each stack: "process;outermost;...;innermost samples". */
void fxt_stacks_print_folded(const struct fxt_stacks *s, FILE *out);
/* Prints a picture (SVG) that needs nothing else: each function is as wide as the samples that it was in, and
 * hangs below its caller, so that what programs call first is what is seen first. `title` is text. The time
 * of a sample is told if hz is not 0. */
void fxt_stacks_print_flame(const struct fxt_stacks *s, const char *title, uint64_t hz, FILE *out);

#endif
