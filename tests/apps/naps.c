/* Sleeps COUNT times for a microsecond, and prints how often its thread has left a processor.
 *
 * usage: naps COUNT */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

int main(int argc, char **argv)
{
	const struct timespec nap = {.tv_nsec = 1000};
	unsigned long long count = strtoull(argc > 1 ? argv[1] : "1000", NULL, 10);
	struct rusage usage;

	while (count--)
		nanosleep(&nap, NULL);
	getrusage(RUSAGE_SELF, &usage);
	printf("%ld\n", usage.ru_nvcsw + usage.ru_nivcsw);
	return 0;
}
