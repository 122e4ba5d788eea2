/* The library of plt_calls.c: functions with arguments and results of every kind, which a stub between caller
 * and function could spoil. Some call others of this library, or the C library's, by way of the library's own
 * linkage table. plt_calls.c includes this file for the declarations, with PLT_DECLARATIONS defined.
 * tests/e2e/plt.sh compiles both, and writes the version script of the library.
 */
#include <stddef.h>

enum { PLT_LARGE = 9 };

struct plt_two {
	long a, b;
};
struct plt_mixed {
	double a;
	long b;
};
struct plt_large {
	long of[PLT_LARGE];
};
typedef int plt_vector __attribute__((vector_size(16)));
typedef int plt_wide_vector __attribute__((vector_size(32)));

#define WITH_AVX __attribute__((target("avx")))

void plt_nothing(void);
int plt_int(int a);
long plt_many(long a, long b, long c, long d, long e, long f, long g, char h, long i);
float plt_float(float a, int b, float c);
double plt_doubles(double a, double b, double c, double d, double e, double f, double g, double h, double i);
long double plt_long_double(long double a, long double b);
double _Complex plt_complex(double _Complex a);
long double _Complex plt_long_complex(long double _Complex a);
__int128 plt_int128(__int128 a, __int128 b);
struct plt_two plt_two(struct plt_two a);
struct plt_mixed plt_mixed(struct plt_mixed a);
struct plt_large plt_large(struct plt_large a, int by);
plt_vector plt_vectors(plt_vector a, plt_vector b);
WITH_AVX void plt_wide(plt_wide_vector *result, plt_wide_vector a, plt_wide_vector b);
WITH_AVX plt_wide_vector plt_wide_result(const plt_wide_vector *a);
/* Adds up its arguments. Each letter of `kinds` is for one: i (int), d (double) or l (long double). */
double plt_variadic(const char *kinds, ...);
/* Sets errno, and returns what it was. */
int plt_errno(int error);
/* Returns 1 or 2, which is the version. */
int plt_version(void);
int plt_indirect(int a);
/* Returns the sum of the results. */
int plt_calls_back(int (*function)(int), int times);
/* Ends with a tail call of plt_int(). */
int plt_tail(int a);
/* Calls strlen(*text) and plt_int() that often. */
size_t plt_calls_others(const char *const *text, int times);
/* They call each other. The result is the depth. */
int plt_down(int depth);
int plt_up(int depth);
/* Only a forked child calls this, so its trace is known by it. */
void plt_in_child(void);

/* How often the library called what by way of its own linkage table. */
enum { LIBRARY_plt_int, LIBRARY_plt_down, LIBRARY_plt_up, LIBRARY_strlen, LIBRARY_CALLS };
extern _Atomic long plt_library_calls[LIBRARY_CALLS];

#ifndef PLT_DECLARATIONS

#include <errno.h>
#include <stdarg.h>
#include <string.h>

_Atomic long plt_library_calls[LIBRARY_CALLS];

#define INSIDE(name, ...) ((void)plt_library_calls[LIBRARY_##name]++, name(__VA_ARGS__))

/* -- Arguments and results ------------------------------------------------------------------------- */

void plt_nothing(void)
{
}

void plt_in_child(void)
{
}

int plt_int(int a)
{
	return a + 1;
}

long plt_many(long a, long b, long c, long d, long e, long f, long g, char h, long i)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

float plt_float(float a, int b, float c)
{
	return a - (float)b * c;
}

double plt_doubles(double a, double b, double c, double d, double e, double f, double g, double h, double i)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

long double plt_long_double(long double a, long double b)
{
	return a * b;
}

double _Complex plt_complex(double _Complex a)
{
	return a * 2;
}

long double _Complex plt_long_complex(long double _Complex a)
{
	return a * 2;
}

__int128 plt_int128(__int128 a, __int128 b)
{
	return a - b;
}

struct plt_two plt_two(struct plt_two a)
{
	return (struct plt_two){a.b, a.a};
}

struct plt_mixed plt_mixed(struct plt_mixed a)
{
	return (struct plt_mixed){(double)a.b, (long)a.a};
}

struct plt_large plt_large(struct plt_large a, int by)
{
	for (int i = 0; i < PLT_LARGE; i++)
		a.of[i] += by;
	return a;
}

plt_vector plt_vectors(plt_vector a, plt_vector b)
{
	return a + 2 * b;
}

WITH_AVX void plt_wide(plt_wide_vector *result, plt_wide_vector a, plt_wide_vector b)
{
	*result = a + 2 * b;
}

WITH_AVX plt_wide_vector plt_wide_result(const plt_wide_vector *a)
{
	return *a + *a;
}

double plt_variadic(const char *kinds, ...)
{
	va_list list;
	double sum = 0;

	va_start(list, kinds);
	for (; *kinds; kinds++)
		switch (*kinds) {
		case 'i': sum += va_arg(list, int); break;
		case 'd': sum += va_arg(list, double); break;
		default: sum += (double)va_arg(list, long double); break;
		}
	va_end(list);
	return sum;
}

int plt_errno(int error)
{
	int before = errno;

	errno = error;
	return before;
}

/* -- Names ----------------------------------------------------------------------------------------- */

int plt_first_version(void);
int plt_first_version(void)
{
	return 1;
}

int plt_second_version(void);
int plt_second_version(void)
{
	return 2;
}

__asm__(".symver plt_first_version, plt_version@PLT_1");
__asm__(".symver plt_second_version, plt_version@@PLT_2");

static int chosen(int a)
{
	return a * 3;
}

static int (*choose(void))(int)
{
	return chosen;
}

int plt_indirect(int a) __attribute__((ifunc("choose")));

/* -- Calls of others ------------------------------------------------------------------------------- */

int plt_calls_back(int (*function)(int), int times)
{
	int sum = 0;

	while (times--)
		sum += function(times);
	return sum;
}

int plt_tail(int a)
{
	return INSIDE(plt_int, a + 1);
}

size_t plt_calls_others(const char *const *text, int times)
{
	size_t sum = 0;
	int i;

	for (i = 0; i < times; i++)
		sum += INSIDE(strlen, *text) + (size_t)INSIDE(plt_int, i);
	return sum;
}

int plt_down(int depth)
{
	return depth ? INSIDE(plt_up, depth - 1) + 1 : 0;
}

int plt_up(int depth)
{
	return depth ? INSIDE(plt_down, depth - 1) + 1 : 0;
}

#endif
