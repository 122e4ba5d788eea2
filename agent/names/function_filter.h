/* The rules of FXT_FILTER: which functions are recorded. docs/functions.md has the grammar. The list is read
 * once, at start. A function is decided about once, when it is entered for the first time, under
 * the lock of the function table. These functions read nothing but their arguments and the rules. */
#ifndef FXT_FUNCTION_FILTER_H
#define FXT_FUNCTION_FILTER_H

#include <stdbool.h>
#include <stddef.h>

/* A verdict of the rules on a function. */
enum fxt_filter_verdict {
	FXT_FILTER_KEEP,                /* it is recorded */
	FXT_FILTER_KEEP_TREE,           /* it is recorded with all that it calls */
	FXT_FILTER_IN_TREE,             /* it is recorded in the tree of one of FXT_FILTER_KEEP_TREE */
	FXT_FILTER_LEAVE,               /* it is left out, and what it calls is not */
	FXT_FILTER_LEAVE_TREE,          /* it is left out with all that it calls */
};

enum { FXT_FILTER_BYTES = 4096 };       /* the room for a list, with its end */

struct fxt_function_filter {
	bool is_set;                    /* there is a list */
	bool has_trees;                 /* a rule is about a function with all that it calls */
	bool keeps_trees;               /* such a rule keeps them */
	char list[FXT_FILTER_BYTES];
};

extern struct fxt_function_filter fxt_function_filter __attribute__((visibility("hidden")));
/* FXT_PATCH says in the same way which functions are patched (interpose/functions/patch.c), and FXT_PLT which
 * functions have stubs (interpose/functions/plt.c). */
extern struct fxt_function_filter fxt_patch_rules __attribute__((visibility("hidden")));
extern struct fxt_function_filter fxt_plt_rules __attribute__((visibility("hidden")));

/* Takes over a list. Returns NULL, or the rule that is not accepted, with its length in *bytes; a length of
 * FXT_FILTER_BYTES or more means that the list is too long. An empty list is none. */
const char *fxt_filter_read(struct fxt_function_filter *filter, const char *list, size_t *bytes);

/* Returns what the rules say of a function of this name in the file `module`, which is a name without
 * directories. */
enum fxt_filter_verdict fxt_filter_decide(const struct fxt_function_filter *filter, const char *name,
					  size_t bytes, const char *module);

/* Writes the qualified name of a C++ function, such as a::B::c, of its mangled name to `out`. The template
 * arguments and parameters are no part of it. Returns its length, or 0 if the name is not understood: names
 * with template arguments, operators, lambdas and abbreviations other than std are not. */
size_t fxt_filter_plain_name(const char *mangled, size_t bytes, char *out, size_t capacity);

#endif
