/* This program needs what its limits allow, and says how much of it there was.
 *
 *	host_memory data MOST           takes blocks of 1 MiB until there is no memory, or it has MOST
 *	host_memory size BLOCKS         makes so many small blocks, and prints how many KiB of addresses and
 *	                                of data its process takes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *volatile kept;

/* Returns a line of /proc/self/status, in KiB. Nothing is allocated, because the limit may be reached. */
static long status(const char *field)
{
	static char text[4096];
	FILE *file = fopen("/proc/self/status", "r");
	size_t bytes = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	const char *at;

	if (file)
		fclose(file);
	text[bytes] = '\0';
	at = strstr(text, field);
	return at ? atol(at + strlen(field)) : -1;
}

static int take_data(long most)
{
	long taken;

	for (taken = 0; taken < most; taken++) {
		void *block = malloc(1 << 20);

		if (!block)
			break;
		kept = block;
	}
	printf("%ld MiB\n", taken);
	return 0;
}

static int take_blocks(long blocks)
{
	for (long i = 0; i < blocks; i++) {
		kept = malloc((size_t)(i % 3000 + 10));
		if (i % 3)
			free(kept);
	}
	printf("addresses %ld data %ld\n", status("VmSize:"), status("VmData:"));
	return 0;
}

int main(int argc, char **argv)
{
	long number = argc > 2 ? atol(argv[2]) : 0;

	if (argc > 1 && !strcmp(argv[1], "data"))
		return take_data(number);
	if (argc > 1 && !strcmp(argv[1], "size"))
		return take_blocks(number);
	return 2;
}
