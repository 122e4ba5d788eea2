/* Calls functions whose arguments and results are in registers of all kinds. A tracer must change none of
 * these. Several threads call the functions, and a timer's signal interrupts them each millisecond. How often
 * the signal comes differs from run to run.
 *
 *	args [ROUNDS]
 */
#include <complex.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>

#include "counted.h"

enum { THREADS = 4 };

typedef float vector __attribute__((vector_size(16)));
typedef double vector_of_doubles __attribute__((vector_size(16)));
typedef int vector_of_ints __attribute__((vector_size(16)));
typedef float wide __attribute__((vector_size(32)));

struct two_longs { long a, b; };
struct two_doubles { double a, b; };
struct mixed { double d; long l; };
struct mixed_back { long l; double d; };
struct small { char c[3]; };
struct floats { float a, b, c; };
struct large { long values[12]; };

static int rounds;

COUNTED static long ints(int a, unsigned char b, short c, long d, bool e, int *f, long g, char h, long i)
{
	HERE;
	return a == 1 && b == 250 && c == -3 && d == 1L << 40 && e && *f == 6 && g == -7 && h == 8 &&
	       i == 9 ? 0x1234567890abcdefL : 0;
}

COUNTED static double doubles(double a, double b, double c, double d, double e, double f, double g, double h,
			      double i, float j)
{
	HERE;
	return a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && g == 7 && h == 8 && i == 9 &&
	       j == 10.5f ? 11.25 : 0;
}

COUNTED static float floats_and_ints(float a, int b, double c, long d, float e)
{
	HERE;
	return a == 1.5f && b == 2 && c == 3.5 && d == 4 && e == 5.5f ? 6.5f : 0;
}

COUNTED static long double long_double(long double a, int b, long double c)
{
	HERE;
	return a + b + c;
}

COUNTED static _Complex long double complex_long_double(_Complex long double a, long double b)
{
	HERE;
	return a * b;
}

COUNTED static _Complex double complex_double(_Complex double a, _Complex float b)
{
	HERE;
	return a + b;
}

COUNTED static _Complex float complex_float(_Complex float a)
{
	HERE;
	return a + 1;
}

COUNTED static __int128 wide_int(__int128 a, long b, __int128 c)
{
	HERE;
	return a * b + c;
}

COUNTED static struct two_longs two_longs(struct two_longs a, struct two_longs b)
{
	HERE;
	return (struct two_longs){a.a + b.b, a.b - b.a};
}

COUNTED static struct two_doubles two_doubles(struct two_doubles a, struct two_doubles b)
{
	HERE;
	return (struct two_doubles){a.a + b.b, a.b - b.a};
}

COUNTED static struct mixed mixed(struct mixed a, struct mixed_back b)
{
	HERE;
	return (struct mixed){a.d + b.d, a.l + b.l};
}

COUNTED static struct mixed_back mixed_back(struct mixed a, struct mixed_back b)
{
	HERE;
	return (struct mixed_back){a.l - b.l, a.d - b.d};
}

COUNTED static struct small small(struct small a, struct floats b)
{
	HERE;
	a.c[1] += (char)(b.a + b.b + b.c);
	return a;
}

COUNTED static struct floats floats(struct floats a, float b)
{
	HERE;
	return (struct floats){a.c + b, a.b, a.a};
}

COUNTED static struct large large(struct large a, int b, struct large c)
{
	int i;

	HERE;
	for (i = 0; i < 12; i++)
		a.values[i] += b * c.values[i];
	return a;
}

COUNTED static double variadic(const char *kinds, ...)
{
	double sum = 0;
	va_list list;

	HERE;
	va_start(list, kinds);
	for (; *kinds; kinds++)
		switch (*kinds) {
		case 'd': sum += va_arg(list, double); break;
		case 'i': sum += va_arg(list, int); break;
		case 'l': sum += (double)va_arg(list, long); break;
		case 'L': sum += (double)va_arg(list, long double); break;
		}
	va_end(list);
	return sum;
}

/* gcc hands a pointer to the outer frame (the static chain) to a nested function, in a register that no other
 * function uses. clang has no nested functions. */
#ifndef __clang__
COUNTED static long outer(long n, int more)
{
	long sum = 0, calls = 0;

	COUNTED long inner(long a, long b, long c, long d, long e, long f, double g)
	{
		HERE_IS("inner.0");
		calls++;
		sum += n * (a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f) + (long)g;
		a = calls <= more ? inner(b, a, c, d, f, e, g + 1) : calls;
		KEEP(a);
		return a;
	}

	HERE;
	return inner(1, 2, 3, 4, 5, 6, 0.5) == more + 1 ? sum : 0;
}
#endif

COUNTED static int sets_errno(int value)
{
	HERE;
	errno = value;
	return -1;
}

COUNTED static int reads_errno(void)
{
	HERE;
	return errno;
}

COUNTED static bool is_greater(long a, long b)
{
	HERE;
	return a > b;
}

COUNTED static void ticks(int signal)
{
	HERE;
	need(signal == SIGALRM);
	need(doubles(1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5f) == 11.25);
	need(long_double(1, 2, 3) == 6);
}

COUNTED static vector vectors(vector a, vector_of_doubles b, vector_of_ints c, vector d)
{
	HERE;
	return a + d + (vector){(float)b[0], (float)b[1], (float)c[2], (float)c[3]};
}

