/* Blame by contrast. A helper that many share is nobody's fault: of the blocks that one caller asked for
 * through it all are left, of those of its other callers none. The telling frame is the one where the share
 * of what went wrong jumps, on the way from the helper to its callers.
 *
 * At each step the caller with most of what went wrong is compared with all others. It tells if the
 * difference can hardly be chance; what that means, and what becomes of small samples, is in
 * docs/findings.md.
 */
#ifndef FXT_TOOLS_CONTRAST_H
#define FXT_TOOLS_CONTRAST_H

#include "tools/callers/who.h"

/* What was done with one stack. */
struct fxt_contrast_item {
	uint32_t innermost;             /* node */
	/* how often it was done, and how often that went wrong; or how long it took in all, in which case all
	 * of it counts */
	double all, bad;
};

/* How the items are compared: by the shares of what went wrong, or by how long one takes in the mean. */
enum fxt_contrast_by { FXT_BY_SHARE, FXT_BY_MEAN };

struct fxt_contrast {
	uint32_t frame;                 /* the node of the telling frame, on the heaviest stack */
	struct fxt_contrast_item own;   /* the sums of what it has done through the helper */
	struct fxt_contrast_item others;        /* and those of all other callers */
	size_t callers;                 /* how many other callers the helper has */
	char *helper;                   /* its name, which the caller frees */
};

/* Finds the telling frame for the culprit of the stack `innermost`, whose stacks are among the items, as are
 * those of others. Returns false if there is none. */
bool fxt_contrast_find(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost,
		       enum fxt_contrast_by by, const struct fxt_contrast_item *items, size_t count,
		       struct fxt_contrast *found);

#endif
