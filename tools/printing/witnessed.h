/* The threads that the kernel tells of (docs/witness.md). Some of them have recorded nothing: children that
 * made no call, or in which the agent records nothing. `fxt record`, `fxt merge` and `fxt report` count them
 * by the same rule.
 */
#ifndef FXT_TOOLS_WITNESSED_H
#define FXT_TOOLS_WITNESSED_H

#include <stdbool.h>

#include "tools/common/map.h"
#include "tools/reading/reader.h"

/* When nothing has been taken, all members are zero. */
struct fxt_witnessed {
	struct fxt_map threads;         /* process and thread -> 1 if there are samples of it */
	bool numbers_differ;            /* a program knows its process by another number than the kernel */
};

/* Takes a record of any kind. */
void fxt_witnessed_take(struct fxt_witnessed *w, const struct fxt_record *rec);

/* Returns whether a thread, which is a slot of `threads`, counts. `records` says whether anything that its
 * process has recorded is in the trace. The agent makes tasks of its own for a moment, which are none of the
 * program's threads; there are no samples of them. Where programs are in another namespace of process ids, a
 * process that seems to have recorded nothing may be one of theirs. */
bool fxt_witnessed_counts(const struct fxt_witnessed *w, const struct fxt_slot *thread, bool records);

/* Returns how many processes there are, in words, and how many of them have recorded nothing, if the others
 * have. The caller frees it. */
char *fxt_processes_in_words(uint64_t processes, uint64_t silent);

void fxt_witnessed_free(struct fxt_witnessed *w);

#endif
