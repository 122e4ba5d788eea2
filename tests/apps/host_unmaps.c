/* Unmaps memory, makes many calls that are recorded, and then takes the same addresses again: it maps
 * something there, or unmaps them once more. As far as the program knows, nobody else has mapped anything
 * since. In the end it unmaps a large part of all addresses, where it has nothing. Prints what it found in
 * its memory. */
#include <sys/syscall.h>

#include "host.h"
#include "random.h"

enum {
	ROUNDS = 10,
	MARKS = 20000,                  /* some windows of a trace that grows */
	LEAST_BYTES = 4 << 20,
	MORE_BYTES = 12 << 20,
	PATTERN = 0x5a,
};

#define FREE_FROM ((void *)0x100000000000)
#define FREE_BYTES ((size_t)0x400000000000)

static char *map(void *at, size_t bytes, int flags)
{
	char *memory = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	need(memory != MAP_FAILED);
	return memory;
}

static size_t changed_bytes(const char *memory, size_t bytes)
{
	size_t i, changed = 0;

	for (i = 0; i < bytes; i++)
		changed += memory[i] != PATTERN;
	return changed;
}

int main(void)
{
	size_t bytes, changed = 0;
	char *memory;
	int i;

	random_seed(0);
	for (i = 0; i < ROUNDS; i++) {
		bytes = (LEAST_BYTES + random_below(MORE_BYTES)) & ~(size_t)4095;
		memory = map(NULL, bytes, 0);
		need(!munmap(memory, bytes));
		mark_times(MARKS);
		map(memory, bytes, MAP_FIXED);
		memset(memory, PATTERN, bytes);
		mark_times(MARKS);
		changed += changed_bytes(memory, bytes);
		need(!munmap(memory, bytes));
		mark_times(MARKS);
		need(!(i % 2 ? (int)syscall(SYS_munmap, memory, bytes) : munmap(memory, bytes)));
		mark_times(MARKS);
	}
	need(!syscall(SYS_munmap, FREE_FROM, FREE_BYTES));
	mark_times(MARKS);
	need(!munmap(FREE_FROM, FREE_BYTES));
	mark_times(MARKS);
	printf("changed %zu\n", changed);
	print_marks();
	return 0;
}
