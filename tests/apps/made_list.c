/* This program makes functions while it runs, which call each other, and the last one calls work(), which
 * asks for a block. Some have frame pointers. Others are of a compiler that uses the frame pointer as it uses
 * all registers: they have in it the address of an entry of a list on the stack, which begins with the
 * address of the next entry, further out, and that of a function; so it looks like a frame. The functions of
 * the list are never called. Their addresses are those of beginnings, of somewhere, or of what follows a
 * call.
 *
 * It prints for each block which functions are on the stack, the innermost first. The line begins with `list`
 * if one of them has a list, otherwise with `frames`. What is drawn follows from FXT_SEED.
 *
 * usage: made_list BLOCKS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "need.h"
#include "random.h"

#define APART __attribute__((noinline, noclone))

/* Blocks of this size are all known: FXT_HEAP_TRACK_BYTES. */
enum { MOST = 6, ROOM = 64, BIG = 200000, ENTRIES = 4 };

#if defined(__x86_64__)

/* What a function of the list looks like, and what it is given: the next function's list and code. */
struct entry {
	struct entry *next;
	uintptr_t handler;
};

/* mov's of registers come first: the list (rdi), and whom to call (rsi), which gets the rest.
 *	frames:	push %rbp; mov %rsp, %rbp; call *%rsi; pop %rbp; ret
 *	list:	push %rbp; mov %rdi, %rbp; call *%rsi; pop %rbp; ret */
static const uint8_t with_frame[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};
static const uint8_t with_list[] = {0x55, 0x48, 0x89, 0xfd, 0xff, 0xd6, 0x5d, 0xc3};

typedef void made_t(const struct entry *list, void (*callee)(void));

static uint8_t *memory;
static made_t *chain[MOST];
static unsigned depth, length;
static int has_list;
static volatile unsigned sink;
static void *volatile kept;

APART static void never_called(void)
{
	puts("never called");
	sink++;
	puts("never called either");
}

APART static void work(void)
{
	kept = malloc(BIG);
	free(kept);
	sink++;
}

APART static void step(void);

/* Calls the next function, which is made, and has a list of its own. */
APART static void go_on(void)
{
	struct entry list[ENTRIES];

	for (unsigned i = 0; i < ENTRIES; i++) {
		list[i].next = i + 1 < ENTRIES ? &list[i + 1] : NULL;
		switch (random_below(4)) {
		case 0: list[i].handler = (uintptr_t)never_called; break;
		case 1: list[i].handler = (uintptr_t)never_called + random_below(24); break;
		case 2: list[i].handler = (uintptr_t)memory + random_below(MOST * ROOM); break;
		default: list[i].handler = (uintptr_t)chain[random_below(depth)]; break;
		}
	}
	/* What follows a call in never_called(). */
	if (random_below(2)) {
		const uint8_t *at = (const uint8_t *)(uintptr_t)never_called;

		while (*at != 0xe8)
			at++;
		list[0].handler = (uintptr_t)at + 5;
	}
	length++;
	chain[length - 1](list, step);
	sink++;
}

APART static void step(void)
{
	if (length < depth)
		go_on();
	else
		work();
	sink++;
}

int main(int argc, char **argv)
{
	unsigned blocks = argc == 2 ? (unsigned)atoi(argv[1]) : 0;

	need(argc == 2);
	random_seed(0);
	memory = mmap(NULL, MOST * ROOM, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	need(memory != MAP_FAILED);
	for (unsigned i = 0; i < blocks; i++) {
		depth = 1 + (unsigned)random_below(MOST);
		length = 0;
		has_list = 0;
		for (unsigned k = 0; k < depth; k++) {
			int lists = random_below(3) == 0;
			uint8_t *at = memory + k * ROOM + random_below(ROOM - sizeof(with_list));

			has_list |= lists;
			memcpy(at, lists ? with_list : with_frame, sizeof(with_list));
			chain[k] = (made_t *)(uintptr_t)at;
		}
		step();
		printf("%s work step", has_list ? "list" : "frames");
		for (unsigned k = 0; k < depth; k++)
			printf(" made go_on step");
		puts(" main");
	}
	return 0;
}

#else

int main(void)
{
	puts("no code is made for this machine");
	return 77;
}

#endif
