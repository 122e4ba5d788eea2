/* Calls functions of a library of its own (plt_lib.c), of the C library and of libm, by way of its linkage
 * table. How often it calls each is random. It prints `parent` or `child`, and a line for each function: who
 * called it, main or the library; the event in the trace; and how often. tests/e2e/plt.sh compiles it in
 * several ways.
 *
 *	plt_calls calls		calls each function
 *	plt_calls threads	four threads do, and end by pthread_exit() below a function of the library
 *	plt_calls fork		a child goes on in a function that the library called
 *	plt_calls jumps		leaves functions that wait for others by longjmp()
 */
#include <complex.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLT_DECLARATIONS
#include "plt_lib.c"

#include "need.h"
#include "random.h"

enum { ROUNDS = 300, THREADS = 4, NUMBERS = 20, JUMPS = 50 };

/* strtol() has another name in new versions of the C library. */
long text_to_long(const char *text, char **end, int base) __asm__("strtol");
int old_version(void);
__asm__(".symver old_version, plt_version@PLT_1");


/* The name of each function, and the category that it is recorded in. */
#define CALLS(X) \
	X(atan2f, plt) X(bsearch, plt) X(div, plt) X(frexp, plt) X(getenv, plt) X(labs, plt) \
	X(ldiv, plt) X(pow, plt) X(qsort, plt) X(sin, plt) X(sinl, plt) X(strchr, plt) \
	X(strcmp, plt) X(strlen, plt) X(strtod, plt) X(strtol, plt) X(plt_calls_back, plt) \
	X(plt_calls_others, plt) X(plt_complex, plt) X(plt_doubles, plt) X(plt_down, plt) \
	X(plt_errno, plt) X(plt_float, plt) X(plt_in_child, plt) X(plt_indirect, plt) \
	X(plt_int, plt) X(plt_int128, plt) X(plt_large, plt) X(plt_long_complex, plt) \
	X(plt_long_double, plt) X(plt_many, plt) X(plt_mixed, plt) X(plt_nothing, plt) \
	X(plt_tail, plt) X(plt_two, plt) X(plt_variadic, plt) X(plt_vectors, plt) \
	X(plt_version, plt) X(plt_wide, plt) X(plt_wide_result, plt) X(malloc, malloc) \
	X(free, malloc) X(read, io)

#define NUMBER(name, category) NUMBER_##name,
enum { CALLS(NUMBER) NAMES };
static _Atomic long made[NAMES];

#define CALLED(name) ((void)made[NUMBER_##name]++)
#define CALL(name, ...) (CALLED(name), name(__VA_ARGS__))

static int zeros;                       /* a descriptor to read from */
static bool is_child;
static __thread jmp_buf back;
static __thread int left;               /* comparisons until the jump; 0: none */
static _Atomic int ended;               /* threads whose handler was called */

/* -- Functions that the libraries call -------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = CALL(plt_int, *(const int *)b) - 1;

	if (left && !--left)
		longjmp(back, 1);
	return (x > y) - (x < y);
}

static int add_one(int a)
{
	return CALL(plt_tail, a) - 1;
}

static int jump(int a)
{
	if (!a)
		longjmp(back, 1);
	return 0;
}

static int leave_thread(int a)
{
	if (!a)
		pthread_exit(NULL);
	return 0;
}

static int make_child(int a)
{
	pid_t child;
	int status, i;

	(void)a;
	child = fork();
	need(child >= 0);
	if (child) {
		need(waitpid(child, &status, 0) == child && !status);
		return 1;
	}
	is_child = true;
	for (i = 0; i < NAMES; i++)
		made[i] = 0;
	for (i = 0; i < LIBRARY_CALLS; i++)
		plt_library_calls[i] = 0;
	random_seed(1);
	/* Calls that are in progress at the fork are in the child's trace, too. */
	CALLED(plt_calls_back);
	CALL(plt_in_child);
	return 2;
}

/* -- One call of each function ----------------------------------------------------------------------- */

