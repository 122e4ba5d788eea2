/* A thread reads into the buffer of a session. The fault: the session is dropped, and its buffer freed,
 * while the read is in progress. */
#include "beside.h"

#include <pthread.h>
#include <semaphore.h>

int ends[2];
char *buffer;
sem_t reading;

void *read_session(void *unused)
{
	sem_post(&reading);
	while (read(ends[0], buffer, 4096) > 0)
		work(100);
	return unused;
}

void drop_session(void)
{
	free(buffer); /* FAULT */
}

int main(void)
{
	pthread_t thread;

	must(pipe(ends) == 0, "pipe");
	buffer = malloc(65536);
	sem_init(&reading, 0, 0);
	pthread_create(&thread, NULL, read_session, NULL);
	sem_wait(&reading);
	must(write(ends[1], "hello", 5) == 5, "hello");
	work(30000);
	drop_session();
	work(5000);
	close(ends[1]);
	pthread_join(thread, NULL);
	return 0;
}