#ifdef __x86_64__

#define AVX __attribute__((target("avx")))

AVX COUNTED static wide wides(wide a, wide b, wide c, wide d, wide e, wide f, wide g, wide h)
{
	HERE;
	return a + b + c + d + e + f + g + h;
}

AVX COUNTED static void check_wides(void)
{
	wide v[8], sum;
	int i, j;

	HERE;
	for (i = 0; i < 8; i++)
		for (j = 0; j < 8; j++)
			v[i][j] = (float)(1 << j) + (float)i * 1000;
	sum = wides(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]);
	for (j = 0; j < 8; j++)
		need(sum[j] == (float)(8 << j) + 28000);
}

#endif

COUNTED static void check_vectors(void)
{
	vector v;

	HERE;
	v = vectors((vector){1, 2, 3, 4}, (vector_of_doubles){10, 20}, (vector_of_ints){100, 200, 300, 400},
		    (vector){1000, 2000, 3000, 4000});
	need(v[0] == 1011 && v[1] == 2022 && v[2] == 3303 && v[3] == 4404);
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx"))
		check_wides();
#endif
}

COUNTED static void check_numbers(void)
{
	__int128 w;
	int six = 6;

	HERE;
	need(ints(1, 250, -3, 1L << 40, true, &six, -7, 8, 9) == 0x1234567890abcdefL);
	need(doubles(1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5f) == 11.25);
	need(floats_and_ints(1.5f, 2, 3.5, 4, 5.5f) == 6.5f);
	need(long_double(0x1p62L + 1, 2, 0.5L) == 0x1p62L + 3.5L);
	need(complex_long_double(__builtin_complex(1.5L, -2.5L), 2) == __builtin_complex(3.0L, -5.0L));
	need(complex_double(__builtin_complex(1.5, 2.5), __builtin_complex(1.f, 2.f)) ==
	     __builtin_complex(2.5, 4.5));
	need(complex_float(__builtin_complex(1.f, 2.f)) == __builtin_complex(2.f, 2.f));
	w = wide_int(((__int128)5 << 70) + 3, -2, 7);
	need((long)(w >> 64) == -640 && (long)w == 1);
}

COUNTED static void check_structs(void)
{
	struct two_longs longs;
	struct two_doubles of_doubles;
	struct mixed m;
	struct mixed_back b;
	struct floats f;
	struct small s;
	struct large a = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}, l;
	int i;

	HERE;
	longs = two_longs((struct two_longs){1, 2}, (struct two_longs){30, 40});
	need(longs.a == 41 && longs.b == -28);
	of_doubles = two_doubles((struct two_doubles){1, 2}, (struct two_doubles){30, 40});
	need(of_doubles.a == 41 && of_doubles.b == -28);
	m = mixed((struct mixed){1.5, 2}, (struct mixed_back){3, 4.5});
	need(m.d == 6 && m.l == 5);
	b = mixed_back((struct mixed){1.5, 2}, (struct mixed_back){3, 4.5});
	need(b.d == -3 && b.l == -1);
	s = small((struct small){{1, 2, 3}}, (struct floats){1, 2, 3});
	need(s.c[0] == 1 && s.c[1] == 8 && s.c[2] == 3);
	f = floats((struct floats){1, 2, 3}, 4);
	need(f.a == 7 && f.b == 2 && f.c == 1);
	l = large(a, 2, a);
	for (i = 0; i < 12; i++)
		need(l.values[i] == 3 * (i + 1));
}

COUNTED static void check_others(void)
{
	int error;

	HERE;
	need(variadic("didLlddddddd", 1.5, 2, 3.5, 4.5L, 5L, 1., 2., 3., 4., 5., 6., 7.) == 44.5);
	need(variadic("iliiiii", 1, 2L, 3, 4, 5, 6, 7) == 28);
#ifndef __clang__
	need(outer(3, 4) == 3 * (3 * 91 + 2 * 89) + 10);
#endif
	error = sets_errno(77);
	need(error == -1 && reads_errno() == 77 && errno == 77);
	need(is_greater(3, 2) && !is_greater(2, 3) && is_greater(1L << 40, 1));
	need(long_double(1, 2, 3) * doubles(1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5f) +
	     floats_and_ints(1.5f, 2, 3.5, 4, 5.5f) + long_double(4, 5, 6) == 89);
	need(long_double(long_double(1, 2, 3), 4, long_double(5, 6, 7)) ==
	     variadic("dL", variadic("d", 4.0), long_double(7, 8, 9)));
}

COUNTED static void *run(void *argument)
{
	int i;

	HERE;
	for (i = 0; i < rounds; i++) {
		check_numbers();
		check_vectors();
		check_structs();
		check_others();
	}
	return argument;
}

int main(int argc, char **argv)
{
	struct itimerval timer = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = ticks, .sa_flags = SA_RESTART};
	pthread_t threads[THREADS];
	int i;

	HERE;
	rounds = argc > 1 ? atoi(argv[1]) : 400;
	need(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &timer, NULL));
	for (i = 0; i < THREADS; i++)
		need(!pthread_create(&threads[i], NULL, run, NULL));
	run(NULL);
	for (i = 0; i < THREADS; i++)
		need(!pthread_join(threads[i], NULL));
	need(!setitimer(ITIMER_REAL, &none, NULL));
	print_counts();
	return 0;
}
