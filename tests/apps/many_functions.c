/* Has more functions than the agent has string indices, or places in its table, for.
 *
 *	many_functions N CALLS
 *
 * It calls N of its functions once and CALLS more of these at random, and prints "function:NAME COUNT" of
 * each. The functions are symbols alone, with 16 bytes each and names of two lengths. They are "called" by
 * the two hooks that instrumented code calls at its entry and exit, with their addresses.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

enum { BYTES = 16, FUNCTIONS = 140000, DEPTH_MOST = 40 };

#define LONG "_whose_name_is_as_long_as_those_of_templates_in_namespaces_are"

__asm__(".text\n"
	".altmacro\n"
	".macro one number suffix\n"
	"	.type f\\number\\suffix, %function\n"
	"	.size f\\number\\suffix, 16\n"
	"f\\number\\suffix:\n"
	"	.space 16\n"
	".endm\n"
	".balign 16\n"
	"many_functions:\n"
	".set i, 0\n"
	".rept 70000\n"
	"	one %i\n"
	"	.set i, i + 1\n"
	"	one %i " LONG "\n"
	"	.set i, i + 1\n"
	".endr\n"
	".noaltmacro\n");

extern const char many_functions[];
extern void __cyg_profile_func_enter(void *function, void *call_site);
extern void __cyg_profile_func_exit(void *function, void *call_site);

static unsigned counts[FUNCTIONS];

static void *address(unsigned number)
{
	return (void *)(uintptr_t)(many_functions + (size_t)number * BYTES);
}

/* Calls a function that calls another one, and so on. */
static __attribute__((noinline)) void nest(unsigned functions, unsigned depth)
{
	unsigned number = (unsigned)random_below(functions);

	counts[number]++;
	__cyg_profile_func_enter(address(number), NULL);
	if (depth > 1)
		nest(functions, depth - 1);
	__cyg_profile_func_exit(address(number), NULL);
}

int main(int argc, char **argv)
{
	unsigned functions = argc > 1 ? (unsigned)atol(argv[1]) : 1000, i;
	long calls = argc > 2 ? atol(argv[2]) : 1000;

	if (functions > FUNCTIONS)
		functions = FUNCTIONS;
	random_seed(0);
	for (i = 0; i < functions; i++) {
		counts[i]++;
		__cyg_profile_func_enter(address(i), NULL);
		__cyg_profile_func_exit(address(i), NULL);
	}
	while (calls > 0) {
		unsigned depth =
			1 + (unsigned)random_below(calls < DEPTH_MOST ? (uint64_t)calls : DEPTH_MOST);

		nest(functions, depth);
		calls -= depth;
	}
	for (i = 0; i < functions; i++)
		printf("function:f%u%s %u\n", i, i % 2 ? LONG : "", counts[i]);
	return 0;
}
