/* Times in which nothing of a program was recorded: it went on while recording was stopped, and nobody knows
 * what it closed and freed meanwhile. What was open before and has no end is of unknown end.
 *
 * The agent writes an instant when recording stops and another one when it starts. The first of them may be
 * missing: a program that does nothing hears late that it is to stop, and what it has then is cleared.
 */
#ifndef FXT_TOOLS_GAPS_H
#define FXT_TOOLS_GAPS_H

#include "tools/common/map.h"
#include "tools/reading/reader.h"

struct fxt_gaps {
	struct fxt_map last_ns;         /* provider -> when its recording has started last */
};

/* Return whether the event says that recording of its program stops here, or starts. It starts after a gap,
 * or for the first time in a program that had waited. */
bool fxt_gap_begins(const struct fxt_record *rec);
bool fxt_gap_ends(const struct fxt_record *rec);

/* Takes any event, in any order. */
void fxt_gaps_take(struct fxt_gaps *gaps, const struct fxt_record *rec);
/* Returns whether recording of the program has started after this time, in the trace's nanoseconds. All
 * events have been taken. */
bool fxt_gaps_follow(const struct fxt_gaps *gaps, const struct fxt_provider *provider, uint64_t ns);
void fxt_gaps_free(struct fxt_gaps *gaps);

#endif
