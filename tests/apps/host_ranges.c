/* Maps, protects, advises and unmaps ranges of addresses that are larger than all that the program has, also
 * where a library has mapped something for itself, and makes calls that are recorded meanwhile. Each range
 * has to be free before, and free again afterwards. Prints what the kernel said.
 *
 *	host_ranges             the largest range there is, and parts of the one below the stack
 *	host_ranges fill        all addresses that there are
 */
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "host.h"
#include "random.h"

enum {
	ROUNDS = 20,
	MARKS = 1500,
	FILLED = 20000,
	FLAGS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
};

static const size_t page = 4096, kept = 16 << 20;
static bool by_number;

static void *map(uintptr_t at, size_t bytes, int protection, int flags)
{
	return by_number ? (void *)syscall(SYS_mmap, at, bytes, protection, FLAGS | flags, -1, 0L)
			 : mmap((void *)at, bytes, protection, FLAGS | flags, -1, 0);
}

static int unmap(uintptr_t at, size_t bytes)
{
	return by_number ? (int)syscall(SYS_munmap, at, bytes) : munmap((void *)at, bytes);
}

static int protect(uintptr_t at, size_t bytes, int protection)
{
	return by_number ? (int)syscall(SYS_mprotect, at, bytes, protection)
			 : mprotect((void *)at, bytes, protection);
}

static int advise(uintptr_t at, size_t bytes, int advice)
{
	return by_number ? (int)syscall(SYS_madvise, at, bytes, advice)
			 : madvise((void *)at, bytes, advice);
}

/* Maps the largest range that fits. */
static void try_largest(void)
{
	size_t bytes = 0, more;
	void *at;

	for (more = (size_t)1 << 46; more >= page; more /= 2) {
		mark_times(MARKS);
		at = map(0, bytes + more, PROT_NONE, 0);
		if (at == MAP_FAILED)
			continue;
		bytes += more;
		need(!unmap((uintptr_t)at, bytes));
		need(map((uintptr_t)at, bytes, PROT_NONE, MAP_FIXED_NOREPLACE) == at);
		need(!unmap((uintptr_t)at, bytes));
	}
	/* Nothing may divide the addresses below the program. */
	printf("largest has %d TiB\n", (int)(bytes >> 40) / 10 * 10);
}

/* Finds the addresses between the loader and the stack. */
static void find_hole(uintptr_t *from, uintptr_t *end)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[400];
	unsigned long low, high;

	need(maps);
	*from = *end = 0;
	while (fgets(line, sizeof(line), maps)) {
		need(sscanf(line, "%lx-%lx", &low, &high) == 2);
		if (strstr(line, "/ld-linux"))
			*from = high;
		if (strstr(line, "[stack]"))
			*end = low;
	}
	fclose(maps);
	need(*from && *from < *end);
}

static void try_part(uintptr_t from, uintptr_t end)
{
	size_t bytes = end - from;

	need(map(from, bytes, PROT_NONE, MAP_FIXED_NOREPLACE) == (void *)from);
	mark_times(MARKS);
	need(!protect(from, bytes, PROT_READ));
	need(!advise(from, bytes, MADV_DONTNEED));
	mark_times(MARKS);
	need(map(from, bytes, PROT_READ, MAP_FIXED) == (void *)from);
	mark_times(MARKS);
	need(!unmap(from, bytes));
	need(!unmap(from, bytes));
	mark_times(MARKS);
	need(map(from, bytes, PROT_NONE, MAP_FIXED_NOREPLACE) == (void *)from);
	need(!unmap(from, bytes));
	need(protect(from, bytes, PROT_READ) == -1 && errno == ENOMEM);
	need(advise(from, bytes, MADV_DONTNEED) == -1 && errno == ENOMEM);
	mark_times(MARKS);
}

static void try_hole(void)
{
	uintptr_t from, end, low, high;
	int i;

	find_hole(&from, &end);
	from = (from + page) & -page;
	end = (end - kept) & -page;
	/* The program has mapped nothing there. */
	need(protect(from, end - from, PROT_NONE) == -1 && errno == ENOMEM);
	need(advise(from, end - from, MADV_DONTNEED) == -1 && errno == ENOMEM);
	need(unmap(from + 1, end - from) == -1 && errno == EINVAL);
	need(unmap(from, UINTPTR_MAX / 2) == -1 && errno == EINVAL);
	need(!unmap(from, 0) ? 0 : errno == EINVAL);
	mark_times(MARKS);
	for (i = 0; i < ROUNDS; i++) {
		by_number = i % 2;
		low = from + random_below((end - from) / 2 / page) * page;
		high = end - random_below((end - low - page) / page) * page;
		try_part(i < 2 ? from : low, i < 2 ? end : high);
	}
	printf("%d parts\n", ROUNDS);
}

/* Maps until nothing is left, and unmaps all. */
static void fill(void)
{
	static struct {
		uintptr_t at;
		size_t bytes;
	} mapped[FILLED];
	size_t bytes, count = 0, i;
	void *at, *block;

	for (bytes = (size_t)1 << 46; bytes >= page; bytes /= 2) {
		while (count < FILLED && (at = map(0, bytes, PROT_NONE, 0)) != MAP_FAILED) {
			mapped[count].at = (uintptr_t)at;
			mapped[count++].bytes = bytes;
		}
	}
	need(count < FILLED);
	mark_times(MARKS);
	for (i = 0; i < count; i++)
		need(!unmap(mapped[i].at, mapped[i].bytes));
	for (i = 0; i < count; i++)
		need(map(mapped[i].at, mapped[i].bytes, PROT_NONE, MAP_FIXED_NOREPLACE) ==
		     (void *)mapped[i].at);
	block = malloc((size_t)1 << 30);
	printf("there is %s memory\n", block ? "some" : "no");
	free(block);
	for (i = 0; i < count; i++)
		need(!unmap(mapped[i].at, mapped[i].bytes));
	block = malloc((size_t)1 << 30);
	printf("there is %s memory\n", block ? "some" : "no");
	free(block);
	mark_times(MARKS);
}

int main(int argc, char **argv)
{
	random_seed(0);
	if (argc > 1 && !strcmp(argv[1], "fill")) {
		fill();
	} else {
		try_largest();
		try_hole();
	}
	print_marks();
	return 0;
}
