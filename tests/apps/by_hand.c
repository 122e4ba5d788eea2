/* This program has functions that are written by hand, without unwind tables: one has a frame pointer, and
 * one uses that register for something else. It calls them and functions that were compiled without frame
 * pointers in a random order, and then asks for a block. For each block it says which functions are on the
 * stack, the innermost first. They end behind the first function that is written by hand if the register is
 * used for something else further out.
 *
 * usage: by_hand BLOCKS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "need.h"
#include "random.h"

#define APART __attribute__((noinline, noclone))

#if defined(__x86_64__)

/* Blocks of this size are all known: FXT_HEAP_TRACK_BYTES. */
enum { BIG = 200000, DEEPEST = 20, WORDS = 64 };

enum kind { COMPILED, FRAMED, BORROWED, KINDS };
static const char *const names[KINDS] = {"compiled", "framed", "borrowed"};

/* framed: keeps the frame pointer and calls `function`; borrowed: has `value` in its register meanwhile. */
void framed(void (*function)(void));
void borrowed(void (*function)(void), uintptr_t value);
__asm__(".text\n"
	".globl framed\n.type framed, @function\n"
	"framed:\n\tpush %rbp\n\tmov %rsp, %rbp\n\tcall *%rdi\n\tpop %rbp\n\tret\n"
	".size framed, . - framed\n"
	".globl borrowed\n.type borrowed, @function\n"
	"borrowed:\n\tpush %rbp\n\tmov %rsi, %rbp\n\tcall *%rdi\n\tpop %rbp\n\tret\n"
	".size borrowed, . - borrowed\n");

static enum kind kinds[DEEPEST];
static unsigned depth, at;
static void *block;
static size_t bytes;
static uintptr_t place;                 /* a place that some call has returned to */

/* Returns what the register can have: a number, the address of nothing, or of words that look like a frame
 * more or less. */
static uintptr_t draw_value(uintptr_t words[WORDS])
{
	unsigned i;

	for (i = 0; i < WORDS; i++)
		words[i] = random_below(2) ? random_below(1000) : 0;
	switch (random_below(6)) {
	case 0: return 0;
	case 1: return (uintptr_t)words + 1;
	case 2: return UINTPTR_MAX - 15;
	case 3: return (uintptr_t)words;
	case 4: words[1] = (uintptr_t)draw_value; break;
	default: words[1] = place; break;
	}
	words[0] = random_below(2) ? (uintptr_t)(words + 8) : 0;
	return (uintptr_t)words;
}

/* Calls the next function, of the kind that was drawn for it. */
APART static void compiled(void)
{
	uintptr_t words[WORDS];
	volatile unsigned here = at++;

	place = (uintptr_t)__builtin_return_address(0);
	if (here == depth)
		block = malloc(bytes);
	else if (kinds[here] == FRAMED)
		framed(compiled);
	else if (kinds[here] == BORROWED)
		borrowed(compiled, draw_value(words));
	else
		compiled();
	here++;
}

static void say(void)
{
	bool is_whole = true;
	unsigned i;

	for (i = 0; i < depth; i++)
		is_whole &= kinds[i] != BORROWED;
	printf("compiled ");
	for (i = depth; i-- > 0;) {
		if (kinds[i] != COMPILED)
			printf("%s ", names[kinds[i]]);
		if (kinds[i] != COMPILED && !is_whole)
			break;
		printf("compiled ");
	}
	puts(is_whole ? "main" : "[further callers]");
}

int main(int argc, char **argv)
{
	unsigned blocks = argc == 2 ? (unsigned)atoi(argv[1]) : 0, i, k;

	need(argc == 2);
	random_seed(0);
	for (i = 0; i < blocks; i++) {
		depth = (unsigned)random_below(DEEPEST);
		for (k = 0; k < depth; k++)
			kinds[k] = random_below(8) ? (enum kind)random_below(2) : BORROWED;
		bytes = BIG + i;
		at = 0;
		compiled();
		need(block != NULL);
		say();
		if (random_below(2))
			free(block);
	}
	return 0;
}

#else

int main(void)
{
	puts("there is no such code for this machine");
	return 77;
}

#endif
