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

struct fxt_overview;

/* The last loss of a provider. Records that it lost are a gap as well. */
struct fxt_last_loss {
	struct fxt_provider *provider;
	uint32_t thread;                /* one of its process */
	uint64_t at_ns;
};

struct fxt_gaps {
	struct fxt_map last_ns;         /* provider -> when its recording has started last */
	struct fxt_last_loss *losses;   /* sorted by time */
	size_t loss_count, loss_capacity, next_loss;
};

/* Return whether the event says that recording of its program stops here, or starts. It starts after a gap,
 * or for the first time in a program that had waited. */
bool fxt_gap_begins(const struct fxt_record *rec);
bool fxt_gap_ends(const struct fxt_record *rec);

/* Takes any event, in any order. */
void fxt_gaps_take(struct fxt_gaps *gaps, const struct fxt_record *rec);
/* Takes the losses, after all events. */
void fxt_gaps_losses(struct fxt_gaps *gaps, struct fxt_reader *r, const struct fxt_overview *o);
/* Sets the record to an event at the time of the next loss before `ns`. Returns false if there is none. */
bool fxt_gaps_next_loss(struct fxt_gaps *gaps, uint64_t ns, struct fxt_record *rec);
/* Returns whether recording of the program has started after this time, in the trace's nanoseconds, or some
 * of its records were lost later. All events and losses have been taken. */
bool fxt_gaps_follow(const struct fxt_gaps *gaps, const struct fxt_provider *provider, uint64_t ns);
void fxt_gaps_free(struct fxt_gaps *gaps);

#endif
