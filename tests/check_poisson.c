/* This tests agent/stacks/poisson.h: its numbers are those of the library of mathematics, and programs
 * that draw blocks by it get estimates without bias, whatever the sizes are. FXT_SEED names the numbers. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/stacks/poisson.h"
#include "suite.h"

static uint64_t state;

static uint64_t draw(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (state >> 16) % below;
}

static void begin_random(void)
{
	const char *seed = getenv("FXT_SEED");

	state = seed ? strtoull(seed, NULL, 10) : (uint64_t)getpid() * 2654435761u;
	printf("FXT_SEED=%llu\n", (unsigned long long)state);
	fflush(stdout);
}

START_TEST(a_sample_stands_for_its_size_by_its_probability)
{
	int i;

	begin_random();
	for (i = 0; i < 200000; i++) {
		uint64_t mean = 1 + draw(UINT64_C(1) << draw(31)), bytes = 1 + draw(UINT64_C(1) << draw(36));
		double right = (double)bytes / -expm1(-(double)bytes / (double)mean);
		double is = (double)fxt_poisson_weight(bytes, mean);

		ck_assert_msg(fabs(is - right) <= 1 + right * 1e-9, "%.0f and not %.0f for %llu of %llu", is,
			      right, (unsigned long long)bytes, (unsigned long long)mean);
	}
}
END_TEST

/* The distances are exponentially distributed: so many of them are below each multiple of the mean. */
START_TEST(distances_are_those_of_a_poisson_process)
{
	enum { DRAWS = 400000, LIMITS = 6 };
	static const double limits[LIMITS] = {0.01, 0.1, 0.5, 1, 2, 5};
	uint64_t random, mean, below[LIMITS] = {0};
	double sum = 0;
	int i, k;

	begin_random();
	random = draw(UINT64_MAX);
	mean = 1000 + draw(1000000);
	for (i = 0; i < DRAWS; i++) {
		uint64_t distance = fxt_poisson_distance(&random, mean);

		ck_assert_uint_ge(distance, 1);
		sum += (double)distance;
		for (k = 0; k < LIMITS; k++)
			below[k] += (double)distance <= limits[k] * (double)mean;
	}
	/* Six standard deviations: a correct program fails once in half a thousand million runs. */
	ck_assert_double_le(fabs(sum / DRAWS - (double)mean), 6 * (double)mean / sqrt(DRAWS) + 1);
	for (k = 0; k < LIMITS; k++) {
		double p = -expm1(-limits[k]);

		ck_assert_double_le(fabs((double)below[k] / DRAWS - p), 6 * sqrt(p * (1 - p) / DRAWS) + 1e-3);
	}
}
END_TEST

START_TEST(estimates_have_no_bias)
{
	enum { BLOCKS = 3000000, KINDS = 4 };
	double is[KINDS] = {0}, variance[KINDS] = {0};
	uint64_t right[KINDS] = {0}, random, mean, sizes[KINDS];
	int64_t left;
	int i;

	begin_random();
	sizes[0] = 1 + draw(16);
	sizes[1] = 16 + draw(200);
	sizes[2] = 300 + draw(4000);
	random = draw(UINT64_MAX);
	mean = 4096 + draw(1 << 17);
	left = (int64_t)fxt_poisson_distance(&random, mean);
	for (i = 0; i < BLOCKS; i++) {
		unsigned kind = (unsigned)draw(KINDS);
		uint64_t bytes = kind < 3 ? sizes[kind] : 1 + draw(UINT64_C(1) << draw(17));
		double weight = (double)fxt_poisson_weight(bytes, mean);

		right[kind] += bytes;
		variance[kind] += (double)bytes * (weight - (double)bytes);
		left -= (int64_t)bytes;
		if (left >= 0)
			continue;
		is[kind] += weight;
		left = (int64_t)fxt_poisson_distance(&random, mean) - 1;
	}
	for (i = 0; i < KINDS; i++)
		ck_assert_msg(fabs(is[i] - (double)right[i]) <= 6 * sqrt(variance[i]) + 1,
			      "kind %d: %.0f and not %llu", i, is[i], (unsigned long long)right[i]);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("poisson");

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, a_sample_stands_for_its_size_by_its_probability);
	tcase_add_test(tests, distances_are_those_of_a_poisson_process);
	tcase_add_test(tests, estimates_have_no_bias);
	return RUN_SUITE("poisson", tests);
}
