/* The files of renumber.h share this: renumber.c reads the trace for who had which number, and
 * renumber_patch.c replaces koids. */
#ifndef FXT_TOOLS_RENUMBER_PARTS_H
#define FXT_TOOLS_RENUMBER_PARTS_H

#include "renumber.h"

/* A program: what one provider has recorded. */
struct fxt_renumber_program {
	struct fxt_provider *provider;
	uint64_t own; /* the koid of its process, as the provider names it first; 0: none */
	uint64_t first_ns; /* the time of its first record */
	size_t process; /* place of its process among the bearers */
	bool numbers_differ; /* it knows other numbers than the trace has */
};

/* Returns what is known of a provider. */
struct fxt_renumber_program *fxt_renumber_program_of(struct fxt_renumber *n, struct fxt_provider *provider);

/* Replaces the koids in the trace. */
void fxt_renumber_patch(struct fxt_renumber *n);

#endif
