/* Who is responsible: the function on a call stack that did something for itself. Allocators, the libraries
 * of C and C++, wrappers of locks and the agent itself do their callers' work, and are skipped. What is
 * skipped stands in wrapper_names.def, and the user may add to it.
 *
 * An engine (node, python, java) makes functions of what its user has written, and the names of these are
 * known if it writes them for perf. The engine's own code works for them, so it is skipped where one of them
 * stands further out on the stack and is no wrapper itself. Elsewhere nothing better is known than the
 * engine's code, so it is a culprit like any other.
 *
 * Stacks are merged into paths. A path is the chain of functions from the culprit to the outermost, without
 * wrappers, and without the repetitions of a function that calls itself. So stacks of one path may differ in
 * their addresses. Everything is found out once for each node, so that it costs no more than the trace has
 * nodes, however deep stacks are.
 */
#ifndef FXT_TOOLS_CULPRIT_H
#define FXT_TOOLS_CULPRIT_H

#include "tools/analysis/call_stacks.h"

/* What was done. Wrappers differ by that. */
enum fxt_purpose { FXT_FOR_HEAP, FXT_FOR_LOCK, FXT_FOR_CALL, FXT_PURPOSES };

/* The place of a path that is not known, or of the caller of an outermost one. */
#define FXT_NO_PATH UINT32_MAX

/* A function, as one chain of functions called it. */
struct fxt_call_path {
	uint32_t caller;                /* place of the caller's path, which is lower, or FXT_NO_PATH */
	uint32_t frame;                 /* place of a node that stands for it */
	uint32_t name, module;          /* symbols, or 0 */
};

struct fxt_call_paths {
	struct fxt_call_path *list;
	size_t count, capacity;
	struct fxt_map by_function;     /* caller's path, and name and module -> place */
	struct fxt_map shorts;          /* of fxt_path_short() */
	uint32_t *of_frames; /* by node: its path plus 1, FXT_NO_PATH: it has none; 0: not asked yet */
	uint32_t *culprits;             /* by node, once its path is known */
	bool *are_made;                 /* so, too: the path has a made function that is no engine's */
};

struct fxt_culprits {
	const struct fxt_call_stacks *stacks;
	struct fxt_reader *r;
	char **more;                    /* the user's globs */
	size_t more_count, more_capacity;
	struct fxt_map kinds;           /* name and module -> a bit for each purpose, and others */
	size_t count;                   /* nodes that the arrays below have room for */
	struct fxt_call_paths paths[FXT_PURPOSES];
};

/* Begins to ask about stacks, which are finished. `more` is a list of globs with commas between them, or
 * NULL. Each stands for functions, by their full names or those without parameters, or for files. */
void fxt_culprits_begin(struct fxt_culprits *c, const struct fxt_call_stacks *stacks, struct fxt_reader *r,
			const char *more);
/* Returns the path of a stack by its innermost node, or FXT_NO_PATH: all of it is wrappers, or nothing is
 * known of it. */
uint32_t fxt_path_of(struct fxt_culprits *c, enum fxt_purpose purpose, uint32_t innermost);
/* Returns the node of the culprit, or FXT_NO_FRAME. It is the node of this stack, where the path has another
 * of the same function. */
uint32_t fxt_culprit_of(struct fxt_culprits *c, enum fxt_purpose purpose, uint32_t innermost);
/* Returns a number that paths have in common if the culprit and its next FXT_SHOWN_CALLERS callers are the
 * same, which is what a line of a report shows. */
enum { FXT_SHOWN_CALLERS = 3 };
uint32_t fxt_path_short(struct fxt_culprits *c, enum fxt_purpose purpose, uint32_t path);
/* Returns whether the node's function is skipped; and whether a function with this name would be, which was
 * inlined into it. */
bool fxt_is_wrapper(struct fxt_culprits *c, enum fxt_purpose purpose, uint32_t frame);
bool fxt_is_wrapper_name(struct fxt_culprits *c, enum fxt_purpose purpose, uint32_t frame, const char *name);
/* Returns whether the stack has code of the C++ library, and nobody's who would have called that. */
bool fxt_is_of_cxx_library(struct fxt_culprits *c, enum fxt_purpose purpose, uint32_t innermost);
void fxt_culprits_free(struct fxt_culprits *c);

#endif
