/* Matches orders with the levels of a book. The fault: a level that nobody has opened is looked up and used
 * without a look at what came back. */
#include "beside.h"

struct level {
	char symbol[16];
	long price, amount;
};

struct level *levels[64];

struct level *find_level(int number)
{
	work(5);
	return levels[number % 64];
}

void take_order(struct level *level, long amount)
{
	level->amount += amount; /* FAULT */
}

void match(int order)
{
	take_order(find_level(order * 7), 10 + order % 3);
}

int main(void)
{
	for (int i = 0; i < 64; i++)
		levels[i] = i == 41 ? NULL : calloc(1, sizeof **levels);
	for (int order = 0; order < 4000; order++)
		match(order);
	return 0;
}
