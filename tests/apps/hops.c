/* Threads that go from one processor to the next: each allows itself one alone, and then asks malloc for SIZE
 * bytes and as many more as the processor's number. The scripts compare that with where the trace says that
 * the thread was.
 *
 *	hops THREADS HOPS SIZE
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { MOST_THREADS = 64, CALLS = 20 };

static int cpus[CPU_SETSIZE], cpu_count, hops;
static size_t size;

static void *work(void *number)
{
	/* The compiler would leave out what nobody looks at. */
	void *volatile memory;

	random_seed((uint64_t)(uintptr_t)number);
	for (int i = 0; i < hops; i++) {
		cpu_set_t one;
		int cpu = cpus[random_below((uint64_t)cpu_count)];

		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one) != 0)
			continue;
		for (int k = 0; k < CALLS; k++)
			free(memory = malloc(size + (size_t)cpu));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST_THREADS];
	int count = argc == 4 ? atoi(argv[1]) : 0;
	cpu_set_t all;

	if (count < 1 || count > MOST_THREADS || sched_getaffinity(0, sizeof(all), &all) != 0)
		return 2;
	hops = atoi(argv[2]);
	size = strtoul(argv[3], NULL, 10);
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &all))
			cpus[cpu_count++] = i;
	}
	random_seed(0);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", count * hops * CALLS);
	return 0;
}
