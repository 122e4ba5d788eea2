/* Calls functions that call themselves and each other, at most 350 deep. */
#include "counted.h"

COUNTED static unsigned long factorial(unsigned long n)
{
	unsigned long rest = 1;

	HERE;
	if (n > 1)
		rest = factorial(n - 1);
	KEEP(rest);
	return n * rest;
}

COUNTED static int fibonacci(int n)
{
	int a, b;

	HERE;
	if (n < 2)
		return n;
	a = fibonacci(n - 1);
	KEEP(a);
	b = fibonacci(n - 2);
	KEEP(b);
	return a + b;
}

COUNTED static int ackermann(int m, int n)
{
	int value;

	HERE;
	if (!m)
		return n + 1;
	value = ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
	KEEP(value);
	return value;
}

COUNTED static int is_even(int n);

COUNTED static int is_odd(int n)
{
	int answer = 0;

	HERE;
	if (n)
		answer = is_even(n - 1);
	KEEP(answer);
	return answer;
}

COUNTED static int is_even(int n)
{
	int answer = 1;

	HERE;
	if (n)
		answer = is_odd(n - 1);
	KEEP(answer);
	return answer;
}

COUNTED static int hanoi(int disks, int from, int to)
{
	int moves = 0;

	HERE;
	if (disks) {
		moves = hanoi(disks - 1, from, 6 - from - to);
		KEEP(moves);
		moves += 1 + hanoi(disks - 1, 6 - from - to, to);
		KEEP(moves);
	}
	return moves;
}

/* Hofstadter's sequences: each needs values of the other, at depths that follow no pattern. */
COUNTED static int male(int n);

COUNTED static int female(int n)
{
	int value = 1;

	HERE;
	if (n)
		value = n - male(female(n - 1));
	KEEP(value);
	return value;
}

COUNTED static int male(int n)
{
	int value = 0;

	HERE;
	if (n)
		value = n - female(male(n - 1));
	KEEP(value);
	return value;
}

int main(void)
{
	HERE;
	need(factorial(20) == 2432902008176640000);
	need(fibonacci(15) == 610);
	need(ackermann(2, 6) == 15);
	need(is_even(350) && !is_odd(300) && is_odd(1));
	need(hanoi(9, 1, 3) == 511);
	need(female(14) == 9 && male(14) == 9);
	print_counts();
	return 0;
}
