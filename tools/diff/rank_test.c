/* The rank test of Mann and Whitney. See rank_test.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "rank_test.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "tools/common/message.h"

struct ranked {
	double value;
	unsigned is_a;
	uint64_t rank2;                 /* twice its rank, as equal values share the mean of theirs */
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->value < y->value ? -1 : x->value > y->value;
}

/* Returns how many values each value is equal to, as the sum of t^3 - t that the approximation needs. */
static double rank(struct ranked *list, size_t count)
{
	double ties = 0;

	qsort(list, count, sizeof(*list), by_value);
	for (size_t i = 0, end; i < count; i = end) {
		double equal;

		for (end = i + 1; end < count && list[end].value == list[i].value; end++)
			continue;
		for (size_t k = i; k < end; k++)
			list[k].rank2 = i + 1 + end;
		equal = (double)(end - i);
		ties += equal * equal * equal - equal;
	}
	return ties;
}

/* Returns the part of all ways to choose `chosen` of the ranks whose sum is as far from the mean. The
 * ways are counted one rank after the other: ways[n][s] is how many choose n of those so far with the sum
 * s. */
static double exact(const struct ranked *list, size_t count, size_t chosen, uint64_t sum2)
{
	uint64_t most = count * (count + 1), mean2 = chosen * (count + 1);
	uint64_t off = sum2 > mean2 ? sum2 - mean2 : mean2 - sum2;
	double *ways = fxt_alloc((chosen + 1) * (most + 1), sizeof(*ways)), all = 0, far = 0;

	ways[0] = 1;
	for (size_t i = 0; i < count; i++)
		for (size_t n = (i < chosen ? i + 1 : chosen); n > 0; n--)
			for (uint64_t s = most; s >= list[i].rank2; s--)
				ways[n * (most + 1) + s] += ways[(n - 1) * (most + 1) + s - list[i].rank2];
	for (uint64_t s = 0; s <= most; s++) {
		double one = ways[chosen * (most + 1) + s];

		all += one;
		far += (s > mean2 ? s - mean2 : mean2 - s) >= off ? one : 0;
	}
	free(ways);
	return far / all;
}

/* Returns what a normal distribution has as far from the mean; half a rank is taken off, as ranks are
 * whole. */
static double approximate(size_t count, size_t a, size_t b, uint64_t sum2, double ties)
{
	double n = (double)count, mean = (double)a * (n + 1) / 2;
	double variance = (double)a * (double)b / 12 * (n + 1 - ties / (n * (n - 1)));
	double off = fabs((double)sum2 / 2 - mean) - 0.5;

	return variance <= 0 || off <= 0 ? 1 : erfc(off / sqrt(2 * variance));
}

double fxt_rank_test(const double *a, size_t a_count, const double *b, size_t b_count)
{
	size_t count = a_count + b_count;
	struct ranked *list;
	uint64_t sum2 = 0;
	double ties, p;

	if (!a_count || !b_count)
		return 1;
	list = fxt_alloc(count, sizeof(*list));
	for (size_t i = 0; i < count; i++)
		list[i] = (struct ranked){i < a_count ? a[i] : b[i - a_count], i < a_count, 0};
	ties = rank(list, count);
	for (size_t i = 0; i < count; i++)
		sum2 += list[i].is_a ? list[i].rank2 : 0;
	p = count <= FXT_RANK_TEST_EXACT ? exact(list, count, a_count, sum2)
					 : approximate(count, a_count, b_count, sum2, ties);
	free(list);
	return p;
}
