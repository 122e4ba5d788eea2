/* What samples need: numbers of a Poisson process, along which each unit is drawn with the same probability
 * and independently of all others. The units are bytes that are asked for (blocks.c), or nanoseconds of calls
 * (call_samples.h). Something that has many units is a sample if one of them was drawn. So the sum of what
 * samples stand for is an estimate without bias of what all things have, and so is each part of it. Any
 * context.
 */
#ifndef FXT_POISSON_H
#define FXT_POISSON_H

#include <stdint.h>

/* Returns after how many units the next one is drawn, at least 1: an exponentially distributed number.
 * `*random` is the state of the generator. `mean` is not 0. */
uint64_t fxt_poisson_distance(uint64_t *random, uint64_t mean);

/* Returns for how many units a sample with `units` of them stands: for these, divided by the probability that
 * one of so many is drawn. Neither is 0. */
uint64_t fxt_poisson_weight(uint64_t units, uint64_t mean);

#endif
