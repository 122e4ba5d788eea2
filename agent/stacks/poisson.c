/* See poisson.h. The agent has no library of mathematics, so this computes what it needs itself. */
#include "poisson.h"

/* Returns the next of a row of random numbers (splitmix64). */
static uint64_t next(uint64_t *random)
{
	uint64_t x = *random += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Returns -ln(x / 2^64), for x from 1 on. */
static double minus_log(uint64_t x)
{
	static const double ln_2 = 0.69314718055994530942;
	unsigned shift = (unsigned)__builtin_clzll(x), i;
	/* x is m * 2^(63 - shift) with m from 1 to 2, and ln m is 2 artanh z. */
	double m = (double)(x << shift >> 11) / (double)(UINT64_C(1) << 52), z = (m - 1) / (m + 1), power = z,
	       sum = 0;

	for (i = 1; i < 24; i += 2) {
		sum += power / i;
		power *= z * z;
	}
	return (shift + 1) * ln_2 - 2 * sum;
}

uint64_t fxt_poisson_distance(uint64_t *random, uint64_t mean)
{
	return (uint64_t)(minus_log(next(random) | 1) * (double)mean) + 1;
}

/* Returns 1 - exp(-x), for x from 0 to 64. */
static double probability(double x)
{
	double y = x, sum = 0, term = 1;
	unsigned halvings = 0, i;

	for (; y > 1.0 / 16; y /= 2)
		halvings++;
	/* This is the series of 1 - exp(-y), and then 1 - exp(-2y) follows from it. */
	for (i = 1; i <= 8; i++) {
		term *= -y / i;
		sum -= term;
	}
	for (; halvings; halvings--)
		sum *= 2 - sum;
	return sum;
}

uint64_t fxt_poisson_weight(uint64_t units, uint64_t mean)
{
	double x = (double)units / (double)mean;

	return x >= 64 ? units : (uint64_t)((double)units / probability(x) + 0.5);
}
