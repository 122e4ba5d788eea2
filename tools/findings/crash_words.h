/* Says in words how a program died by a signal: what it did, who is to blame, and what the trace knows of the
 * address that it used. See tools/callers/crashes.h.
 */
#ifndef FXT_TOOLS_CRASH_WORDS_H
#define FXT_TOOLS_CRASH_WORDS_H

#include "finding.h"

/* What there is to say of the end of one process. */
struct fxt_crash_words {
	char *how;                      /* "it read address 0x10", or NULL: nothing is known */
	const char *sure;               /* as in struct fxt_finding */
	uint32_t innermost;             /* node of the stack that it died in, or FXT_NO_FRAME */
	const struct fxt_crash *crash;  /* NULL: the trace has none */
	struct fxt_recursion recursion; /* of a stack that was used up */
	uint64_t sampled_ns;            /* without a crash, when the kernel saw that; 0: it did not */
};

/* Finds what is known of a process that was killed by this signal. The caller frees `how`. */
struct fxt_crash_words fxt_crash_words(const struct fxt_report *report, uint64_t pid, int signal);

/* Adds the lines of evidence to a finding. */
void fxt_crash_evidence(const struct fxt_crash_words *w, const struct fxt_report *report, uint64_t pid,
			struct fxt_finding *x);

#endif
