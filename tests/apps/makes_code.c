/* This program makes functions while it runs, as just-in-time compilers do: each has a frame pointer and
 * calls the next one, and the last one calls malloc(). It says for each block which functions are on the
 * stack, the innermost first. How many there are, where they lie and how long their names are follows from
 * FXT_SEED.
 *
 * It writes /tmp/perf-PID.map `early`, before it asks for blocks; `late`, when it has them; not at all
 * (`none`); or `old`: early, and dated before this program began. Lines about other functions at the same
 * places come first. The file stays.
 *
 * usage: makes_code early|late|old|none BLOCKS */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "need.h"
#include "random.h"

#define APART __attribute__((noinline, noclone))

/* Blocks of this size are all known: FXT_HEAP_TRACK_BYTES. */
enum { MOST = 12, ROOM = 64, NAME = 60, BIG = 200000, OLD_S = 3600 };

#if defined(__x86_64__)

/* push %rbp; mov %rsp, %rbp; mov $callee, %rax; call *%rax; pop %rbp; ret */
static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0,    0,    0,
			       0,    0,    0,    0,    0xff, 0xd0, 0x5d, 0xc3};

enum { CALLEE_AT = 6 };

static char names[MOST][NAME + 16];
static uintptr_t starts[MOST];
static unsigned count;

/* Makes the functions, each in its part of the memory. */
static void make(void)
{
	uint8_t *memory = mmap(NULL, MOST * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t callee = (uintptr_t)malloc;

	need(memory != MAP_FAILED);
	count = 1 + (unsigned)random_below(MOST);
	for (unsigned i = 0; i < count; i++) {
		uint8_t *at = memory + i * ROOM + random_below(ROOM - sizeof(code));

		memcpy(at, code, sizeof(code));
		memcpy(at + CALLEE_AT, &callee, sizeof(callee));
		callee = starts[i] = (uintptr_t)at;
		if (i)
			snprintf(names[i], sizeof(names[i]), "made_%u_%s", i, random_word(NAME));
		else
			strcpy(names[i], "made_0");
	}
	need(mprotect(memory, MOST * ROOM, PROT_READ | PROT_EXEC) == 0);
}

static void write_map(int is_old)
{
	const struct timespec times[2] = {{time(NULL) - OLD_S, 0}, {time(NULL) - OLD_S, 0}};
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	map = fopen(path, "wxe");
	need(map != NULL);
	for (unsigned i = 0; i < count; i++)
		fprintf(map, "%lx %x gone_%u\n", (unsigned long)starts[i] & -(unsigned long)ROOM, ROOM, i);
	for (unsigned i = 0; i < count; i++)
		fprintf(map, "%lx %zx %s\n", (unsigned long)starts[i], sizeof(code), names[i]);
	need(fclose(map) == 0);
	need(!is_old || utimensat(AT_FDCWD, path, times, 0) == 0);
}

/* Asks for a block by way of the function, and those that it calls. */
APART static void *ask(unsigned function, size_t bytes)
{
	void *(*made)(size_t) = (void *(*)(size_t))starts[function];
	volatile char *block = made(bytes);

	need(block != NULL);
	block[0] = 1;
	return (void *)(uintptr_t)block;
}

int main(int argc, char **argv)
{
	unsigned blocks = argc == 3 ? (unsigned)atoi(argv[2]) : 0;

	need(argc == 3);
	random_seed(0);
	make();
	if (strcmp(argv[1], "early") == 0 || strcmp(argv[1], "old") == 0)
		write_map(argv[1][0] == 'o');
	for (unsigned i = 0; i < blocks; i++) {
		unsigned function = (unsigned)random_below(count);
		char *block = ask(function, BIG + i);

		for (unsigned k = 0; k <= function; k++)
			printf("%s ", names[k]);
		puts("ask main");
		if (i % 2)
			free(block);
	}
	if (strcmp(argv[1], "late") == 0)
		write_map(0);
	return 0;
}

#else

int main(void)
{
	puts("no code is made for this machine");
	return 77;
}

#endif
