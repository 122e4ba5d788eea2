/* A small program with threads, locks, the heap and a file, which is compiled with a sanitizer.
 *
 *	host_sanitized and-fail		has faults for the sanitizer: a race, a leak, a use after free
 *	host_sanitized child		runs a program that is not instrumented, which prints its LD_PRELOAD
 */
#include "host.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned sum, races;

static void *run(void *argument)
{
	int i;

	for (i = 0; i < 100; i++) {
		char *block = malloc(20001);

		block[i] = 1;
		pthread_mutex_lock(&mutex);
		sum += (unsigned)block[i];
		pthread_mutex_unlock(&mutex);
		free(block);
		mark();
	}
	return argument;
}

static void *race(void *argument)
{
	races++;
	return argument;
}

__attribute__((noinline)) static void lose(void)
{
	char *volatile block;
	int i;

	for (i = 0; i < 10; i++) {
		block = malloc(100);
		block[0] = 1;
		block = NULL;
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	FILE *file;
	int i;

	if (argc > 1 && !strcmp(argv[1], "child"))
		return system("echo $LD_PRELOAD");
	for (i = 0; i < 3; i++)
		need(!pthread_create(&threads[i], NULL, run, NULL));
	for (i = 0; i < 3; i++)
		need(!pthread_join(threads[i], NULL));
	file = fopen("/dev/null", "w");
	fprintf(file, "%u\n", sum);
	fclose(file);
	printf("sum %u\n", sum);
	fflush(stdout);
	print_marks();
	if (argc > 1) {
		char *volatile block = malloc(10);
		volatile char found;

		for (i = 0; i < 2; i++)
			need(!pthread_create(&threads[i], NULL, race, NULL));
		for (i = 0; i < 2; i++)
			need(!pthread_join(threads[i], NULL));
		lose();
		free(block);
		found = block[3];
		(void)found;
	}
	return 4;
}
