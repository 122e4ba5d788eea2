/* What every command says of a trace as a whole: how much, from when to when, by category, and what is not in
 * it. Used by record's summary, report's first lines and categories.
 */
#ifndef FXT_TOOLS_OVERVIEW_H
#define FXT_TOOLS_OVERVIEW_H

#include "reader.h"

struct fxt_usage {
	uint32_t category;              /* symbol */
	uint64_t events, bytes;
};

/* What the agent counts of what is not in the trace. */
enum fxt_loss {
	FXT_LOSS_DROPPED,               /* records there was no room for */
	FXT_LOSS_FILTERED,              /* calls shorter than the threshold */
	FXT_LOSS_OVERWRITTEN,           /* events in a ring that newer ones took the place of */
	FXT_LOSS_COUNT
};

/* All zero is the beginning. */
struct fxt_overview {
	uint64_t records, events, event_bytes;
	uint64_t first_ns, last_ns;     /* valid when events is not 0 */
	struct fxt_usage *categories;   /* by symbol; entries of other symbols have no events */
	size_t category_count, category_capacity;
	uint64_t *thread_events;        /* by thread */
	size_t thread_count, thread_capacity;
	struct fxt_map counters;        /* the agent's running totals, by provider and loss, and counter id */
	uint64_t buffer_full;           /* provider events that say so */
	char *reason;                   /* of the first instant of category agent that says why, or NULL */
};

void fxt_overview_take(struct fxt_overview *o, struct fxt_reader *r, const struct fxt_record *rec);
void fxt_overview_free(struct fxt_overview *o);

/* The sum over all providers and threads. */
uint64_t fxt_overview_lost(const struct fxt_overview *o, enum fxt_loss loss);

/* Sorts categories by bytes, the largest first, and leaves out those without events. Nothing can be taken
 * after. */
void fxt_overview_rank(struct fxt_overview *o);

/* Threads with events, and the different processes they are of or that are named. */
size_t fxt_overview_threads(const struct fxt_overview *o);
size_t fxt_overview_processes(const struct fxt_overview *o, const struct fxt_reader *r);

#endif
