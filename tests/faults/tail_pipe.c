/* A thread takes lines from a command until the program ends it. The fault: the stream is closed while the
 * thread reads from it. */
#include "beside.h"

#include <pthread.h>
#include <semaphore.h>

int ends[2];
FILE *lines;
sem_t reading;

void *take_lines(void *unused)
{
	char line[64];

	sem_post(&reading);
	must(fgets(line, sizeof line, lines) != NULL, "line");
	return unused;
}

void *end_lines(void *unused)
{
	fclose(lines); /* FAULT */
	return unused;
}

int main(void)
{
	pthread_t taking, ending;

	must(pipe(ends) == 0, "pipe");
	lines = fdopen(ends[0], "r");
	sem_init(&reading, 0, 0);
	pthread_create(&taking, NULL, take_lines, NULL);
	sem_wait(&reading);
	work(30000);
	pthread_create(&ending, NULL, end_lines, NULL);
	work(30000);
	must(write(ends[1], "line\n", 5) == 5, "write");
	pthread_join(taking, NULL);
	pthread_join(ending, NULL);
	return 0;
}
