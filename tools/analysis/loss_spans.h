/* What programs lost: how many records, by cause, and in which windows. overview.c takes it from a trace. */
#ifndef FXT_TOOLS_LOSS_SPANS_H
#define FXT_TOOLS_LOSS_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "tools/common/map.h"

/* The losses that the agent counts. */
enum fxt_loss_kind {
	FXT_LOSS_NO_ROOM,               /* records that found no room */
	FXT_LOSS_DEPTH,                 /* functions that nested too deep */
	FXT_LOSS_SIGNALS,               /* calls in signal handlers that nested too deep */
	FXT_LOSS_SIZE,                  /* records that were too large */
	FXT_DROP_COUNT,                 /* the losses above are dropped records, by cause */
	FXT_LOSS_FILTERED = FXT_DROP_COUNT,              /* calls that a threshold or a filter left out */
	FXT_LOSS_OVERWRITTEN,           /* events in a ring that newer ones have overwritten */
	FXT_LOSS_COUNT,
	/* These count no records. There was no place in the agent's tables, or in the trace, for */
	FXT_LOSS_BLOCKS = FXT_LOSS_COUNT,       /* heap blocks and samples without a lifetime */
	FXT_LOSS_STACKS,                        /* events without a call stack */
	FXT_LOSS_UNNAMED,                       /* objects and instrumented functions without a name */
	FXT_LOSS_KINDS
};

/* A process that lost records. */
struct fxt_loser {
	uint64_t pid;
	uint64_t dropped, lost[FXT_DROP_COUNT];
	/* times of its first and last loss; 0: not known */
	uint64_t first_ns, last_ns;
	char *reason;                   /* the reason, as its first instant about a loss says it; or NULL */
};

/* Takes from the counters what was lost before the session of which the trace is. The keys of both maps are
 * provider and loss in one number. A counter has its id besides, its value, and the time of the last loss
 * that it counts; `before` has the sum of those counters when the session began. That is taken from those
 * whose last loss was first: they have lost nothing since. */
void fxt_losses_settle(struct fxt_map *counters, const struct fxt_map *before);

/* Joins those that are of one process, removes those that lost no record, and sorts them: who lost most comes
 * first. Returns how many there are. */
size_t fxt_losers_join(struct fxt_loser *list, size_t count);

/* A window of one process: its threads lose records at the same time as a rule. */
struct fxt_loss_span {
	uint64_t pid, from_ns, to_ns, records;
};

/* Before the first window all members are zero. */
struct fxt_loss_spans {
	struct fxt_loss_span *list;
	size_t count, capacity;
	uint64_t gap_ns;                /* what lies closer together is one window */
};

/* Adds what a thread tells, in any order. Memory is bounded: of very many windows those that are close
 * together become one. */
void fxt_loss_spans_add(struct fxt_loss_spans *s, const struct fxt_loss_span *span);

/* Joins windows of a process that overlap or nearly do, and sorts them by process and time. */
void fxt_loss_spans_sort(struct fxt_loss_spans *s);

/* Returns the windows of a process after fxt_loss_spans_sort(), and how many there are. */
const struct fxt_loss_span *fxt_loss_spans_of(const struct fxt_loss_spans *s, uint64_t pid, size_t *count);

void fxt_loss_spans_free(struct fxt_loss_spans *s);

#endif
