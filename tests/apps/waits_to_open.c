/* This program opens a FIFO that nobody else opens, and waits for ever. The path ends where the readable
 * memory ends.
 *
 * usage: waits_to_open open|write|openat|fopen|creat PATH */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "need.h"

enum { PAGE = 4096, PAGES = 3 };

/* Returns a copy of the path whose last byte is the last one before a page that is not there. */
static const char *at_an_end(const char *path)
{
	size_t bytes = strlen(path) + 1;
	char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(memory != MAP_FAILED && bytes <= (PAGES - 1) * PAGE);
	need(munmap(memory + (PAGES - 1) * PAGE, PAGE) == 0);
	return memcpy(memory + (PAGES - 1) * PAGE - bytes, path, bytes);
}

int main(int argc, char **argv)
{
	const char *call, *path;

	need(argc == 3);
	call = argv[1];
	path = at_an_end(argv[2]);
	/* These two fail at once, and have no text. */
	need(open((const char *)(uintptr_t)16, O_RDONLY) < 0 && open("", O_RDONLY) < 0);
	if (strcmp(call, "open") == 0)
		open(path, O_RDONLY);
	else if (strcmp(call, "write") == 0)
		open(path, O_WRONLY);
	else if (strcmp(call, "openat") == 0)
		openat(AT_FDCWD, path, O_RDONLY);
	else if (strcmp(call, "fopen") == 0)
		fopen(path, "r");
	else if (strcmp(call, "creat") == 0)
		creat(path, 0600);
	return 1;
}
