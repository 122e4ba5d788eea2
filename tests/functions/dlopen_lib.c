/* Is a library that dlopen.c opens. LIBRARY is `one` or `two`. With IS_SECOND there is a further function, so
 * that the others do not lie at the same addresses. */
#include "counted.h"

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define FUNCTION(name) JOIN(LIBRARY, name)

void count_name(const char *name);
int FUNCTION(outer)(int n, int (*callback)(int));

#ifdef IS_SECOND
COUNTED static int FUNCTION(more)(int n)
{
	count_name(__func__);
	return n;
}
#else
#define two_more(n) (n)
#define one_more(n) (n)
#endif

COUNTED static int FUNCTION(inner)(int n)
{
	count_name(__func__);
	return FUNCTION(more)(n + 1);
}

COUNTED int FUNCTION(outer)(int n, int (*callback)(int))
{
	int sum;

	count_name(__func__);
	sum = FUNCTION(inner)(n) + callback(n);
	sum += FUNCTION(inner)(n + 1) + callback(n + 1);
	return sum;
}

__attribute__((constructor)) COUNTED static void FUNCTION(begin)(void)
{
	count_name(__func__);
	FUNCTION(inner)(0);
}

__attribute__((destructor)) COUNTED static void FUNCTION(end)(void)
{
	count_name(__func__);
	FUNCTION(inner)(0);
}
