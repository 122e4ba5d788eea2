/* The call tree of a trace's samples. A node is a function at one address, as one chain of callers called it;
 * the trace has a record about each (a userspace object of type `frame`), and a sample names its innermost
 * node. Report takes these records by way of processor_time.h.
 *
 * The tree costs memory for each node, and for each pair of a thread and a node that the thread was sampled
 * in. A node's caller stands before it in the file. So a caller's place in the list is lower, and there are
 * no circles. Chains may be of any length, so nothing here recurses.
 */
#ifndef FXT_TOOLS_CALL_TREE_H
#define FXT_TOOLS_CALL_TREE_H

#include "tools/reading/reader.h"

/* The name of the function that stands for all functions of the agent, which are what recording costs. */
#define FXT_TREE_AGENT "[fxtagent]"

/* The place of the caller of an outermost node. */
#define FXT_NO_NODE UINT32_MAX

struct fxt_tree_node {
	uint32_t parent;                /* place of the caller's node, or FXT_NO_NODE */
	uint32_t function;              /* place in fxt_call_tree.functions */
	uint64_t offset;                /* address, as in the module's file */
	/* samples that it was the innermost of, and all that it was in */
	uint64_t self, total;
};

/* An address in a function, with the sums of all nodes that have it. Recursion counts twice in `total`. */
struct fxt_tree_address {
	uint32_t function;
	uint64_t offset, self, total;
};

struct fxt_tree_function {
	uint32_t name, module;          /* symbols; `module` is a path, and 0 if it is not known */
	uint32_t build_id;              /* symbol of the module's, in hexadecimal; 0: it is not known */
	/* A sample counts once in `total`, however often it has the function. */
	uint64_t self, total;
	/* its addresses lie together in fxt_call_tree.addresses, the one with most samples first */
	size_t addresses, address_count;
};

/* The tree. When nothing has been taken, all members are zero. */
struct fxt_call_tree {
	struct fxt_tree_node *nodes;    /* in the order of the file */
	size_t count, capacity;
	struct fxt_tree_function *functions;
	size_t function_count, function_capacity;
	struct fxt_map by_id;           /* provider's index and id, or NAMED and symbol -> node */
	struct fxt_map by_name;         /* name and module -> function */
	struct fxt_map leaves;          /* thread and innermost node -> samples */
	uint64_t samples;
	struct fxt_tree_address *addresses;     /* set by fxt_call_tree_finish() */
	size_t address_count;
	uint32_t *ranked;               /* places of functions in order, set by fxt_call_tree_rank() */
	bool is_by_total;               /* that order is the one of `total` */
};

/* Takes a record about a node. */
void fxt_call_tree_frame(struct fxt_call_tree *t, struct fxt_reader *r, const struct fxt_record *rec);
/* Takes a sample of the thread. If the trace says nothing of its stack, the function that the sample is named
 * after stands alone. */
void fxt_call_tree_sample(struct fxt_call_tree *t, struct fxt_reader *r, const struct fxt_record *rec,
			  uint32_t thread);
/* Completes all sums. Nothing can be taken afterwards. */
void fxt_call_tree_finish(struct fxt_call_tree *t);
/* Puts the functions in the order of their samples: of `self`, or with `by_total` of `total`. */
void fxt_call_tree_rank(struct fxt_call_tree *t, bool by_total);
void fxt_call_tree_free(struct fxt_call_tree *t);

#endif
