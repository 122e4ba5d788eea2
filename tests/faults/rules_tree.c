/* Evaluates rules that refer to each other. The fault: two of them refer to each other in a circle, and the
 * recursion has no end. */
#include "beside.h"

enum { RULES = 40 };

int refers[RULES];
long *weights;

long evaluate(int rule, long so_far)
{
	char trail[160];

	snprintf(trail, sizeof trail, "%d,%ld", rule, so_far % 1000);
	work(2);
	if (refers[rule] < 0)
		return weights[rule] + trail[0];
	return evaluate(refers[rule], so_far + weights[rule]) + trail[0]; /* FAULT */
}

int main(void)
{
	long sum = 0;

	weights = calloc(RULES, sizeof *weights);
	must(weights != NULL, "calloc");
	for (int rule = 0; rule < RULES; rule++) {
		weights[rule] = rule;
		refers[rule] = rule % 5 ? rule - 1 : -1;
	}
	refers[36] = 38;
	for (int rule = 0; rule < RULES; rule++)
		sum += evaluate(rule, 0);
	printf("%ld\n", sum);
	return 0;
}
