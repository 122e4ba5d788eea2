/* The rank test of Mann and Whitney: whether the values of one side are larger than those of the other by
 * more than chance explains. It asks for no distribution, because times of runs have none that is known.
 */
#ifndef FXT_TOOLS_RANK_TEST_H
#define FXT_TOOLS_RANK_TEST_H

#include <stddef.h>

/* Returns how likely chance alone makes the two sides differ so much or more, in either direction. Equal
 * values share their ranks. Of up to FXT_RANK_TEST_EXACT values it is exact, of more an approximation. */
enum { FXT_RANK_TEST_EXACT = 64 };
double fxt_rank_test(const double *a, size_t a_count, const double *b, size_t b_count);

#endif
