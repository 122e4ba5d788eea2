/* fxt report: sums of the calls of one kind on one file: their number, the bytes they moved, and their times.
 * report_files.c and report_print.c use them. */
#ifndef FXT_TOOLS_REPORT_TRANSFERS_H
#define FXT_TOOLS_REPORT_TRANSFERS_H

#include "tools/common/histogram.h"

/* Most files of a trace are read a few times and closed. Their latencies are kept one by one, which
 * takes a tenth of a histogram's memory. */
enum { FXT_FEW_TRANSFERS = 8 };

/* The sums of the calls of one kind on one file. Without calls all members are zero. */
struct fxt_transfers {
	uint64_t calls, bytes, total_ns, max_ns;
	/* calls that moved bytes and do not say how many */
	uint64_t unsaid;
	uint64_t few_ns[FXT_FEW_TRANSFERS];     /* the latencies, while there is no histogram */
	struct fxt_histogram *many;
};

void fxt_transfers_add(struct fxt_transfers *t, uint64_t ns, uint64_t bytes);
/* Returns the time in nanoseconds that `percent` of the calls do not exceed. Nothing may be added after
 * the first call of this. */
uint64_t fxt_transfers_percentile(struct fxt_transfers *t, double percent);
/* Returns the mean number of bytes of the calls that say how many; 0 if none does. */
uint64_t fxt_transfers_mean_bytes(const struct fxt_transfers *t);
void fxt_transfers_free(struct fxt_transfers *t);

#endif