static void call_strings(int which, int a)
{
	static const char long_text[] = "a longer text, which needs more than one vector";
	static const char *const texts[] = {"", "seven", long_text};
	static const size_t lengths[] = {0, 5, sizeof(long_text) - 1};
	const char *text = texts[a % 3];
	char *volatile number = "-77x";
	char *end;

	switch (which) {
	case 0: need(CALL(strlen, text) == lengths[a % 3]); break;
	case 1: need(CALL(strcmp, text, texts[0]) == 0 || a % 3); break;
	case 2: need(CALL(strchr, texts[1], 'v') == texts[1] + 2); break;
	case 3: need(CALL(strtol, number, &end, 10) == -77 && *end == 'x'); break;
	case 4: need(CALL(strtod, number, &end) == -77.0 && *end == 'x'); break;
	case 5: need(!CALL(getenv, "PLT_CALLS_IS_NOT_SET")); break;
	default: need(CALL(plt_calls_others, &text, 2) == 2 * lengths[a % 3] + 1 + 2); break;
	}
}

static void call_mathematics(int which, int a)
{
	volatile double two = 2;
	int exponent;
	div_t parts;
	ldiv_t long_parts;

	switch (which) {
	case 0: need(CALL(sin, two * 0) == 0); break;
	case 1: need(CALL(sinl, (long double)two) > 0.909L && CALL(sinl, 2.0L) < 0.91L); break;
	case 2: need(CALL(pow, two, (double)(a % 30)) == (double)(1 << a % 30)); break;
	case 3: need(CALL(atan2f, 0.0f, (float)two) == 0); break;
	case 4: need(CALL(frexp, 12.0, &exponent) == 0.75 && exponent == 4); break;
	case 5: parts = CALL(div, a, 7); need(parts.quot * 7 + parts.rem == a); break;
	case 6: long_parts = CALL(ldiv, a, 7); need(long_parts.quot * 7 + long_parts.rem == a); break;
	default: need(CALL(labs, -(long)a) == a); break;
	}
}

WITH_AVX static void call_wide(int a)
{
	plt_wide_vector one = {a, 1, 2, 3, 4, 5, 6, 7}, result;

	CALL(plt_wide, &result, one, one);
	need(result[0] == 3 * a && result[7] == 21);
	result = CALL(plt_wide_result, &one);
	need(result[0] == 2 * a && result[7] == 14);
}

static void call_arithmetic(int which, int a)
{
	struct plt_two two = {a, -a};
	struct plt_mixed mixed = {a, 3};
	struct plt_large large = {{a, 2, 3, 4, 5, 6, 7, 8, 9}};
	plt_vector vector = {a, 2, 3, 4};

	switch (which) {
	case 0: CALL(plt_nothing); break;
	case 1: need(CALL(plt_many, a, 1, 1, 1, 1, 1, 1, 1, 10) == a + 125); break;
	case 2: need(CALL(plt_float, 8, a % 9, 0.5f) == 8 - (float)(a % 9) / 2); break;
	case 3: need(CALL(plt_doubles, a, 1, 1, 1, 1, 1, 1, 1, 10) == a + 125); break;
	case 4: need(CALL(plt_long_double, a, 0.5L) == a / 2.0L); break;
	case 5: need(CALL(plt_complex, a + 2.0 * I) == a * 2 + 4.0 * I); break;
	case 6: need(CALL(plt_long_complex, a + 2.0L * I) == a * 2 + 4.0L * I); break;
	case 7: need(CALL(plt_int128, (__int128)a << 70, 1) == ((__int128)a << 70) - 1); break;
	case 8: two = CALL(plt_two, two); need(two.a == -a && two.b == a); break;
	case 9: mixed = CALL(plt_mixed, mixed); need(mixed.a == 3 && mixed.b == a); break;
	case 10: large = CALL(plt_large, large, 5); need(large.of[0] == a + 5 && large.of[8] == 14); break;
	case 11:
		vector = CALL(plt_vectors, vector, vector);
		need(vector[0] == 3 * a && vector[3] == 12);
		break;
	case 12: need(CALL(plt_variadic, "iddddddddl", 1, 1., 1., 1., 1., 1., 1., 1., 1., 2.L) == 11); break;
	case 13: errno = a; need(CALL(plt_errno, 5) == a && errno == 5); break;
	case 14: need(CALL(plt_indirect, a) == 3 * a); break;
	case 15: need(CALL(plt_version) == 2); break;
	case 16: CALLED(plt_version); need(old_version() == 1); break;
	case 17: need(CALL(plt_down, a % 50) == a % 50); break;
	case 18: need(CALL(plt_calls_back, add_one, 3) == 6); break;
	default:
		if (__builtin_cpu_supports("avx"))
			call_wide(a);
		break;
	}
}

