/* Counts durations in buckets whose width grows with the duration. Report gets percentiles within 1.6%
 * from it, in memory that is bounded whatever the number of calls. */
#ifndef FXT_TOOLS_HISTOGRAM_H
#define FXT_TOOLS_HISTOGRAM_H

#include <stdint.h>

/* 32 buckets an octave: half a bucket is 1/64 of the value at most. */
enum { FXT_HISTOGRAM_STEPS = 32, FXT_HISTOGRAM_OCTAVES = 60, FXT_HISTOGRAM_FEW = 2 };

/* A histogram. When it is empty, all members are zero. The first values are kept as they are, because most
 * names have a single call in a trace with very many names. Octaves are made when they are first needed,
 * because calls of one name span only a few. */
struct fxt_histogram {
	uint64_t count;
	uint64_t few[FXT_HISTOGRAM_FEW];
	uint64_t **octaves;             /* NULL while all values are in `few` */
};

void fxt_histogram_add(struct fxt_histogram *h, uint64_t value);

/* Returns the value that `percent` of all values do not exceed; 0 if there are no values. */
uint64_t fxt_histogram_percentile(const struct fxt_histogram *h, double percent);

void fxt_histogram_free(struct fxt_histogram *h);

#endif
