/* Functions in call stacks whose names nobody could find: what files they are of, and whether these were cut
 * off. A file without symbols is usual; one that was cut off while a program used it has lost them. */
#ifndef FXT_TOOLS_NAMELESS_H
#define FXT_TOOLS_NAMELESS_H

#include "tools/analysis/call_stacks.h"
#include "tools/reading/reader.h"

/* A file that was cut off, as it is on disk now. */
struct fxt_cut_file {
	struct fxt_text path;
	uint64_t functions;             /* addresses of it in call stacks that have no name */
};

/* All members are zero at first. */
struct fxt_nameless {
	uint64_t functions;             /* addresses in files that have no name */
	struct fxt_cut_file *cut;
	size_t cut_count, cut_capacity;
};

/* Looks through the nodes of all call stacks. Names were completed as far as they can be found. */
void fxt_nameless_find(struct fxt_nameless *n, const struct fxt_call_stacks *stacks,
		       const struct fxt_reader *r);

void fxt_nameless_free(struct fxt_nameless *n);

#endif
