/* Durations, counted in buckets whose width grows with them: percentiles within 1.6% in fixed memory,
 * whatever the number of calls. Used by report. */
#ifndef FXT_TOOLS_HISTOGRAM_H
#define FXT_TOOLS_HISTOGRAM_H

#include <stdint.h>

/* 32 buckets an octave: half a bucket is 1/64 of the value at most. */
enum { FXT_HISTOGRAM_STEPS = 32, FXT_HISTOGRAM_OCTAVES = 60, FXT_HISTOGRAM_FEW = 2 };

/* All zero is empty. The first values are kept as they are, as most names of a trace with very many have one call. Octaves are
 * made when they are first needed: calls of one name span a few. */
struct fxt_histogram {
	uint64_t count;
	uint64_t few[FXT_HISTOGRAM_FEW];
	uint64_t **octaves;             /* NULL while there are but few */
};

void fxt_histogram_add(struct fxt_histogram *h, uint64_t value);

/* The value that `percent` of all are at or below; 0 when there is none. */
uint64_t fxt_histogram_percentile(const struct fxt_histogram *h, double percent);

void fxt_histogram_free(struct fxt_histogram *h);

#endif
