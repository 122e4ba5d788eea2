/* scribble FILE: writes to the memory that the processes of a run share (FXT_SHARED) until FILE exists. It
 * writes what no process would have put there. Most words that it changes are in use, that is, not 0. It
 * leaves the first page alone, because that has the magic number: no process uses memory without it.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "random.h"

enum { BYTES = 1 << 20, FIRST = 4096 / 8, WORDS = BYTES / 8, LOOK = 4096 };

static uint64_t strange(uint64_t word)
{
	switch (random_below(6)) {
	case 0:
		return UINT64_MAX;
	case 1:
		return 0;
	case 2:
		return word ^ UINT64_C(1) << random_below(64);
	case 3:
		return word + random_below(1000000000) - 500000000;
	case 4:
		return word * 3;
	default:
		return random_number(64);
	}
}

int main(int count, char **argument)
{
	const char *path = getenv("FXT_SHARED");
	int fd = count == 2 && path ? open(path, O_RDWR) : -1;
	volatile uint64_t *word;
	size_t at, looked;

	word = fd < 0 ? MAP_FAILED : mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (word == MAP_FAILED) {
		fprintf(stderr, "scribble FILE, with FXT_SHARED set\n");
		return 1;
	}
	random_seed(0);
	while (access(argument[1], F_OK)) {
		at = FIRST + random_below(WORDS - FIRST);
		for (looked = 0; looked < LOOK && !word[at]; looked++)
			at = at + 1 < WORDS ? at + 1 : FIRST;
		if (word[at] || !random_below(16))
			word[at] = strange(word[at]);
	}
	return 0;
}
