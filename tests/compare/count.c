/* libcount.so is preloaded in front of the agent, or alone. It counts every call that the program makes of
 * the functions that the agent stands in for. It shares nothing with the agent but the list of names; stubs.S
 * has the functions' entries. Each process maps an array of counters, from a file of its own in the directory
 * $COUNT_DIR that is called PID.NANOSECONDS; so the counts are there however the process ends.
 *
 * Counting begins where the agent begins: with the first call after the C library has its environment. The
 * constructors of other libraries run first, then the agent's, whose search for functions that do not exist
 * allocates, and then the one below. So a second array has the calls that were made before that. A third one
 * has the calls of syscall(), by the number of the system call.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "count.h"

static const char *const symbols[] = {
#define CALL(category, type, name, ...) #name,
#define ALIAS(category, type, symbol, name, ...) #symbol,
#define BY_HAND(category, name, role) #name,
#define BY_HAND_ALIAS(category, symbol, name) #symbol,
#define SYSTEM_CALL CALL
#include "interpose/engine/rows.inc"
#include "interpose/tables/calls.def"
#include "interpose/engine/unrows.inc"
	"syscall",
};

enum { COUNT = sizeof(symbols) / sizeof(symbols[0]), DIRECTORY_BYTES = 400 };

#define HIDDEN __attribute__((visibility("hidden")))

void *count_next[COUNT] HIDDEN;                 /* the functions that the program meant to call */
static uint64_t *no_counters;
/* leads to the address of the counters, which is in a page that a fork wipes */
uint64_t **count_gate HIDDEN = &no_counters;
void *count_prepare(unsigned number, long first) HIDDEN;

/* The three arrays of a process that has no file: calls of functions, those before main(), and system calls
 * by number. */
static uint64_t uncounted[2 * COUNT + COUNT_NUMBERS];

/* Makes a system call. The C library's functions for this would be counted. */
static long raw(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static void *map(long bytes, int flags, int fd)
{
	long at = raw(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	return at < 0 && at > -4096 ? NULL : (void *)at;
}

/* Returns the directory of the counters. It is a copy, because a program may clear its environment, or write
 * its title over it. */
static const char *directory(void)
{
	static char found[DIRECTORY_BYTES];
	char **variable;
	const char *name, *text;
	size_t i;

	for (variable = environ; !*found && variable && *variable; variable++) {
		for (name = "COUNT_DIR=", text = *variable; *name && *name == *text; name++, text++)
			;
		for (i = 0; !*name && text[i] && i < DIRECTORY_BYTES - 1; i++)
			found[i] = text[i];
	}
	return *found ? found : NULL;
}

static char *put_number(char *at, uint64_t number)
{
	char digits[24];
	int n = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	while (n)
		*at++ = digits[--n];
	return at;
}

/* Makes the counters of this process, in a new file. Returns `uncounted` if that is impossible. */
static uint64_t *make_counters(void)
{
	char path[DIRECTORY_BYTES + 64], *at = path;
	const char *from = directory();
	struct timespec now = {0, 0};
	uint64_t *made;
	long fd;

	while (from && *from && at < path + DIRECTORY_BYTES)
		*at++ = *from++;
	raw(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
	*at++ = '/';
	at = put_number(at, (uint64_t)raw(SYS_getpid, 0, 0, 0, 0, 0, 0));
	*at++ = '.';
	*put_number(at, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) = '\0';
	fd = from ? raw(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666, 0, 0)
		  : -1;
	if (fd < 0)
		return uncounted;
	made = raw(SYS_ftruncate, fd, sizeof(uncounted), 0, 0, 0, 0)
		       ? NULL
		       : map(sizeof(uncounted), MAP_SHARED, (int)fd);
	raw(SYS_close, fd, 0, 0, 0, 0, 0);
	return made ? made : uncounted;
}

/* -- Finding the functions ---------------------------------------------------------------------- */

/* Set while dlsym() runs. It frees what an older failure has left, before the real free() is known. The
 * variable is volatile, because the compiler takes dlsym() for a function that does not call back. */
static __thread volatile bool searching __attribute__((tls_model("initial-exec")));

static void give_back(void *block)
{
	(void)block;
}

static void *allocate(size_t number, size_t size)
{
	static _Alignas(16) char arena[4096];
	static size_t used;
	size_t bytes = (number * size + 15) & ~(size_t)15;

	if (bytes > sizeof(arena) - used)
		return NULL;
	used += bytes;
	return arena + used - bytes;
}

static void *allocate_one(size_t size)
{
	return allocate(1, size);
}

static void *within_search(const char *symbol)
{
	return !strcmp(symbol, "free")	   ? (void *)give_back
	       : !strcmp(symbol, "malloc") ? (void *)allocate_one
					   : (void *)allocate;
}

static void find(unsigned number)
{
	if (count_next[number])
		return;
	searching = true;
	count_next[number] = dlsym(RTLD_NEXT, symbols[number]);
	searching = false;
}

/* Counts a call whose first argument is `first`, and returns the function that the program meant to call. */
void *count_prepare(unsigned number, long first)
{
	uint64_t **page;

	if (searching)
		return within_search(symbols[number]);
	if (environ && count_gate == &no_counters) {
		page = map(4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		if (page && !raw(SYS_madvise, (long)page, 4096, MADV_WIPEONFORK, 0, 0, 0))
			count_gate = page;
	}
	if (count_gate != &no_counters) {
		if (!*count_gate)
			*count_gate = make_counters();
		__atomic_fetch_add(&(*count_gate)[number], 1, __ATOMIC_RELAXED);
		if (number == COUNT - 1 && first >= 0 && first < COUNT_NUMBERS)
			__atomic_fetch_add(&(*count_gate)[2 * COUNT + first], 1, __ATOMIC_RELAXED);
	}
	find(number);
	return count_next[number];
}

__attribute__((constructor)) static void find_all(void)
{
	unsigned i;

	/* A function that this C library does not have stays NULL, and nobody calls it. */
	for (i = 0; i < COUNT; i++)
		find(i);
	for (i = 0; i < COUNT && *count_gate; i++)
		(*count_gate)[COUNT + i] = __atomic_load_n(&(*count_gate)[i], __ATOMIC_RELAXED);
}
