/* What every command says of a trace as a whole: how much, from when to when, by category, and what is not in
 * it. Used by record's summary, report's first lines and categories.
 *
 * tools/analysis/ finds out of a trace what more than one subcommand tells: what it has and lacks, its categories, the
 * names behind pointers and symbols, how processes ended. It uses tools/printing/ and what that uses.
 */
#ifndef FXT_TOOLS_OVERVIEW_H
#define FXT_TOOLS_OVERVIEW_H

#include "tools/reading/reader.h"

struct fxt_usage {
	uint32_t category;              /* symbol */
	uint64_t events, bytes;
};

/* What the agent counts of what is not in the trace. */
enum fxt_loss {
	FXT_LOSS_NO_ROOM,               /* records there was no room for */
	FXT_LOSS_DEPTH,                 /* functions that nested too deep */
	FXT_LOSS_SIGNALS,               /* calls in signal handlers that nested too deep */
	FXT_LOSS_SIZE,                  /* records that were too large */
	FXT_DROP_COUNT,                 /* those above are dropped records, by cause */
	FXT_LOSS_FILTERED = FXT_DROP_COUNT,              /* calls shorter than the threshold */
	FXT_LOSS_OVERWRITTEN,           /* events in a ring that newer ones took the place of */
	FXT_LOSS_COUNT
};

/* A process that lost records. */
struct fxt_loser {
	uint64_t pid;
	uint64_t dropped, lost[FXT_DROP_COUNT];
	uint64_t first_ns, last_ns;     /* of the first loss, if that was told, and of the last; 0: not known */
	char *reason;                   /* as the first instant of it that tells of a loss says; or NULL */
};

/* All zero is the beginning. */
struct fxt_overview {
	uint64_t records, events, event_bytes;
	uint64_t written;               /* of the events, what the program did and is over: neither the agent's own nor open calls */
	uint64_t first_ns, last_ns;     /* valid when events is not 0 */
	struct fxt_usage *categories;   /* by symbol; entries of other symbols have no events */
	size_t category_count, category_capacity;
	uint64_t *thread_events;        /* by thread */
	size_t thread_count, thread_capacity;
	struct fxt_map counters;        /* the agent's running totals, by provider and loss, and counter id */
	struct fxt_loser *losers;       /* by provider, without counts, until fxt_overview_losers() */
	size_t loser_count, loser_capacity;
	uint64_t buffer_full;           /* provider events that say so */
	char *reason;                   /* why something was lost, as the first instant that tells of it says; or NULL */
};

void fxt_overview_take(struct fxt_overview *o, struct fxt_reader *r, const struct fxt_record *rec);
/* Counts events of so many bytes each, of which no more is known; none of category agent. */
void fxt_overview_count(struct fxt_overview *o, uint32_t category, uint32_t thread, uint64_t bytes, uint64_t events);
void fxt_overview_free(struct fxt_overview *o);

/* The sum over all providers and threads. */
uint64_t fxt_overview_lost(const struct fxt_overview *o, enum fxt_loss loss);
/* Whether anything is missing, for whatever cause. */
bool fxt_overview_any_lost(const struct fxt_overview *o);
/* When the last of them was, in the trace's nanoseconds; 0: there is none. */
uint64_t fxt_overview_lost_last_ns(const struct fxt_overview *o, enum fxt_loss loss);

/* The processes that lost records, the worst first. Nothing can be taken after. Returns how many there are; they are o->losers. */
size_t fxt_overview_losers(struct fxt_overview *o);

/* What the causes of dropped records are called, below FXT_DROP_COUNT. */
extern const char *const fxt_drop_causes[FXT_DROP_COUNT];

/* Over the sums by cause: of a report, or of all the parts of a recording. */
uint64_t fxt_lost_dropped(const uint64_t lost[FXT_LOSS_COUNT]);

/* Sorts categories by bytes, the largest first, and leaves out those without events. Nothing can be taken
 * after. */
void fxt_overview_rank(struct fxt_overview *o);

/* Threads with events, and the different processes they are of or that are named. */
size_t fxt_overview_threads(const struct fxt_overview *o);
size_t fxt_overview_processes(const struct fxt_overview *o, const struct fxt_reader *r);

#endif
