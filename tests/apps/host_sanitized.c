/* Small, and compiled with a sanitizer: threads, locks, the heap, a file. With an argument it does what the sanitizer is there to
 * find. */
#include "host.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned sum;

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

int main(int argc, char **argv)
{
	pthread_t threads[3];
	FILE *file;
	int i;

	(void)argv;
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

		free(block);
		return block[3];
	}
	return 4;
}
