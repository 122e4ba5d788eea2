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

/* Adds all values of another histogram. */
void fxt_histogram_add_all(struct fxt_histogram *h, const struct fxt_histogram *other);

/* Buckets are numbered in the order of their values. The first function returns how many values a bucket has;
 * only valid after fxt_histogram_add_all() has added to the histogram. The second returns the middle of a
 * bucket, which is what percentiles are told by. */
enum { FXT_HISTOGRAM_BUCKETS = FXT_HISTOGRAM_STEPS * FXT_HISTOGRAM_OCTAVES };
uint64_t fxt_histogram_in_bucket(const struct fxt_histogram *h, unsigned bucket);
uint64_t fxt_histogram_bucket_middle(unsigned bucket);

void fxt_histogram_free(struct fxt_histogram *h);

#endif
