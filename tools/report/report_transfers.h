/* fxt report: calls of one kind on one file: how many, how much they moved, how long they took. */
#ifndef FXT_TOOLS_REPORT_TRANSFERS_H
#define FXT_TOOLS_REPORT_TRANSFERS_H

#include "tools/common/histogram.h"

/* Most files of a trace are read a few times and closed: their latencies are kept as they are, in a
 * tenth of a histogram's memory. */
enum { FXT_FEW_TRANSFERS = 8 };

/* All zero is none. */
struct fxt_transfers {
	uint64_t calls, bytes, total_ns, max_ns;
	/* of the calls, those that moved bytes and do not say how many */
	uint64_t unsaid;
	uint64_t few_ns[FXT_FEW_TRANSFERS];     /* while there is no histogram */
	struct fxt_histogram *many;
};

void fxt_transfers_add(struct fxt_transfers *t, uint64_t ns, uint64_t bytes);
/* No more are added after the first of these. */
uint64_t fxt_transfers_percentile(struct fxt_transfers *t, double percent);
/* Bytes a call, of those that say; 0: none does. */
uint64_t fxt_transfers_mean_bytes(const struct fxt_transfers *t);
void fxt_transfers_free(struct fxt_transfers *t);

#endif
