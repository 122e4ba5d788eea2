/* Which heap blocks are drawn as samples, and what each stands for. Each byte that is asked for is drawn with
 * the same probability, once in FXT_HEAP_SAMPLE_BYTES on average and independently of all others (a Poisson
 * process over bytes), and a block is a sample if one of its bytes was drawn. So the sum of what the samples
 * stand for is an estimate without bias of all bytes that were asked for, and so is each part of the sum: by
 * stack, and of what is in use at some moment. Blocks of FXT_HEAP_TRACK_BYTES or more are all known and take
 * no part in this. Any context.
 */
#ifndef FXT_HEAP_SAMPLE_H
#define FXT_HEAP_SAMPLE_H

#include <stdint.h>

/* Returns after how many bytes the next one is drawn, at least 1: an exponentially distributed number.
 * `*random` is the state of the generator. `mean_bytes` is not 0. */
uint64_t fxt_heap_sample_distance(uint64_t *random, uint64_t mean_bytes);

/* Returns for how many bytes a sample of this size stands: its size, divided by the probability that a block
 * of that size is drawn. Neither is 0. */
uint64_t fxt_heap_sample_weight(uint64_t bytes, uint64_t mean_bytes);

#endif
