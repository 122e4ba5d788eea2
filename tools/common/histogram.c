/* Counts durations in buckets whose width grows with the duration. See histogram.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "histogram.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "message.h"

enum { STEP_BITS = 5 };

/* Returns the octave of the value. Octave 0 holds 0 to 31 exactly; octave n > 0 holds 32 << (n - 1) up
 * to twice that. */
static unsigned octave_of(uint64_t value)
{
	unsigned top = value < FXT_HISTOGRAM_STEPS ? 0 : 63 - (unsigned)__builtin_clzll(value);

	return top ? top - STEP_BITS + 1 : 0;
}

static unsigned step_of(uint64_t value, unsigned octave)
{
	return octave ? (unsigned)(value >> (octave - 1)) - FXT_HISTOGRAM_STEPS : (unsigned)value;
}

static void count(struct fxt_histogram *h, uint64_t value)
{
	unsigned octave = octave_of(value);

	if (!h->octaves[octave])
		h->octaves[octave] = fxt_alloc(FXT_HISTOGRAM_STEPS, sizeof(uint64_t));
	h->octaves[octave][step_of(value, octave)]++;
}

/* Makes the octaves, and puts the values there that are kept as they are. */
static void make_octaves(struct fxt_histogram *h)
{
	if (h->octaves)
		return;
	h->octaves = fxt_alloc(FXT_HISTOGRAM_OCTAVES, sizeof(uint64_t *));
	for (unsigned i = 0; i < h->count; i++)
		count(h, h->few[i]);
}

void fxt_histogram_add(struct fxt_histogram *h, uint64_t value)
{
	if (!h->octaves && h->count < FXT_HISTOGRAM_FEW) {
		h->few[h->count++] = value;
		return;
	}
	make_octaves(h);
	count(h, value);
	h->count++;
}

void fxt_histogram_add_all(struct fxt_histogram *h, const struct fxt_histogram *other)
{
	make_octaves(h);
	h->count += other->count;
	for (unsigned i = 0; !other->octaves && i < other->count; i++)
		count(h, other->few[i]);
	for (unsigned octave = 0; other->octaves && octave < FXT_HISTOGRAM_OCTAVES; octave++) {
		if (!other->octaves[octave])
			continue;
		if (!h->octaves[octave])
			h->octaves[octave] = fxt_alloc(FXT_HISTOGRAM_STEPS, sizeof(uint64_t));
		for (unsigned step = 0; step < FXT_HISTOGRAM_STEPS; step++)
			h->octaves[octave][step] += other->octaves[octave][step];
	}
}

static uint64_t middle(unsigned octave, unsigned step)
{
	uint64_t low;

	if (octave == 0)
		return step;
	low = (uint64_t)(FXT_HISTOGRAM_STEPS + step) << (octave - 1);
	return low + ((UINT64_C(1) << (octave - 1)) >> 1);
}

uint64_t fxt_histogram_in_bucket(const struct fxt_histogram *h, unsigned bucket)
{
	const uint64_t *octave = h->octaves ? h->octaves[bucket / FXT_HISTOGRAM_STEPS] : NULL;

	return octave ? octave[bucket % FXT_HISTOGRAM_STEPS] : 0;
}

uint64_t fxt_histogram_bucket_middle(unsigned bucket)
{
	return middle(bucket / FXT_HISTOGRAM_STEPS, bucket % FXT_HISTOGRAM_STEPS);
}

/* Returns the middle of the value's bucket, as percentiles of many values do. */
static uint64_t percentile_of_few(const struct fxt_histogram *h, uint64_t wanted)
{
	bool swapped = h->count == 2 && h->few[1] < h->few[0];
	uint64_t value = h->few[wanted > 1 ? !swapped : swapped];
	unsigned octave = octave_of(value);

	return h->count ? middle(octave, step_of(value, octave)) : 0;
}

uint64_t fxt_histogram_percentile(const struct fxt_histogram *h, double percent)
{
	uint64_t wanted = (uint64_t)ceil((double)h->count * percent / 100);
	uint64_t seen = 0;

	if (!h->octaves)
		return percentile_of_few(h, wanted);
	for (unsigned octave = 0; octave < FXT_HISTOGRAM_OCTAVES; octave++) {
		for (unsigned step = 0; h->octaves[octave] && step < FXT_HISTOGRAM_STEPS; step++) {
			seen += h->octaves[octave][step];
			if (seen >= wanted && seen)
				return middle(octave, step);
		}
	}
	return 0;
}

void fxt_histogram_free(struct fxt_histogram *h)
{
	for (unsigned i = 0; h->octaves && i < FXT_HISTOGRAM_OCTAVES; i++)
		free(h->octaves[i]);
	free(h->octaves);
	*h = (struct fxt_histogram){0};
}
