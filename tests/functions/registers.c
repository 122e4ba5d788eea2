/* Calls static functions of which the compiler knows that they leave certain registers alone (gcc -O2 with
 * -fipa-ra). So their callers keep values in registers that a call may otherwise change. gcc does not do that
 * where options ask for hooks or for patchable entries, and does where attributes ask for the latter, as with
 * -DBY_ATTRIBUTE. */
#include "counted.h"

#ifdef BY_ATTRIBUTE
#define PATCHED __attribute__((patchable_function_entry(5)))
#else
#define PATCHED
#endif

/* The compiler may look into these functions; it only does not inline or copy them. */
#ifdef __clang__
#define KNOWN PATCHED __attribute__((noinline))
#else
#define KNOWN PATCHED __attribute__((noinline, noclone))
#endif

enum { ROUNDS = 2000 };

static volatile long numbers[16];
static volatile double doubles[16];

KNOWN static void nothing(void)
{
	HERE;
}

KNOWN static long one(long n)
{
	HERE;
	return n + 1;
}

/* Adds up numbers that stay in registers while others are called. */
PATCHED COUNTED static long with_numbers(long n)
{
	long a = numbers[0], b = numbers[1], c = numbers[2], d = numbers[3], e = numbers[4], f = numbers[5],
	     g = numbers[6], h = numbers[7], i = numbers[8], j = numbers[9], k = numbers[10];

	HERE;
	nothing();
	n = one(n);
	nothing();
	return n + a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k;
}

PATCHED COUNTED static double with_doubles(double x)
{
	double a = doubles[0], b = doubles[1], c = doubles[2], d = doubles[3], e = doubles[4], f = doubles[5],
	       g = doubles[6], h = doubles[7], i = doubles[8], j = doubles[9], k = doubles[10],
	       l = doubles[11], m = doubles[12], n = doubles[13];

	HERE;
	nothing();
	one(1);
	return x + a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k +
	       12 * l + 13 * m + 14 * n;
}

#ifdef __x86_64__

#define AVX __attribute__((target("avx")))
#define AVX512 __attribute__((target("avx512f")))

typedef double vector __attribute__((vector_size(32)));
typedef double long_vector __attribute__((vector_size(64)));

static vector wide[14];
static long_vector wider[26];

AVX KNOWN static void nothing_wide(void)
{
	HERE;
}

AVX512 KNOWN static void nothing_wider(void)
{
	HERE;
}

/* Registers are loaded before a call, and added up after it. The products tell which one has changed. */
#define LOAD(type, n) type v##n = values[n]; __asm__ volatile("" : "+v"(v##n));
#define ADD(n) sum += (n + 1) * v##n;
#define LOAD_WIDE(n) LOAD(vector, n)
#define LOAD_WIDER(n) LOAD(long_vector, n)
#define EACH_OF_14(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13)
#define EACH_OF_26(DO) EACH_OF_14(DO) DO(14) DO(15) DO(16) DO(17) DO(18) DO(19) DO(20) DO(21) DO(22) DO(23) \
	DO(24) DO(25)

AVX PATCHED COUNTED static void with_wide(void)
{
	const vector *values = wide;
	vector sum = {0, 0, 0, 0};

	HERE;
	EACH_OF_14(LOAD_WIDE)
	nothing_wide();
	EACH_OF_14(ADD)
	need(sum[0] == 105 && sum[1] == 210 && sum[2] == 315 && sum[3] == 420);
}

AVX512 PATCHED COUNTED static void with_wider(void)
{
	const long_vector *values = wider;
	long_vector sum = {0, 0, 0, 0, 0, 0, 0, 0};
	unsigned char mask = 0x5a;

	HERE;
	EACH_OF_26(LOAD_WIDER)
	__asm__ volatile("" : "+Yk"(mask));
	nothing_wider();
	__asm__ volatile("" : "+Yk"(mask));
	EACH_OF_26(ADD)
	need(mask == 0x5a && sum[0] == 351 && sum[3] == 4 * 351 && sum[7] == 8 * 351);
}

PLAIN static void check_vectors(void)
{
	int i, j;

	for (i = 0; i < 14; i++)
		for (j = 0; j < 4; j++)
			((double *)&wide[i])[j] = j + 1;
	for (i = 0; i < 26; i++)
		for (j = 0; j < 8; j++)
			((double *)&wider[i])[j] = j + 1;
	for (i = 0; i < ROUNDS; i++) {
		if (__builtin_cpu_supports("avx"))
			with_wide();
		if (__builtin_cpu_supports("avx512f"))
			with_wider();
	}
}

#else

PLAIN static void check_vectors(void)
{
}

#endif

PATCHED int main(void)
{
	int i;

	HERE;
	for (i = 0; i < 16; i++) {
		numbers[i] = i + 1;
		doubles[i] = i + 1;
	}
	for (i = 0; i < ROUNDS; i++) {
		need(with_numbers(0) == 507);
		need(with_doubles(0) == 1015);
	}
	check_vectors();
	print_counts();
	return 0;
}
