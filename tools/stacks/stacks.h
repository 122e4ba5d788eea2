/* Stacks with weights, for other tools and for the eye: fxt report --folded and --flame. The weights are
 * samples of the processor, bytes of the heap, or time in waits.
 *
 * Stacks are merged from the outermost function: functions that processes of one name called in the same
 * order are one stack, at whatever addresses. Both outputs cost memory for each merged stack. Stacks may be
 * of any depth in a trace from anywhere. Of deep ones the folded output leaves out the outer part, and the
 * graph the innermost.
 */
#ifndef FXT_TOOLS_STACKS_H
#define FXT_TOOLS_STACKS_H

#include <stdio.h>

#include "tools/analysis/call_stacks.h"
#include "tools/analysis/processor_time.h"

/* A function as one chain of functions called it, or a process, which is the outermost of its stacks. */
struct fxt_stack {
	uint32_t parent;                /* place of the caller, which is lower; FXT_NO_NODE: a process */
	const char *label;
	bool is_kernel;
	uint64_t self, total;           /* weights */
};

/* What stacks are weighed by, and the words for it. */
enum fxt_weight {
	FXT_WEIGHT_PROCESSOR,
	FXT_WEIGHT_LEFT,
	FXT_WEIGHT_PEAK,
	FXT_WEIGHT_ALLOCATED,
	FXT_WEIGHT_WAITS,
	FXT_WEIGHTS
};
extern const char *const fxt_weight_names[FXT_WEIGHTS];

enum fxt_stacks_unit { FXT_STACKS_SAMPLES, FXT_STACKS_BYTES, FXT_STACKS_NS };

struct fxt_stacks {
	struct fxt_stack *list;
	size_t count, capacity;
	enum fxt_stacks_unit unit;
	uint64_t samples;               /* the sum of all weights */
	struct fxt_map places;          /* caller and function -> place; while they are made */
	struct fxt_map of_nodes;        /* process's place and node -> place; while they are made */
	char **labels;                  /* by function of the tree, or by symbol; NULL: not made yet */
	size_t label_count, label_capacity;
	char **programs;                /* names of processes */
	size_t program_count, program_capacity;
};

/* Merges the stacks of all samples. `p` is finished. */
void fxt_stacks_make(struct fxt_stacks *s, const struct fxt_processor_time *p, struct fxt_reader *r);
/* Begins with no stacks of the agent's; adds one of a process, by its innermost node, or a part of that; and
 * completes the sums, after which nothing can be added. A weight beyond 2^40 is taken for that. */
void fxt_stacks_begin(struct fxt_stacks *s, enum fxt_stacks_unit unit);
void fxt_stacks_add(struct fxt_stacks *s, const struct fxt_call_stacks *stacks, struct fxt_reader *r,
		    uint64_t pid, uint32_t innermost, uint64_t weight);
void fxt_stacks_finish(struct fxt_stacks *s);
void fxt_stacks_free(struct fxt_stacks *s);

/* Prints a line for each stack: "process;outermost;...;innermost weight". */
void fxt_stacks_print_folded(const struct fxt_stacks *s, FILE *out);
/* Prints a picture (SVG) that needs nothing else: each function is as wide as the samples that it was in, and
 * hangs below its caller, so that what programs call first is what is seen first. `title` is text. The time
 * of a sample is told if hz is not 0. There is some weight. */
void fxt_stacks_print_flame(const struct fxt_stacks *s, const char *title, uint64_t hz, FILE *out);

#endif
