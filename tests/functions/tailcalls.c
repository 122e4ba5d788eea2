/* Calls functions that end by calling another, which is a jump where the code is optimised. */
#include "counted.h"

typedef int step(int n, int sum);

COUNTED static int last(int n, int sum)
{
	HERE;
	return n + sum;
}

COUNTED static int first(int n, int sum)
{
	HERE;
	return last(n, sum + 1);
}

/* Makes calls of both kinds: it goes on after two, and ends by a third. */
COUNTED static int after(int n, int sum)
{
	HERE;
	sum += last(1, 1);
	KEEP(sum);
	sum += first(1, 1);
	KEEP(sum);
	return first(n, sum);
}

COUNTED static int pong(int n, int sum);

COUNTED static int ping(int n, int sum)
{
	HERE;
	if (!n)
		return last(0, sum);
	return pong(n - 1, sum + 1);
}

COUNTED static int pong(int n, int sum)
{
	HERE;
	if (!n)
		return last(0, sum);
	return ping(n - 1, sum + 2);
}

static step *volatile steps[3];

COUNTED static int through_pointer(int n, int sum)
{
	HERE;
	return steps[n % 3](n, sum);
}

COUNTED static int one(int n, int sum)
{
	HERE;
	return n ? through_pointer(n - 1, sum + 1) : sum;
}

COUNTED static int two(int n, int sum)
{
	HERE;
	return n ? through_pointer(n - 1, sum + after(n, 0)) : sum;
}

/* Is called at the end of a counted function, and is not seen itself. */
PLAIN __attribute__((noinline)) static void plain(int *n)
{
	++*n;
}

COUNTED static void to_plain(int *n)
{
	HERE;
	plain(n);
}

COUNTED static void *to_library(void *to, const void *from, size_t bytes)
{
	HERE;
	return memmove(to, from, bytes);
}

int main(int argc, char **argv)
{
	int most = argc > 1 ? atoi(argv[1]) : 1000, i, n = 0, m;

	HERE;
	steps[0] = one;
	steps[1] = two;
	steps[2] = last;
	for (i = 0; i < 50; i++) {
		need(first(i, 1) == i + 2);
		need(after(i, 1) == i + 7);
		to_plain(&n);
		to_library(&m, &n, sizeof(n));
		need(n == i + 1 && m == n);
		through_pointer(i, 0);
	}
	need(ping(most, 0) == most / 2 * 3 + most % 2);
	need(ping(most, 0) + pong(most, 0) == most * 3);
	print_counts();
	return 0;
}
