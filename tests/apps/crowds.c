/* This program keeps many blocks at a time, and other blocks come and go between them. Each thread gets
 * BLOCKS blocks of LEAST to MOST bytes, of which it frees none.
 *
 * usage: crowds THREADS BLOCKS LEAST MOST */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "need.h"
#include "random.h"

enum { MOST_THREADS = 64 };

static void **kept;
static size_t blocks, least, most;

static void *keep(void *number)
{
	size_t i, from = (size_t)(uintptr_t)number * blocks;

	if (from)
		random_seed((uintptr_t)number);
	for (i = 0; i < blocks; i++) {
		/* The compiler does not see that nobody reads these. */
		void *volatile brief = malloc(16 + random_below(1000));

		kept[from + i] = malloc(least + random_below(most - least + 1));
		need(kept[from + i]);
		free(brief);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t list[MOST_THREADS];
	size_t threads, i;

	need(argc == 5);
	threads = strtoul(argv[1], NULL, 10);
	blocks = strtoul(argv[2], NULL, 10);
	least = strtoul(argv[3], NULL, 10);
	most = strtoul(argv[4], NULL, 10);
	need(threads > 0 && threads <= MOST_THREADS && most >= least);
	random_seed(0);
	kept = calloc(threads * blocks + 1, sizeof(*kept));
	need(kept);
	for (i = 1; i < threads; i++)
		need(!pthread_create(&list[i], NULL, keep, (void *)(uintptr_t)i));
	keep(NULL);
	for (i = 1; i < threads; i++)
		need(!pthread_join(list[i], NULL));
	return 0;
}
