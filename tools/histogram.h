/* Durations, counted in buckets whose width grows with them: percentiles within 1.6% in fixed memory,
 * whatever the number of calls. Used by report. */
#ifndef FXT_TOOLS_HISTOGRAM_H
#define FXT_TOOLS_HISTOGRAM_H

#include <stdint.h>

/* 32 buckets an octave: half a bucket is 1/64 of the value at most. */
enum { FXT_HISTOGRAM_STEPS = 32, FXT_HISTOGRAM_OCTAVES = 60 };

/* All zero is empty. Octaves are made when they are first needed: calls of one name span a few. */
struct fxt_histogram {
	uint64_t *octaves[FXT_HISTOGRAM_OCTAVES];
	uint64_t count;
};

void fxt_histogram_add(struct fxt_histogram *h, uint64_t value);

/* The value that `percent` of all are at or below; 0 when there is none. */
uint64_t fxt_histogram_percentile(const struct fxt_histogram *h, double percent);

void fxt_histogram_free(struct fxt_histogram *h);

#endif