static void call_sorts(int which, int a)
{
	int numbers[NUMBERS], i, *found;
	void *volatile block;
	char byte = 1;

	switch (which) {
	case 0:
	case 1:
		for (i = 0; i < NUMBERS; i++)
			numbers[i] = (int)random_below(1000);
		CALL(qsort, numbers, NUMBERS, sizeof(numbers[0]), compare);
		for (i = 1; i < NUMBERS; i++)
			need(numbers[i - 1] <= numbers[i]);
		found = CALL(bsearch, &numbers[a % NUMBERS], numbers, NUMBERS, sizeof(numbers[0]), compare);
		need(found && *found == numbers[a % NUMBERS]);
		break;
	case 2: need(CALL(read, zeros, &byte, 1) == 1 && !byte); break;
	default:
		/* Blocks of these sizes are the program's own: tests/e2e/trace.py. */
		block = CALL(malloc, 20000 + (size_t)a % 1000);
		need(block);
		CALL(free, block);
		break;
	}
}

static void call_any(void)
{
	int a = 1 + (int)random_below(100000);

	switch (random_below(4)) {
	case 0: call_strings((int)random_below(7), a); break;
	case 1: call_mathematics((int)random_below(8), a); break;
	case 2: call_arithmetic((int)random_below(20), a); break;
	default: call_sorts((int)random_below(4), a); break;
	}
}

static void call_some(void)
{
	int rounds = ROUNDS + (int)random_below(ROUNDS);

	while (rounds--)
		call_any();
}

/* -- What the program does ---------------------------------------------------------------------------- */

static void count_end(void *unused)
{
	(void)unused;
	ended++;
}

static void *work(void *number)
{
	random_seed((uintptr_t)number);
	pthread_cleanup_push(count_end, NULL);
	call_some();
	CALL(plt_calls_back, leave_thread, 3);
	pthread_cleanup_pop(0);
	return NULL;
}

static void use_threads(void)
{
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		need(!pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1)));
	call_some();
	for (i = 0; i < THREADS; i++)
		need(!pthread_join(threads[i], NULL));
	need(ended == THREADS);
}

static void use_jumps(void)
{
	int numbers[NUMBERS];
	volatile int i, k;

	for (i = 0; i < JUMPS; i++) {
		for (k = 0; k < NUMBERS; k++)
			numbers[k] = (int)random_below(1000);
		if (!setjmp(back)) {
			left = 1 + (int)random_below(NUMBERS / 2);
			CALL(qsort, numbers, NUMBERS, sizeof(numbers[0]), compare);
			need(false);
		}
		call_any();
		if (!setjmp(back)) {
			CALL(plt_calls_back, jump, 1 + (int)random_below(5));
			need(false);
		}
		call_any();
	}
}

static void print(void)
{
	static const char *const names[] = {
#define EVENT(name, category) #category ":" #name,
		CALLS(EVENT)
	};
	static const char *const library_names[LIBRARY_CALLS] = {
		"plt:plt_int", "plt:plt_down", "plt:plt_up", "plt:strlen"
	};
	int i;

	printf("%s\n", is_child ? "child" : "parent");
	for (i = 0; i < NAMES; i++)
		if (made[i])
			printf("main %s %ld\n", names[i], made[i]);
	for (i = 0; i < LIBRARY_CALLS; i++)
		if (plt_library_calls[i])
			printf("library %s %ld\n", library_names[i], plt_library_calls[i]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	random_seed(0);
	CALLED(getenv); /* random_seed() does */
	zeros = open("/dev/zero", O_RDONLY);
	need(zeros >= 0);
	call_some();
	switch (*what) {
	case 't': use_threads(); break;
	case 'f': need(CALL(plt_calls_back, make_child, 1) == 1 + is_child); break;
	case 'j': use_jumps(); break;
	default: break;
	}
	call_some();
	print();
	return is_child ? 0 : 3;
}
